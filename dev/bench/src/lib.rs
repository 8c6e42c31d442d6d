//! Leasehold beside its peers and beside hand-written limits, on servers of its own, in one run.
//!
//! ```sh
//! cargo run --release -p leasehold-bench -- --quick
//! ```
//!
//! Each workload is cut into short slices, and the contestants take turns: what slows the machine down slows
//! all of them. A slice in which the stall monitor stalled is void, and counted. Figures are medians; ratios are
//! medians of the ratios within each round, to the first contestant of the table. Compare ratios of one run, never
//! figures of two. At the end stands what is asked of the library, and whether this run met it.
//!
//! Redis writes nothing to its disk, and `ZooKeeper` does not sync to it. The peers run with their own defaults.
//!
//! Heap and metrics are counted in processes of the program `counted`: where time is measured, nobody's allocations are
//! slowed, and the library has the features that it has by default.

// Every contestant's futures are nested in every workload's.
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

/// Why it cannot go on.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// Does what the command line says.
///
/// # Errors
///
/// If it says what is not understood, or if a server or a contestant fails.
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

/// What a process of a workload counts of itself.
pub trait Account {
    /// Bytes that are allocated and not freed.
    fn heap(&self) -> u64;

    /// How many locks were passed on.
    fn passes(&self) -> u64;
}

/// Is one of the processes of a workload, and nothing else.
///
/// # Errors
///
/// If the command line says anything else, or if a server or the contestant fails.
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
