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

/// The hold time is random. With a fixed time, a contestant whose polling interval divides it would always poll right
/// after the release. The range is as long as the longest polling interval. With 45 to 55 ms, a contestant that polls
/// every 50 ms came after 2 or after 48 ms, so its median was random.
const HOLD_MICROS: std::ops::Range<u64> = 50_000..100_000;

/// One task holds a lock while another task waits. Measures the time from the release to the grant.
#[derive(Debug)]
pub(crate) struct HandOff {
    times: usize,
    /// Whether the waiter is in another process than the holder.
    is_remote: bool,
}

impl HandOff {
    pub(crate) const ONE: Self = Self {
        times: 3,
        is_remote: false,
    };

    /// One hand-off a slice, for a slow network.
    pub(crate) const SINGLE: Self = Self {
        times: 1,
        is_remote: false,
    };

    /// To another process.
    pub(crate) const REMOTE: Self = Self {
        times: 2,
        is_remote: true,
    };
}

impl Visitor for HandOff {
    type Output = Result<Done, BoxError>;

    async fn visit<C: Contestant>(&self, contestant: &C) -> Result<Done, BoxError> {
        let waiter = match self.is_remote {
            true => contestant.elsewhere(),
            false => contestant.clone(),
        };
        let mut took = Vec::new();
        for _ in 0..self.times {
            took.push(hand_off(contestant, &waiter).await?.as_secs_f64() * 1e3);
        }
        took.sort_by(f64::total_cmp);
        Ok(Done {
            grants: 2 * took.len(),
            values: vec![quantile(&took, 0.5)],
            elsewhere: None,
        })
    }
}

async fn hand_off<C: Contestant>(contestant: &C, waiter: &C) -> Result<Duration, BoxError> {
    let key = format!("handoff:{}", Uuid::new_v4());
    let held = contestant.acquire(&key).await?;
    let asking = Arc::new(Notify::new());
    let waiting = {
        let (waiter, asking) = (waiter.clone(), Arc::clone(&asking));
        tokio::spawn(async move {
            asking.notify_one();
            let held = waiter.acquire(&key).await?;
            let granted = Instant::now();
            waiter.release(held).await?;
            Ok::<_, BoxError>(granted)
        })
    };
    // Use a task, as in a service. The future that `main` awaits is polled by another thread, so the release would
    // include a switch between threads.
    let contestant = contestant.clone();
    let holding = tokio::spawn(async move {
        asking.notified().await;
        sleep(Duration::from_micros(fastrand::u64(HOLD_MICROS))).await;
        let released = Instant::now();
        contestant.release(held).await?;
        Ok::<_, BoxError>(released)
    });
    // Await the holder last, because its end would wake this thread while the waiter is being served.
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
