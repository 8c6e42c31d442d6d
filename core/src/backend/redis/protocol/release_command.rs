//! The release or cleanup request as it is sent.

use redis::Cmd;

use crate::backend::redis::keys::KeyBuilder;
use crate::backend::redis::scripts::LockScripts;
use crate::{Key, OwnerId};

/// What ends whatever its owner has.
#[derive(Debug, Clone)]
pub(crate) struct ReleaseCommand {
    pub(crate) key: Key,
    pub(crate) owner: OwnerId,
    /// Until when copies of the owner's requests may come, on the server's clock.
    pub(crate) latest_expiry: u64,
    pub(crate) named: Option<Successor>,
}

/// A waiter to whom the lock may be passed on, for as long as it has to confirm that.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Successor {
    pub(crate) owner: OwnerId,
    /// Of one that stands in no line: from when on it is refused, on the server's clock.
    pub(crate) expiry: Option<u64>,
}

impl ReleaseCommand {
    /// How many keys and arguments one has in a batch.
    pub(crate) const KEYS: usize = 2;
    pub(crate) const ARGUMENTS: usize = 3;

    /// All keys of the lock are named where a Cluster wants it.
    pub(crate) fn alone(&self, scripts: &LockScripts, names_all: bool) -> Cmd {
        let keys = match (names_all, self.named) {
            (false, None) => Self::KEYS,
            (false, Some(_)) => Self::KEYS + 1,
            (true, None) => Self::KEYS + 4,
            (true, Some(_)) => Self::KEYS + 5,
        };
        let arguments = match (self.named, self.latest_expiry) {
            (None, 0) => 1,
            (None, _) => 2,
            (Some(_), _) => 4,
        };
        let bytes = keys * (self.key.full().len() + 16) + 256;
        let mut command = scripts.release.begin(keys, arguments, bytes);
        let mut companions = self.add_keys(&mut command);
        if names_all || self.named.is_some() {
            command.arg(companions.fence());
        }
        if names_all {
            command.arg(companions.seal(self.owner));
            command.arg(companions.leases()).arg(companions.shares());
            if let Some(named) = self.named {
                command.arg(companions.seal(named.owner));
            }
        }
        let mut buffer = OwnerId::buffer();
        command.arg(self.owner.written(&mut buffer));
        if arguments > 1 {
            command.arg(self.latest_expiry);
        }
        if let Some(named) = self.named {
            command.arg(named.owner.written(&mut buffer));
            match named.expiry {
                Some(expiry) => command.arg(expiry),
                None => command.arg(""),
            };
        }
        command
    }

    /// As `release_fast.lua` and `batch.lua` take them.
    pub(crate) fn add_keys(&self, command: &mut Cmd) -> KeyBuilder {
        let mut companions = KeyBuilder::of(&self.key);
        command.arg(self.key.full()).arg(companions.queue());
        companions
    }

    /// As `batch.lua` takes them.
    pub(crate) fn add_arguments(&self, command: &mut Cmd) {
        let mut buffer = OwnerId::buffer();
        command.arg(self.owner.written(&mut buffer));
        command.arg(self.latest_expiry);
        match self.named {
            Some(named) => command.arg(named.in_one_word()),
            None => command.arg(""),
        };
    }
}

impl Successor {
    fn in_one_word(self) -> String {
        let expiry = self.expiry.map_or_else(String::new, |it| it.to_string());
        format!("{} {expiry}", self.owner.reveal())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::redis::protocol::keys_of;

    #[test]
    fn a_cluster_is_told_of_all_keys_and_one_server_of_those_that_are_mostly_needed() {
        let (owner, next) = (OwnerId::random(), OwnerId::random());
        let companion = |name: &str| format!("{{k}}:lh1:{name}");
        let named = ["k".into(), companion("queue")];
        let fence = [companion("fence")];
        let rest = [
            companion(&format!("sealed:{}", owner.reveal())),
            companion("leases"),
            companion("shares"),
        ];
        let nexts = [companion(&format!("sealed:{}", next.reveal()))];
        let unnamed = [&named[..], &fence, &rest].concat();
        for (names_one, names_all, latest_expiry, keys, arguments) in [
            (false, false, 0, named.to_vec(), 1),
            (false, false, 7, named.to_vec(), 2),
            (false, true, 0, unnamed.clone(), 1),
            (false, true, 7, unnamed, 2),
            (true, false, 0, [&named[..], &fence].concat(), 4),
            (
                true,
                true,
                7,
                [&named[..], &fence, &rest, &nexts].concat(),
                4,
            ),
        ] {
            let leave = ReleaseCommand {
                key: Key::new("", "k").unwrap(),
                owner,
                latest_expiry,
                named: names_one.then_some(Successor {
                    owner: next,
                    expiry: None,
                }),
            };
            let call = leave.alone(&LockScripts::default(), names_all);
            assert_eq!(keys_of(&call), keys);
            // `EVALSHA`, the hash, and how many keys there are.
            assert_eq!(call.args_iter().count(), 3 + keys.len() + arguments);
        }
    }
}
