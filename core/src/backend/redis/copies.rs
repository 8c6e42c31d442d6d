use std::collections::HashMap;
use std::time::Duration;

use parking_lot::Mutex;

use crate::clock::Moment;
use crate::{MAX_COMMAND_TIMEOUT, OwnerId};

/// How long after its sending a request may still be carried out: longer than any manager waits for an
/// answer, so that no rightful request is refused.
const ALLOWED: Duration = Duration::from_secs(MAX_COMMAND_TIMEOUT.as_secs() * 2);

/// Added to the life of a seal, which the server counts on its own clock.
const MARGIN: Duration = Duration::from_secs(1);

/// The server's clock as far as known, and the requests whose answers never came.
#[derive(Debug)]
pub(super) struct Copies {
    start: Moment,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// The server's microseconds at `start`, or a little more.
    server_start: Option<u64>,
    unanswered: HashMap<OwnerId, Moment>,
}

impl Copies {
    pub(super) fn new() -> Self {
        Self {
            start: Moment::now(),
            state: Mutex::default(),
        }
    }

    /// Learns the server's clock from an answer to a request that was sent at `sent`.
    pub(super) fn learn(&self, sent: Moment, server_micros: u64) {
        let since_start = micros(sent.since(self.start));
        self.state.lock().server_start = Some(server_micros.saturating_sub(since_start));
    }

    /// From which server time on a request that is sent now is to be refused; none if the server's clock
    /// is not known yet.
    pub(super) fn expiry(&self) -> Option<u64> {
        let server_start = self.state.lock().server_start?;
        let now = micros(Moment::now().since(self.start));
        Some(server_start + now + micros(ALLOWED))
    }

    /// Notes that an answer is missing, until the returned note is told otherwise.
    pub(super) fn sending(&self, owner: OwnerId) -> Copy<'_> {
        Copy {
            copies: self,
            owner,
            answered: false,
        }
    }

    /// How long copies of the owner's requests may still come; zero if all were answered.
    pub(super) fn outstanding(&self, owner: OwnerId) -> Duration {
        let state = self.state.lock();
        match state.unanswered.get(&owner) {
            Some(until) if !until.has_passed() => until.remaining() + MARGIN,
            _ => Duration::ZERO,
        }
    }

    pub(super) fn forget(&self, owner: OwnerId) {
        self.state.lock().unanswered.remove(&owner);
    }
}

/// A request on its way.
#[derive(Debug)]
pub(super) struct Copy<'a> {
    copies: &'a Copies,
    owner: OwnerId,
    answered: bool,
}

impl Copy<'_> {
    pub(super) fn answered(mut self) {
        self.answered = true;
    }
}

impl Drop for Copy<'_> {
    fn drop(&mut self) {
        if self.answered {
            return;
        }
        let mut state = self.copies.state.lock();
        state.unanswered.retain(|_, until| !until.has_passed());
        let until = Moment::now().after(ALLOWED);
        state.unanswered.insert(self.owner, until);
    }
}

fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}
