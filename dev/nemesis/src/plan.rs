//! Selects the cells.

use std::time::Duration;

use strum::VariantArray;

use crate::cell::Cell;
use crate::data::DataCell;
use crate::deployment::Kind;
use crate::fault::Fault;

/// A selection with each deployment and each fault.
const SHORT: [(Kind, Fault); 28] = [
    (Kind::InProcess, Fault::ForceOpen),
    (Kind::One, Fault::Calm),
    (Kind::One, Fault::ClientPause),
    (Kind::One, Fault::ClientKill),
    (Kind::One, Fault::ClientClock),
    (Kind::One, Fault::LinkCut),
    (Kind::One, Fault::LinkLosesRequests),
    (Kind::One, Fault::LinkChaos),
    (Kind::One, Fault::DataCut),
    (Kind::One, Fault::ServerRestart),
    (Kind::One, Fault::ServerForgets),
    (Kind::Sentinel, Fault::Failover),
    (Kind::Synced, Fault::ServerPause),
    (Kind::Cluster, Fault::Failover),
    (Kind::Redlock, Fault::LinkLosesReplies),
    (Kind::Redlock, Fault::LinkDelay),
    (Kind::Redlock, Fault::ServerClock),
    (Kind::ZooKeeper, Fault::ClientPause),
    (Kind::ZooKeeper, Fault::Partition),
    (Kind::Postgres, Fault::ClientPause),
    (Kind::Postgres, Fault::ClientKill),
    (Kind::Postgres, Fault::LinkCut),
    (Kind::Postgres, Fault::ServerRestart),
    (Kind::Asynchronous, Fault::Failover),
    (Kind::Synchronous, Fault::Failover),
    (Kind::MariaDb, Fault::ClientPause),
    (Kind::MariaDb, Fault::ServerRestart),
    (Kind::Sqlite, Fault::ClientPause),
];

/// The selection of the caller.
#[derive(Debug, Clone, Default)]
pub struct Wanted {
    /// Whether to run only a selection with each deployment and each fault.
    pub short: bool,
    /// Runs only the cells whose name contains this text.
    pub only: Option<String>,
    /// The minimum duration of each cell.
    pub time: Duration,
    /// The seed of the random numbers.
    pub seed: u64,
}

/// Returns the selected cells, sorted by deployment.
#[must_use]
pub fn cells(wanted: &Wanted) -> Vec<Cell> {
    let all = Kind::VARIANTS.iter().flat_map(|&kind| {
        let faults = kind.faults().iter();
        faults.map(move |fault| (kind, *fault))
    });
    let mut number = 0;
    let cells = all.map(|(kind, fault)| {
        number += 1;
        Cell {
            number: DataCell(number),
            kind,
            fault,
            time: wanted.time,
            seed: wanted.seed.wrapping_add(number.unsigned_abs()),
        }
    });
    let only = wanted.only.as_deref().unwrap_or_default();
    let is_voluntary = |cell: &Cell| {
        let is_short = SHORT.contains(&(cell.kind, cell.fault));
        cell.name().contains(only) && (is_short || !wanted.short)
    };
    cells.filter(is_voluntary).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn the_short_form_has_each_deployment_and_each_fault() {
        let wanted = Wanted::default();
        let (all, short) = (
            cells(&wanted),
            cells(&Wanted {
                short: true,
                ..wanted
            }),
        );
        assert_eq!(short.len(), SHORT.len());
        let kinds = |cells: &[Cell]| cells.iter().map(|it| it.kind).collect::<HashSet<_>>();
        let faults = |cells: &[Cell]| cells.iter().map(|it| it.fault).collect::<HashSet<_>>();
        assert_eq!(kinds(&all), kinds(&short));
        assert_eq!(kinds(&all).len(), Kind::VARIANTS.len());
        assert_eq!(faults(&all), faults(&short));
    }
}
