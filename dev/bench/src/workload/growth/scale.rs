use std::cell::Cell;

use crate::BoxError;
use crate::contestant::Way;
use crate::report::Outcome;
use crate::rounds::Values;
use crate::turns::{Bill, Plan};

/// A workload and its sizes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Scale {
    pub(crate) workload: &'static str,
    pub(crate) sizes: &'static [Size],
}

/// A size, and the metrics of an operation with it. All sizes of a scale have the same number of metrics.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Size {
    pub(crate) count: usize,
    metrics: &'static [&'static str],
}

pub(super) const fn size(count: usize, metrics: &'static [&'static str]) -> Size {
    Size { count, metrics }
}

impl Size {
    /// Returns the metric of the CPU time on both sides, in microseconds.
    pub(crate) fn us(&self) -> &'static str {
        self.metrics[0]
    }

    /// Returns the metric of the commands.
    pub(crate) fn commands(&self) -> &'static str {
        self.metrics[1]
    }
}

impl Scale {
    /// Lets all contestants run a slice with each size in turn. So a slow machine does not make one size look more
    /// expensive than the others.
    ///
    /// `run` gets the numbers of the contestant and of the size, and returns the figures of the size.
    pub(super) async fn take_turns(
        &self,
        (sizes, rounds): (usize, usize),
        names: &[&'static str],
        run: impl AsyncFn(usize, usize) -> Result<Values, BoxError>,
    ) -> Result<Outcome, BoxError> {
        let metrics: Vec<_> = self.sizes[..sizes]
            .iter()
            .map(|size| size.metrics)
            .collect();
        let plan = Plan {
            workload: self.workload,
            metrics: &metrics.concat(),
            rounds,
        };
        let turns = Cell::new(0);
        let run_all = async |at: usize| {
            let turn = turns.replace(turns.get() + 1);
            let mut values = vec![Vec::new(); sizes];
            for step in 0..sizes {
                // Each slice starts with another size.
                let size = (turn + step) % sizes;
                values[size] = run(at, size).await?;
            }
            Ok(values.concat())
        };
        plan.take_turns(names, run_all).await
    }
}

/// Returns the CPU time and the commands of an operation of the library.
pub(super) fn costs(bill: &Bill) -> Values {
    vec![bill.us(), bill.commands(Way::Leasehold.sends())]
}
