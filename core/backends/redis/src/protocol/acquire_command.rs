//! The acquire request in the form that the client sends.

use std::sync::Arc;
use std::time::Duration;

use redis::Cmd;

use super::{flag, millis_of, written};
use crate::keys::KeyBuilder;
use crate::scripts::LockScripts;
use leasehold_core::backend::{Attempt, Handover, Mode};
use leasehold_core::{AttemptId, Key};

/// The mode of an exclusive attempt that has no turn in the queue.
const UNFAIR: &str = "u";

/// A request to acquire a lock.
#[derive(Debug, Clone)]
pub(crate) struct AcquireCommand {
    pub(crate) key: Key,
    pub(crate) owner: AttemptId,
    ttl: Duration,
    pub(crate) queue: bool,
    fair: bool,
    mode: Mode,
    handover: Option<Box<Handover>>,
    /// Whether a recorded outcome ends the attempt. Such an attempt accepts no handover.
    once: bool,
    /// The server refuses the request from this time on, by its own clock.
    expiry: u64,
}

/// The settings that all requests of a client share.
#[derive(Debug, Clone)]
pub(crate) struct ClientContext {
    pub(crate) scripts: Arc<LockScripts>,
    /// The channel on which the server notifies waiters.
    pub(crate) channel: Arc<str>,
    pub(crate) heal: bool,
    /// Whether a call names all keys of a lock, as a Cluster requires.
    pub(crate) names_all: bool,
}

impl AcquireCommand {
    /// The number of keys and arguments of a request in a batch.
    pub(crate) const KEYS: usize = 4;
    pub(crate) const ARGUMENTS: usize = 4;

    pub(crate) fn of(attempt: &Attempt, expiry: u64) -> Self {
        Self {
            key: attempt.key.clone(),
            owner: attempt.owner,
            ttl: attempt.ttl,
            queue: attempt.queue,
            fair: attempt.fair,
            mode: attempt.mode,
            handover: attempt.handover.clone(),
            once: attempt.once,
            expiry,
        }
    }

    /// Returns whether a batch can contain this request.
    pub(crate) fn is_plain(&self) -> bool {
        self.mode == Mode::Exclusive && self.fair && self.handover.is_none() && !self.once
    }

    pub(crate) fn alone(&self, context: &ClientContext) -> Cmd {
        let is_usual = self.is_plain() && !context.heal;
        let keys = match (context.names_all, &self.handover) {
            _ if self.once => Self::KEYS + 3,
            (false, _) => Self::KEYS,
            (true, None) => Self::KEYS + 2,
            (true, Some(_)) => Self::KEYS + 4,
        };
        let arguments = match (is_usual, &self.handover) {
            (true, _) => 4,
            (false, None) => 7,
            (false, Some(_)) => 8,
        };
        let bytes = keys * (self.key.full().len() + 16) + 256;
        let script = if self.once {
            &context.scripts.acquire_once
        } else {
            &context.scripts.acquire
        };
        let mut command = script.begin(keys, arguments, bytes);
        let mut companions = self.add_keys(&mut command);
        if self.once {
            command.arg(companions.leases()).arg(companions.shares());
            command.arg(companions.outcome());
        } else if context.names_all {
            command.arg(companions.leases()).arg(companions.shares());
            if let Some(handover) = &self.handover {
                command.arg(companions.seal(handover.giver));
                command.arg(companions.handover());
            }
        }
        let mut buffer = AttemptId::buffer();
        command.arg(self.owner.written(&mut buffer));
        command.arg(millis_of(self.ttl)).arg(self.expiry);
        command.arg(if self.queue { &*context.channel } else { "" });
        if !is_usual {
            match (self.mode, self.fair) {
                (Mode::Exclusive, false) => command.arg(UNFAIR),
                (mode, _) => command.arg(&*written(mode)),
            };
            match &self.handover {
                Some(handover) => command.arg(handover.giver.written_bare(&mut buffer)),
                None => command.arg(""),
            };
            command.arg(flag(context.heal));
            if let Some(Handover { token, secret, .. }) = self.handover.as_deref() {
                command.arg(format!("{token} {}", secret.reveal()));
            }
        }
        command
    }

    /// Adds the keys in the order of `acquire_fast.lua` and `batch.lua`.
    pub(crate) fn add_keys(&self, command: &mut Cmd) -> KeyBuilder {
        let mut companions = KeyBuilder::of(&self.key);
        command.arg(self.key.full());
        command.arg(companions.queue()).arg(companions.fence());
        command.arg(companions.seal(self.owner));
        companions
    }

    /// Adds the arguments in the order of `batch.lua`.
    pub(crate) fn add_arguments(&self, command: &mut Cmd) {
        let mut buffer = AttemptId::buffer();
        command.arg(self.owner.written(&mut buffer));
        command.arg(millis_of(self.ttl));
        command.arg(flag(self.queue)).arg(self.expiry);
    }
}

impl ClientContext {
    /// The number of arguments of a request in a batch.
    pub(crate) const ARGUMENTS: usize = 2;

    /// Adds the arguments in the order of `batch.lua`.
    pub(crate) fn add_arguments(&self, command: &mut Cmd) {
        command.arg(&*self.channel).arg(flag(self.heal));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::keys_of;
    use leasehold_core::FencingToken;
    use leasehold_core::backend::HandoverSecret;

    #[test]
    fn an_acquire_names_all_keys_in_a_cluster_and_common_keys_elsewhere() {
        let attempt = Attempt::new(Key::new("", "k").unwrap(), Duration::from_secs(30), true);
        let given = Attempt::new(attempt.key.clone(), attempt.ttl, true);
        let given = given.claim(FencingToken::try_from(7).unwrap());
        let handover = Handover::new(&given, HandoverSecret::random());
        let taking_up = attempt.clone().taking_up(Some(Box::new(handover)));
        let companion = |name: &str| format!("{{k}}:lh1:{name}");
        let seal = companion(&format!("sealed:{}", attempt.owner.reveal()));
        let named = ["k".into(), companion("queue"), companion("fence"), seal];
        let rest = [companion("leases"), companion("shares")];
        let givers = format!("sealed:{}", given.owner.reveal());
        let givers = [companion(&givers), companion("handover")];
        for (attempt, names_all, keys) in [
            (&attempt, false, named.to_vec()),
            (&attempt, true, [&named[..], &rest].concat()),
            (&taking_up, false, named.to_vec()),
            (&taking_up, true, [&named[..], &rest, &givers].concat()),
        ] {
            let context = ClientContext {
                scripts: Arc::default(),
                channel: "inbox".into(),
                heal: false,
                names_all,
            };
            assert_eq!(
                keys_of(&AcquireCommand::of(attempt, 1).alone(&context)),
                keys
            );
        }
    }
}
