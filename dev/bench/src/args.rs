use lexopt::prelude::{Long, Short, ValueExt};

pub(crate) const USAGE: &str = "\
leasehold-bench             all workloads
leasehold-bench --quick     the same, under half a minute
leasehold-bench --only W    the workloads whose name contains W
leasehold-bench --json      one object a line, for machines";

/// What the caller wants.
#[derive(Debug)]
pub(crate) enum Wish {
    Run(Settings),
    Help,
}

#[derive(Debug, Default)]
pub(crate) struct Settings {
    pub(crate) quick: bool,
    pub(crate) json: bool,
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
            Long("json") => settings.json = true,
            Long("only") => settings.only = Some(words.value()?.string()?),
            Long("help") | Short('h') => return Ok(Wish::Help),
            other => return Err(other.unexpected()),
        }
    }
    Ok(Wish::Run(settings))
}
