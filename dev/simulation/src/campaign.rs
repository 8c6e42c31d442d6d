//! Candidates of an election, which wait without an order.

use std::time::Duration;

use leasehold::{Error, LockHandle, LockManager};
use leasehold_testkit::history::Mode;
use tokio::time::{sleep, timeout};

use crate::clock;
use crate::history::Who;
use crate::shared::Shared;

/// The key of the election.
pub(crate) const ELECTION: &str = "election";

/// A term of a leader. It ends when the body is dropped.
struct Term<'a> {
    shared: &'a Shared,
    hold: usize,
}

impl<'a> Term<'a> {
    fn begin(shared: &'a Shared, who: Who, asked: Duration, leader: &LockHandle) -> Self {
        let token = Some(leader.token().get());
        shared.note(who, format_args!("leads under {token:?}"));
        let mut history = shared.history.borrow_mut();
        history.counts.led += 1;
        let held = (ELECTION, Mode::Exclusive, token);
        let hold = history.begin(who, held, asked, clock::now());
        Self { shared, hold }
    }
}

impl Drop for Term<'_> {
    fn drop(&mut self) {
        let mut history = self.shared.history.borrow_mut();
        history.end(self.hold, clock::now());
    }
}

/// Campaigns for at most `patience`, and leads for `work`.
pub(crate) async fn campaign(
    shared: &Shared,
    locks: &LockManager,
    who: Who,
    (ttl, patience, work): (Duration, Duration, Duration),
) {
    let asked = clock::now();
    shared.note(who, format_args!("campaigns with {ttl:?} for {patience:?}"));
    let body = async |leader: LockHandle| {
        let _term = Term::begin(shared, who, asked, &leader);
        sleep(work).await;
        Ok::<_, Error>(())
    };
    let campaign = locks.election(ELECTION).ttl(ttl).campaign(body);
    let ended = timeout(patience, campaign).await;
    shared.note(who, format_args!("ends its campaign: {ended:?}"));
    let mut history = shared.history.borrow_mut();
    match ended {
        Ok(Ok(())) => {}
        Ok(Err(_)) => history.counts.failed += 1,
        Err(_elapsed) => history.counts.cut += 1,
    }
}
