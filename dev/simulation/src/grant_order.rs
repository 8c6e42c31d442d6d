//! Checks whether waiters are served in the order of their arrival, and without delay.

use std::collections::BTreeMap;

use leasehold_testkit::history::Queue;

use crate::campaign::ELECTION;
use crate::requests::{Asked, Request, requests};
use crate::server::Served;

/// A released lock must be confirmed by the next waiter within this time, in microseconds. Some waiters in front may
/// have given up and pass the lock on.
const MOMENT: u64 = 700_000;

/// The waiters of a lock in the order of their arrival at the server, and the last holder.
#[derive(Default)]
struct Line {
    waiting: Queue,
    holder: String,
    /// The time of a release while another attempt waited.
    released: Option<u64>,
}

impl Line {
    fn granted(&mut self, key: &str, owner: &str, micros: u64, found: &mut Vec<String>) {
        let ahead = self.waiting.ahead_of(owner);
        if ahead > 0 && !key.ends_with(ELECTION) {
            found.push(format!(
                "order: {owner} had {key} at {micros} before {ahead} others"
            ));
        }
        if let Some(released) = self.released.take()
            && micros - released > MOMENT
        {
            let told = "promptness: released at";
            found.push(format!("{told} {released}, {key} was free until {micros}"));
        }
        self.waiting.leave(owner);
        owner.clone_into(&mut self.holder);
    }
}

/// Returns all grants of an exclusive lock before an earlier waiter, or long after the release.
pub(crate) fn out_of_order(served: &[Served]) -> Vec<String> {
    let mut lines: BTreeMap<&str, Line> = BTreeMap::new();
    let (mut found, mut seen) = (Vec::new(), 0);
    for served in served {
        let micros = served.micros;
        for request in requests(served) {
            seen += 1;
            let Request { lock, owner, .. } = request;
            let line = lines.entry(lock).or_default();
            match (request.asked, request.answer) {
                (Asked::Leave { named, .. }, answer) => {
                    line.waiting.leave(owner);
                    if answer.1.is_some_and(|token| token != "unawaited") {
                        line.granted(lock, named, micros, &mut found);
                    } else if line.waiting.is_empty() {
                        line.released = None;
                    } else if owner == line.holder && answer.0 == "left" {
                        line.released = Some(micros);
                    }
                }
                (Asked::Take { queueing: true }, ("busy", _)) => {
                    line.waiting.enter(owner);
                }
                (Asked::Take { .. }, ("granted", _)) if owner != line.holder => {
                    line.granted(lock, owner, micros, &mut found);
                }
                (Asked::Take { .. }, _) => {}
            }
        }
    }
    if seen == 0 && !served.is_empty() {
        let told = "order: of the scripts carried out none was understood,";
        found.push(format!("{told} {} of them", served.len()));
    }
    found
}
