use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use tokio::sync::Notify;
use tokio::time::sleep;
use uuid::Uuid;

use super::{Environment, Workload};
use crate::BoxError;
use crate::contestant::{Contestant, Visitor, Way};
use crate::report::Outcome;
use crate::rounds::quantile;
use crate::turns::{Done, Plan};

pub(crate) const NAME: &str = "hand-off after 50 to 100 ms";

/// Of no fixed length: a poller whose pause divides it would look just when the lock is released. And as much longer than
/// it is short as a poller's pause is: where it was 45 to 55 ms one that looks every 50 ms came after 2 or after 48 ms, and
/// chance had its median.
const HOLD_MICROS: std::ops::Range<u64> = 50_000..100_000;

/// One holds a lock while another waits for it: how long from the release to the grant.
#[derive(Debug)]
pub(crate) struct HandOff {
    times: usize,
}

impl HandOff {
    pub(crate) const ONE: Self = Self { times: 3 };
}

impl Visitor for HandOff {
    type Output = Result<Done, BoxError>;

    async fn visit<C: Contestant>(&self, contestant: &C) -> Result<Done, BoxError> {
        let mut took = Vec::new();
        for _ in 0..self.times {
            took.push(hand_off(contestant).await?.as_secs_f64() * 1e3);
        }
        took.sort_by(f64::total_cmp);
        Ok(Done {
            grants: 2 * took.len(),
            values: vec![quantile(&took, 0.5)],
            elsewhere: None,
        })
    }
}

async fn hand_off<C: Contestant>(contestant: &C) -> Result<Duration, BoxError> {
    let key = format!("handoff:{}", Uuid::new_v4());
    let held = contestant.acquire(&key).await?;
    let asking = Arc::new(Notify::new());
    let waiting = {
        let (contestant, asking) = (contestant.clone(), Arc::clone(&asking));
        tokio::spawn(async move {
            asking.notify_one();
            let held = contestant.acquire(&key).await?;
            let granted = Instant::now();
            contestant.release(held).await?;
            Ok::<_, BoxError>(granted)
        })
    };
    // A task as well, as in a service: what `main` awaits is polled by a thread of its own, and the release would
    // pay for a hop between threads.
    let contestant = contestant.clone();
    let holding = tokio::spawn(async move {
        asking.notified().await;
        sleep(Duration::from_micros(fastrand::u64(HOLD_MICROS))).await;
        let released = Instant::now();
        contestant.release(held).await?;
        Ok::<_, BoxError>(released)
    });
    // The holder is asked last: its end would wake this thread while the waiter is being served.
    let granted = waiting.await??;
    Ok(granted - holding.await??)
}

#[async_trait(?Send)]
impl Workload for HandOff {
    fn name(&self) -> String {
        NAME.into()
    }

    async fn run(&self, environment: &Environment<'_>) -> Result<Outcome, BoxError> {
        let plan = Plan {
            workload: NAME,
            metrics: &["p50_ms"],
            rounds: if environment.quick { 4 } else { 16 },
        };
        let here = (environment.field, environment.meter);
        plan.take_turns_here(here, Way::CROWD, self).await
    }
}
