use std::hint::black_box;
use std::time::Instant;

use async_trait::async_trait;
use leasehold::{LockManager, ReentrancyScope};

use super::{Environment, Workload};
use crate::BoxError;
use crate::report::Outcome;
use crate::rounds::median;

const PAIRS: u32 = 10_000;

/// A nested acquire and release of a lock that the scope holds, without a request to the server. It is compared with
/// the same work without a scope: creating the key, and reading the clock.
#[derive(Debug)]
pub(crate) struct Nested;

#[async_trait(?Send)]
impl Workload for Nested {
    fn name(&self) -> String {
        "nested reentrant acquire".into()
    }

    async fn run(&self, environment: &Environment<'_>) -> Result<Outcome, BoxError> {
        let locks = LockManager::connect(&environment.server.url()).await?;
        let scope = ReentrancyScope::new();
        let outer = locks.lock("nested").reentrant(&scope).acquire().await?;
        let (mut acquires, mut pairs, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..if environment.quick { 25 } else { 200 } {
            let begin = Instant::now();
            for _ in 0..PAIRS {
                drop(black_box(locks.lock("nested").reentrant(&scope)));
                black_box(outer.is_valid());
            }
            let bare = nanos_each(begin);
            let mut guards = Vec::with_capacity(PAIRS as usize);
            let begin = Instant::now();
            for _ in 0..PAIRS {
                guards.push(locks.lock("nested").reentrant(&scope).acquire().await?);
            }
            acquires.push(nanos_each(begin));
            for guard in guards {
                guard.release().await?;
            }
            let begin = Instant::now();
            for _ in 0..PAIRS {
                let guard = locks.lock("nested").reentrant(&scope).acquire().await?;
                guard.release().await?;
            }
            let pair = nanos_each(begin);
            pairs.push(pair);
            ratios.push(pair / bare);
        }
        outer.release().await?;
        let figures = [
            ("acquire_ns", median(acquires)),
            ("acquire_and_release_ns", median(pairs)),
            ("pair_to_bare_ratio", median(ratios)),
        ];
        let known = figures.map(|(metric, value)| (metric, value.unwrap_or(f64::NAN)));
        Ok(Outcome::single("leasehold", &known))
    }
}

fn nanos_each(begin: Instant) -> f64 {
    begin.elapsed().as_secs_f64() * 1e9 / f64::from(PAIRS)
}
