//! The release or cleanup request in the form that the client sends.

use redis::Cmd;

use crate::keys::KeyBuilder;
use crate::scripts::LockScripts;
use leasehold_core::{AttemptId, Key};

/// A request that ends the owner's lock or queue position.
#[derive(Debug, Clone)]
pub(crate) struct ReleaseCommand {
    pub(crate) key: Key,
    pub(crate) owner: AttemptId,
    /// Duplicate requests of the owner may arrive until this time, on the server's clock.
    pub(crate) latest_expiry: u64,
    pub(crate) named: Option<Successor>,
}

/// The waiter to which the release may hand the lock.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Successor {
    pub(crate) owner: AttemptId,
    /// The server refuses the waiter's request from this time on. Set for a waiter that is not in the server's queue.
    pub(crate) expiry: Option<u64>,
}

impl ReleaseCommand {
    /// The number of keys and arguments of a release in a batch.
    pub(crate) const KEYS: usize = 2;
    pub(crate) const ARGUMENTS: usize = 3;

    /// Returns the command for this request alone. With `names_all` the command contains all keys of the lock, as a
    /// Cluster requires.
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
        let mut buffer = AttemptId::buffer();
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

    /// Adds the keys in the order of `release_fast.lua` and `batch.lua`.
    pub(crate) fn add_keys(&self, command: &mut Cmd) -> KeyBuilder {
        let mut companions = KeyBuilder::of(&self.key);
        command.arg(self.key.full()).arg(companions.queue());
        companions
    }

    /// Adds the arguments in the order of `batch.lua`.
    pub(crate) fn add_arguments(&self, command: &mut Cmd) {
        let mut buffer = AttemptId::buffer();
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
        format!("{} {expiry}", self.owner.written(&mut AttemptId::buffer()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::keys_of;

    #[test]
    fn a_release_names_all_keys_in_a_cluster_and_common_keys_elsewhere() {
        let (owner, next) = (AttemptId::random(), AttemptId::random());
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
            let release = ReleaseCommand {
                key: Key::new("", "k").unwrap(),
                owner,
                latest_expiry,
                named: names_one.then_some(Successor {
                    owner: next,
                    expiry: None,
                }),
            };
            let call = release.alone(&LockScripts::default(), names_all);
            assert_eq!(keys_of(&call), keys);
            // The first three words are `EVALSHA`, the hash, and the number of keys.
            assert_eq!(call.args_iter().count(), 3 + keys.len() + arguments);
        }
    }
}
