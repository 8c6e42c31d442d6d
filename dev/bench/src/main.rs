//! Leasehold beside hand-written limits, on a Redis server of its own, in one run; and on a `ZooKeeper` server that
//! does not sync to its disk, where many want one lock.
//!
//! ```sh
//! cargo run --release -p leasehold-bench -- --quick
//! ```
//!
//! Each workload is cut into short slices, and the contestants take turns: what slows the machine down slows
//! all of them. A slice in which a canary task stalled is void, and counted. Figures are medians; ratios are
//! medians of the ratios within each round. Compare ratios of one run, never figures of two.

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "it talks to its reader"
)]

mod args;
mod canary;
mod contestant;
mod machine;
mod progress;
mod report;
mod rounds;
mod turns;
mod workload;

use std::process::ExitCode;

use leasehold_testkit::servers::{RedisServer, ZooKeeperServer};

use crate::args::Wish;
use crate::contestant::Field;
use crate::report::Report;

type BoxError = Box<dyn std::error::Error + Send + Sync>;

#[tokio::main]
async fn main() -> Result<ExitCode, BoxError> {
    let settings = match args::wish(lexopt::Parser::from_env())? {
        Wish::Run(settings) => settings,
        Wish::Help => {
            println!("{}", args::USAGE);
            return Ok(ExitCode::SUCCESS);
        }
    };
    let server = RedisServer::start().await?;
    let zookeeper = ZooKeeperServer::start().await?;
    let folder = format!("zookeeper://{}/bench", zookeeper.address());
    let field = Field::of(&server.url(), &folder);
    let report = Report::new(settings.json);
    report.opening(&machine::describe(&server).await?);
    for workload in workload::all() {
        if settings.wants(workload.name()) {
            let stage = workload::Stage {
                server: &server,
                field: &field,
                quick: settings.quick,
            };
            report.add(workload.name(), &workload.run(&stage).await?);
        }
    }
    Ok(ExitCode::SUCCESS)
}
