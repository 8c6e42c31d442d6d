//! Calls of `once`, whose bodies return their number.

use std::time::Duration;

use fastrand::Rng;
use leasehold::{Error, LockManager, OnceError};
use tokio::time::sleep;

use crate::clock;
use crate::history::{RunEnd, Who};
use crate::operation::LONGEST_TTL;
use crate::poll_limit::poll_at_most;
use crate::shared::Shared;

const KEYS: [&str; 2] = ["once:a", "once:b"];

/// The maximum number of polls of a call that is dropped early.
const POLLS: u32 = 24;

/// A call of `once`, and its options.
#[derive(Debug)]
pub(crate) struct OnceCall {
    key: &'static str,
    ttl: Duration,
    /// `None` waits forever.
    wait: Option<Duration>,
    keep: Duration,
    keep_failure: Duration,
    work: Duration,
    fails: bool,
    polls: u32,
}

/// The error of a call.
#[derive(Debug, thiserror::Error)]
enum CallError {
    #[error("body {0} fails")]
    Body(u64),
    #[error(transparent)]
    Lock(#[from] Error),
}

impl OnceCall {
    pub(crate) fn by_chance(random: &mut Rng) -> Self {
        let millis = Duration::from_millis;
        let ttls = [millis(500), millis(1000), LONGEST_TTL];
        let waits = [Some(Duration::ZERO), Some(millis(2000)), None, None];
        Self {
            key: KEYS[random.usize(0..KEYS.len())],
            ttl: ttls[random.usize(0..ttls.len())],
            wait: waits[random.usize(0..waits.len())],
            keep: millis([1, 60, 400, 2000][random.usize(0..4)]),
            keep_failure: millis([0, 60, 400][random.usize(0..3)]),
            work: millis(match random.u32(0..8) {
                0..6 => random.u64(0..60),
                _ => random.u64(0..900),
            }),
            fails: random.u32(0..5) == 0,
            polls: match random.u32(0..6) {
                0 => random.u32(1..POLLS),
                _ => u32::MAX,
            },
        }
    }

    pub(crate) async fn run(&self, shared: &Shared, locks: &LockManager, who: Who) {
        let number = shared.history.borrow_mut().call(self.key, clock::now());
        shared.note(who, format_args!("calls {number}: {self:?}"));
        let body = async |lock: leasehold::LockHandle| {
            let began = clock::now();
            shared.history.borrow_mut().runs[number].began = Some(began);
            shared.note(
                who,
                format_args!("runs {number} under {}", lock.token().get()),
            );
            sleep(self.work).await;
            match self.fails {
                true => Err(CallError::Body(number as u64)),
                false => Ok(number as u64),
            }
        };
        let once = locks
            .once(self.key)
            .ttl(self.ttl)
            .keep(self.keep)
            .keep_failure(self.keep_failure);
        let once = match self.wait {
            Some(wait) => once.wait(wait),
            None => once,
        };
        let result = poll_at_most(self.polls, once.run(body)).await;
        shared.note(who, format_args!("ends {number}: {result:?}"));
        let mut history = shared.history.borrow_mut();
        let end = match result {
            None => {
                history.counts.cut += 1;
                RunEnd::Unknown
            }
            Some(Ok(value)) => {
                history.counts.found += u64::from(value != number as u64);
                RunEnd::Value(value)
            }
            Some(Err(CallError::Lock(Error::Once(OnceError::Failed { message, .. })))) => {
                history.counts.found += 1;
                RunEnd::Failed(message)
            }
            Some(Err(CallError::Lock(Error::LostInBody(lost)))) if lost.completed => {
                RunEnd::NotRecorded
            }
            Some(Err(_)) => RunEnd::Unknown,
        };
        history.runs[number].end = Some((clock::now(), end));
    }
}
