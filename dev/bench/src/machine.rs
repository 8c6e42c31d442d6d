//! Describes the machine of the measurements.

use crate::BoxError;
use crate::meter::Meter;

pub(crate) async fn describe(meter: &Meter) -> Result<String, BoxError> {
    let cores = std::thread::available_parallelism()?;
    let version = meter.read().await?.text("redis_version").to_owned();
    let kind = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let kind = kind
        .lines()
        .find_map(|line| line.strip_prefix("model name")?.split_once(':'));
    let kind = kind.map_or("unknown", |(_, name)| name.trim());
    Ok(format!("{cores} cores ({kind}), Redis {version}"))
}

/// Returns how many tasks wanted a core, on average over the last minute.
pub(crate) fn load() -> String {
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    load.split(' ').next().unwrap_or("unknown").to_owned()
}
