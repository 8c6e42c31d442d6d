use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use super::Lease;
use crate::OwnerId;
use crate::clock::Moment;

/// When the watchdog has to look at which lease.
#[derive(Debug, Default)]
pub(super) struct Rota {
    leases: HashMap<OwnerId, Watched>,
    due: BTreeSet<(Moment, OwnerId)>,
    /// When the watchdog will wake by itself.
    alarm: Option<Moment>,
}

#[derive(Debug)]
struct Watched {
    lease: Arc<Lease>,
    /// None while the watchdog is at it.
    due: Option<Moment>,
}

impl Rota {
    /// Puts a lease on the rota. Answers whether the watchdog sleeps too long for it.
    pub(super) fn add(&mut self, lease: &Arc<Lease>, due: Moment) -> bool {
        let owner = lease.claim.owner;
        let watched = Watched {
            lease: Arc::clone(lease),
            due: Some(due),
        };
        self.leases.insert(owner, watched);
        self.due.insert((due, owner));
        self.alarm.is_none_or(|alarm| due < alarm)
    }

    /// Sets when to look next at a lease that was taken; nothing if it has been removed meanwhile.
    pub(super) fn put_back(&mut self, owner: OwnerId, due: Moment) {
        if let Some(watched) = self.leases.get_mut(&owner) {
            watched.due = Some(due);
            self.due.insert((due, owner));
        }
    }

    pub(super) fn remove(&mut self, owner: OwnerId) {
        if let Some(watched) = self.leases.remove(&owner)
            && let Some(due) = watched.due
        {
            self.due.remove(&(due, owner));
        }
    }

    /// Takes the leases that are due, and sets the alarm for the next.
    pub(super) fn take_due(&mut self, now: Moment) -> Vec<Arc<Lease>> {
        let mut taken = Vec::new();
        while let Some(&(due, owner)) = self.due.first()
            && due <= now
        {
            self.due.pop_first();
            if let Some(watched) = self.leases.get_mut(&owner) {
                watched.due = None;
                taken.push(Arc::clone(&watched.lease));
            }
        }
        taken
    }

    pub(super) fn set_alarm(&mut self) -> Option<Moment> {
        self.alarm = self.due.first().map(|(due, _)| *due);
        self.alarm
    }

    pub(super) fn leases(&self) -> Vec<Arc<Lease>> {
        self.leases.values().map(|w| Arc::clone(&w.lease)).collect()
    }
}
