use serde::Serialize;

use crate::cell::Cell;
use crate::score::Score;

/// The result of a cell.
#[derive(Debug, Serialize)]
pub(crate) struct Outcome {
    pub(crate) sellers: u32,
    pub(crate) buyers: u32,
    pub(crate) method: &'static str,
    pub(crate) listed: i64,
    pub(crate) bought: i64,
    pub(crate) retries: i64,
    /// Purchases that were too late, because another buyer had bought the item.
    pub(crate) gone: i64,
    /// The mean time per bought item, or `None` if none was bought.
    pub(crate) mean_wait_ms: Option<f64>,
    #[serde(skip)]
    pub(crate) cell: Cell,
}

impl Outcome {
    pub(crate) fn of(cell: Cell, all: &Score) -> Self {
        let waited = all.waited.as_secs_f64() * 1000.0;
        Self {
            sellers: cell.load.sellers,
            buyers: cell.load.buyers,
            method: cell.method.name(),
            listed: all.listed,
            bought: all.bought,
            retries: all.retries,
            gone: all.gone,
            mean_wait_ms: (all.bought > 0).then(|| waited / all.bought as f64),
            cell,
        }
    }
}
