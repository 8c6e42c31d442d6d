//! The command line.

use std::time::Duration;

use leasehold_nemesis::plan::Wanted;
use lexopt::prelude::{Long, Short, Value, ValueExt};

pub(crate) const USAGE: &str = "\
matrix                all cells: each deployment of locks, each fault, all kinds of data at once
matrix --short        a few seconds of each deployment and each fault
matrix --only TEXT    the cells whose name contains TEXT: `redlock/`, `/client-pause`, `redis/failover`
matrix --seconds N    how long each cell takes, at least; 10 if not set, 2 with --short
matrix --at-once N    so many deployments at once; 2 if not set
matrix --seed N       for chance; printed by each run
matrix --json         one object a line, for machines";

/// The command of the caller.
#[derive(Debug)]
pub(crate) enum Wish {
    Run(Settings),
    Work(String),
    Help,
}

#[derive(Debug)]
pub(crate) struct Settings {
    pub(crate) wanted: Wanted,
    pub(crate) at_once: usize,
    pub(crate) json: bool,
}

pub(crate) fn wish(mut words: lexopt::Parser) -> Result<Wish, lexopt::Error> {
    let mut wanted = Wanted {
        seed: fastrand::u64(..1_000_000),
        ..Wanted::default()
    };
    let (mut at_once, mut json, mut seconds) = (2, false, None);
    while let Some(word) = words.next()? {
        match word {
            Value(role) if role == "worker" => {
                return Ok(Wish::Work(words.value()?.string()?));
            }
            Long("short") => wanted.short = true,
            Long("only") => wanted.only = Some(words.value()?.string()?),
            Long("seconds") => seconds = Some(words.value()?.parse()?),
            Long("at-once") => at_once = words.value()?.parse()?,
            Long("seed") => wanted.seed = words.value()?.parse()?,
            Long("json") => json = true,
            Long("help") | Short('h') => return Ok(Wish::Help),
            other => return Err(other.unexpected()),
        }
    }
    let seconds = seconds.unwrap_or(if wanted.short { 2 } else { 10 });
    wanted.time = Duration::from_secs(seconds);
    Ok(Wish::Run(Settings {
        wanted,
        at_once,
        json,
    }))
}
