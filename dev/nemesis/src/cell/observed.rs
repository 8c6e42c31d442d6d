//! The observable state of a cell: its stores, and the records of its processes.

use leasehold_testkit::history::Moment;

use super::verdict::{Control, OfStore, unproven};
use crate::BoxError;
use crate::data::{self, Addresses, DataCell, Side, Store};
use crate::judge::{lost, not_in_order, not_linearizable, steps_back};
use crate::record::{Change, Outcome, Work};

/// The stores of a cell.
pub(super) struct Observed {
    cell: DataCell,
    stores: Vec<(&'static str, Box<dyn Store>)>,
}

impl Observed {
    /// Creates the empty data of a cell.
    pub(super) async fn prepare(cell: DataCell, at: &Addresses) -> Result<Self, BoxError> {
        let mut stores = Vec::new();
        for (kind, address) in &at.0 {
            let store = data::connect(kind, address).await?;
            store.prepare(cell).await?;
            stores.push((*kind, store));
        }
        Ok(Self { cell, stores })
    }

    /// Returns the stores without a write that began after this moment.
    pub(super) fn idle_since(&self, moment: Moment, changes: &[Change]) -> Vec<&'static str> {
        let is_idle = |kind: &str| {
            let written = of(changes, kind, Work::Ledger).into_iter();
            let mut confirmed = written.filter(|it| it.outcome == Outcome::Applied);
            !confirmed.any(|it| it.begun > moment)
        };
        let kinds = self.stores.iter().map(|(kind, _)| *kind);
        kinds.filter(|kind| is_idle(kind)).collect()
    }

    /// Returns whether enough recorded writes without a fence were lost. Only writes recorded before this call count.
    pub(super) async fn control_has_lost(&self, changes: &[Change]) -> Result<bool, BoxError> {
        let mut controls = Vec::new();
        for (kind, store) in &self.stores {
            controls.push(self.control(kind, &**store, changes).await?);
        }
        Ok(unproven(&controls).next().is_none())
    }

    pub(super) async fn judge(&self, changes: &[Change]) -> Result<Vec<OfStore>, BoxError> {
        let mut found = Vec::new();
        for (kind, store) in &self.stores {
            found.push(self.of_store(kind, &**store, changes).await?);
        }
        Ok(found)
    }

    async fn of_store(
        &self,
        kind: &'static str,
        store: &dyn Store,
        changes: &[Change],
    ) -> Result<OfStore, BoxError> {
        let ledger = of(changes, kind, Work::Ledger);
        let trail = of(changes, kind, Work::Trail);
        let left = store.ledger(self.cell, Side::Fenced).await?;
        let mut violations = not_linearizable(&ledger, &left);
        let left = store.trail(self.cell, Side::Fenced).await?;
        violations.extend(not_in_order(&trail, &left));
        let fenced = [ledger, trail].concat();
        let count = |outcome| fenced.iter().filter(|it| it.outcome == outcome).count();
        Ok(OfStore {
            kind,
            applied: count(Outcome::Applied),
            refused: count(Outcome::Refused),
            unknown: count(Outcome::Unknown),
            violations,
            control: self.control(kind, store, changes).await?,
        })
    }

    async fn control(
        &self,
        kind: &'static str,
        store: &dyn Store,
        changes: &[Change],
    ) -> Result<Control, BoxError> {
        let left = store.ledger(self.cell, Side::Control).await?;
        let trail = store.trail(self.cell, Side::Control).await?;
        Ok(Control {
            kind,
            lost: lost(&of(changes, kind, Work::ControlLedger), &left).len(),
            stale: steps_back(&trail),
        })
    }
}

fn of<'c>(changes: &'c [Change], store: &str, work: Work) -> Vec<&'c Change> {
    let of = |it: &&Change| it.store == store && it.work == work;
    changes.iter().filter(of).collect()
}
