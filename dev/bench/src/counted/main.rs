//! A process of the benchmark that counts its heap and its direct hand-offs.

mod passes;

use std::alloc::System;

use leasehold_bench::{Account, BoxError};
use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};

use crate::passes::Passes;

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// The counters of this process.
#[derive(Debug)]
struct Counted(Passes);

impl Account for Counted {
    fn heap(&self) -> u64 {
        let stats = INSTRUMENTED_SYSTEM.stats();
        let live = stats
            .bytes_allocated
            .saturating_sub(stats.bytes_deallocated);
        live as u64
    }

    fn passes(&self) -> u64 {
        self.0.so_far()
    }
}

#[tokio::main]
async fn main() -> Result<(), BoxError> {
    let counted = Counted(Passes::count()?);
    leasehold_bench::work(lexopt::Parser::from_env(), &counted).await
}
