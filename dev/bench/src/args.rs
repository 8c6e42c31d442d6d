use std::path::PathBuf;

use lexopt::prelude::{Long, Short, ValueExt};

use crate::contestant::Field;

pub(crate) const USAGE: &str = "\
leasehold-bench                   all workloads, in 16 minutes
leasehold-bench --quick           the same in 6, without the million keys
leasehold-bench --only W          the workloads whose name contains W
leasehold-bench --json FILE       all figures, slice by slice
leasehold-bench --charts FOLDER   charts, as SVG";

/// The command of the caller.
#[derive(Debug)]
pub(crate) enum Wish {
    Run(Settings),
    /// Run as a worker process: see `workers`.
    Work {
        way: String,
        field: Field,
    },
    Help,
}

#[derive(Debug, Default)]
pub(crate) struct Settings {
    pub(crate) quick: bool,
    pub(crate) json: Option<PathBuf>,
    pub(crate) charts: Option<PathBuf>,
    only: Option<String>,
}

impl Settings {
    pub(crate) fn wants(&self, workload: &str) -> bool {
        let only = self.only.as_deref();
        only.is_none_or(|part| workload.contains(part))
    }
}

pub(crate) fn wish(mut words: lexopt::Parser) -> Result<Wish, lexopt::Error> {
    let mut settings = Settings::default();
    while let Some(word) = words.next()? {
        match word {
            Long("quick") => settings.quick = true,
            Long("json") => settings.json = Some(words.value()?.into()),
            Long("charts") => settings.charts = Some(words.value()?.into()),
            Long("only") => settings.only = Some(words.value()?.string()?),
            Long("work") => {
                let way = words.value()?.string()?;
                let redis = words.value()?.string()?;
                let zookeeper = words.value()?.string()?;
                let field = Field { redis, zookeeper };
                return Ok(Wish::Work { way, field });
            }
            Long("help") | Short('h') => return Ok(Wish::Help),
            other => return Err(other.unexpected()),
        }
    }
    Ok(Wish::Run(settings))
}
