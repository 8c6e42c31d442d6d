//! The reentrant locks that a process holds, by scope and key.

use std::collections::HashMap;
use std::sync::{Arc, Weak};

use crate::Key;
use crate::engine::{Engine, Hold, Lease};
use crate::map_sweep_limit::SweepLimit;

/// The registry does not remove unused entries while it has fewer entries than this.
const FEW: usize = 32;

/// Identifies a lock: two managers may use one key for two locks.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct HoldKey {
    /// The address of the backend. A held lock keeps its backend alive, so the address of a dropped backend matches no
    /// held lock.
    backend: usize,
    key: Key,
}

impl HoldKey {
    pub(super) fn new(engine: &Engine, key: &Key) -> Self {
        Self {
            backend: Arc::as_ptr(&engine.backend).cast::<()>().addr(),
            key: key.clone(),
        }
    }
}

/// The mutex that a task locks while it acquires a lock for the whole scope.
pub(super) type AcquireMutex = Arc<tokio::sync::Mutex<()>>;

/// The locks that a scope holds, or is acquiring.
#[derive(Debug, Default)]
pub(super) struct HoldRegistry {
    places: HashMap<HoldKey, ScopeHold>,
    sweep_limit: SweepLimit<FEW>,
}

#[derive(Debug, Default)]
struct ScopeHold {
    turn: AcquireMutex,
    held: Option<WeakHold>,
}

#[derive(Debug)]
struct WeakHold {
    hold: Weak<Hold>,
    /// Check this lease instead of upgrading `hold`, because a concurrent release would count that reference as another
    /// guard.
    lease: Weak<Lease>,
}

impl HoldRegistry {
    /// Returns a reference to the held lock of `place`, or `None` if the scope does not hold the lock or has lost it.
    pub(super) fn share(&self, place: &HoldKey) -> Option<Arc<Hold>> {
        let held = self.places.get(place)?.held.as_ref()?;
        held.is_valid().then(|| held.hold.upgrade()).flatten()
    }

    pub(super) fn is_held(&self, place: &HoldKey) -> bool {
        let entry = self.places.get(place);
        entry
            .and_then(|entry| entry.held.as_ref())
            .is_some_and(WeakHold::is_valid)
    }

    pub(super) fn turn(&mut self, place: &HoldKey) -> AcquireMutex {
        self.sweep_limit
            .sweep(&mut self.places, HashMap::len, |all| {
                all.retain(|_, entry| entry.is_used());
            });
        Arc::clone(&self.places.entry(place.clone()).or_default().turn)
    }

    pub(super) fn enter(&mut self, place: HoldKey, hold: &Arc<Hold>) {
        self.places.entry(place).or_default().held = Some(WeakHold {
            hold: Arc::downgrade(hold),
            lease: Arc::downgrade(&hold.lease),
        });
    }

    pub(super) fn held(&self) -> impl Iterator<Item = &Key> {
        let held = |(place, entry): (_, &ScopeHold)| {
            let is_held = entry.held.as_ref().is_some_and(WeakHold::is_valid);
            is_held.then_some(place)
        };
        self.places
            .iter()
            .filter_map(held)
            .map(|place: &HoldKey| &place.key)
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.places.len()
    }
}

impl ScopeHold {
    fn is_used(&self) -> bool {
        let held = self.held.as_ref();
        held.is_some_and(|held| held.hold.strong_count() > 0) || Arc::strong_count(&self.turn) > 1
    }
}

impl WeakHold {
    fn is_valid(&self) -> bool {
        let lease = self.lease.upgrade();
        lease.is_some_and(|lease| lease.validity().is_ok())
    }
}
