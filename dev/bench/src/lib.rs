//! Compares Leasehold with its peers and with hand-written limits, on its own servers, in one run.
//!
//! ```sh
//! cargo run --release -p leasehold-bench -- --quick
//! ```
//!
//! Each workload is divided into short slices, and the contestants take turns, so a slow machine slows all of them. A
//! slice is void if the stall monitor stalled, and void slices are counted. Figures are medians. A ratio compares a
//! contestant with the first one of the table, and is the median of the ratios within each round. Compare ratios of one
//! run, never figures of two runs. The end of the report lists the requirements, and whether this run met them.
//!
//! Redis writes nothing to its disk. `ZooKeeper` and the databases of `SQL locks` do not sync to it. The peers run with their own defaults.
//!
//! The workloads `network` run through a proxy that delays each direction. Their first contestant is a `PING`, so the
//! ratios of times are numbers of round trips.
//!
//! Heap and metrics are counted in processes of the program `counted`. So counting does not slow the measured
//! allocations, and the measured library has its default features.

// The futures of all contestants are nested in those of all workloads.
#![recursion_limit = "256"]
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "it talks to its reader"
)]

mod answer;
mod args;
mod asks;
mod chart;
mod clock;
mod contention;
mod contestant;
mod cores;
mod ledger;
mod machine;
mod meter;
mod progress;
mod report;
mod rounds;
mod stall_monitor;
mod turns;
mod workers;
mod workload;

use leasehold_testkit::servers::{RedisServer, ZooKeeperServer};

use crate::args::{Settings, Wish};
use crate::contestant::Field;
use crate::ledger::Ledger;
use crate::meter::Meter;

/// The reason why the benchmark cannot continue.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// Executes the command line.
///
/// # Errors
///
/// Returns an error if the command line is invalid, or if a server or a contestant fails.
pub async fn follow(words: lexopt::Parser) -> Result<(), BoxError> {
    match args::wish(words)? {
        Wish::Run(settings) => run(&settings).await,
        Wish::Work { way, field } => workers::work(&way, &field, None).await,
        Wish::Help => {
            println!("{}", args::USAGE);
            Ok(())
        }
    }
}

/// The counters of a worker process.
pub trait Account {
    /// Returns the number of allocated bytes.
    fn heap(&self) -> u64;

    /// Returns the number of direct hand-offs.
    fn passes(&self) -> u64;
}

/// Runs one worker process of a workload.
///
/// # Errors
///
/// Returns an error for any other command line, or if a server or the contestant fails.
pub async fn work(words: lexopt::Parser, account: &dyn Account) -> Result<(), BoxError> {
    match args::wish(words)? {
        Wish::Work { way, field } => workers::work(&way, &field, Some(account)).await,
        _ => Err("this program is started by leasehold-bench, when it is needed".into()),
    }
}

async fn run(settings: &Settings) -> Result<(), BoxError> {
    let server = RedisServer::start().await?;
    let zookeeper = ZooKeeperServer::start().await?;
    let field = Field {
        redis: server.url(),
        zookeeper: format!("zookeeper://{}/bench", zookeeper.address()),
    };
    let meter = Meter::of(&server).await?;
    let (machine, before) = (machine::describe(&meter).await?, machine::load());
    println!("{machine}, load {before} before the run");
    let mut ledger = Ledger::default();
    for workload in workload::all() {
        let name = workload.name();
        if settings.wants(&name) {
            let environment = workload::Environment {
                server: &server,
                meter: &meter,
                field: &field,
                quick: settings.quick,
            };
            let outcome = workload.run(&environment).await?;
            report::print(&name, &outcome);
            ledger.add(&name, outcome);
        }
    }
    let answers = asks::all(&ledger);
    answer::print(&answers);
    let after = machine::load();
    println!("\nload {after} after the run");
    if let Some(file) = &settings.json {
        ledger.write(file, &machine, [&before, &after], &answers)?;
    }
    if let Some(folder) = &settings.charts {
        chart::draw(folder, &ledger)?;
    }
    Ok(())
}
