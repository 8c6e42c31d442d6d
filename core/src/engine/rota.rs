use std::collections::BTreeSet;
use std::sync::Arc;

use super::Lease;
use crate::OwnerId;
use crate::clock::Moment;
use crate::owner::ById;

/// When the watchdog has to look at which lease.
#[derive(Debug, Default)]
pub(super) struct Rota {
    /// Those that came since the watchdog looked last. Most are gone again before it looks, and are never sorted.
    newcomers: ById<(Arc<Lease>, Moment)>,
    leases: ById<Watched>,
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
        self.remove(owner);
        self.newcomers.insert(owner, (Arc::clone(lease), due));
        let too_late = self.alarm.is_none_or(|alarm| due < alarm);
        if too_late {
            self.alarm = Some(due);
        }
        too_late
    }

    /// Sets when to look next at a lease that was taken; nothing if it has been removed meanwhile, or another lease of
    /// its owner was added.
    pub(super) fn put_back(&mut self, owner: OwnerId, due: Moment) {
        if let Some(watched) = self.leases.get_mut(&owner)
            && watched.due.is_none()
        {
            watched.due = Some(due);
            self.due.insert((due, owner));
        }
    }

    pub(super) fn remove(&mut self, owner: OwnerId) {
        if self.newcomers.remove(&owner).is_some() {
            return;
        }
        if let Some(watched) = self.leases.remove(&owner)
            && let Some(due) = watched.due
        {
            self.due.remove(&(due, owner));
        }
    }

    /// Takes a lease off the rota, but not another one of its owner.
    pub(super) fn forget(&mut self, lease: &Arc<Lease>) {
        let owner = lease.claim.owner;
        let new = self.newcomers.get(&owner).map(|(lease, _)| lease);
        let known = || self.leases.get(&owner).map(|watched| &watched.lease);
        if new.or_else(known).is_some_and(|it| Arc::ptr_eq(it, lease)) {
            self.remove(owner);
        }
    }

    fn sort_newcomers_in(&mut self) {
        // To drain a map costs what it once had room for.
        if self.newcomers.is_empty() {
            return;
        }
        for (owner, (lease, due)) in self.newcomers.drain() {
            let due_at = Some(due);
            self.leases.insert(owner, Watched { lease, due: due_at });
            self.due.insert((due, owner));
        }
    }

    /// Takes the leases that are due.
    pub(super) fn take_due(&mut self, now: Moment) -> Vec<Arc<Lease>> {
        self.sort_newcomers_in();
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

    /// Those that the watchdog is at.
    pub(super) fn taken(&self) -> Vec<Arc<Lease>> {
        let taken = self.leases.values().filter(|watched| watched.due.is_none());
        taken.map(|watched| Arc::clone(&watched.lease)).collect()
    }

    /// Makes every lease due that nobody is at.
    pub(super) fn hasten(&mut self, now: Moment) {
        self.sort_newcomers_in();
        for (owner, watched) in &mut self.leases {
            if let Some(due) = watched.due.as_mut().filter(|due| **due > now) {
                self.due.remove(&(*due, *owner));
                *due = now;
                self.due.insert((now, *owner));
            }
        }
    }

    /// Sets the alarm for the next look. An earlier one that was set for a lease which is gone stays: else each
    /// of many short holds would have to wake the watchdog to set it again.
    pub(super) fn set_alarm(&mut self, now: Moment) -> Option<Moment> {
        self.sort_newcomers_in();
        let first = self.due.first().map(|(due, _)| *due);
        let set = self.alarm.filter(|alarm| *alarm > now);
        self.alarm = set.into_iter().chain(first).min();
        self.alarm
    }

    pub(super) fn leases(&self) -> Vec<Arc<Lease>> {
        let new = self.newcomers.values().map(|(lease, _)| lease);
        let known = self.leases.values().map(|watched| &watched.lease);
        new.chain(known).map(Arc::clone).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::backend::{Attempt, Backend, InProcess};
    use crate::options::LockOptions;
    use crate::runtime::Runtime;
    use crate::{FencingToken, Key};

    fn lease() -> Arc<Lease> {
        let key = Key::new("", "k").unwrap();
        let claim = Attempt::new(key, Duration::from_secs(30), true)
            .claim(FencingToken::try_from(1).unwrap());
        let (granted, options) = (claim.ttl, LockOptions::default());
        let runtime = Runtime::current().unwrap();
        Arc::new(Lease::new(
            &(Arc::new(InProcess::new()) as Arc<dyn Backend>),
            claim,
            granted,
            Moment::now(),
            &options,
            runtime,
        ))
    }

    #[tokio::test(start_paused = true)]
    async fn short_holds_one_after_another_do_not_wake_the_watchdog_each_time() {
        let mut rota = Rota::default();
        let due_in = |seconds| Moment::now().after(Duration::from_secs(seconds));
        let first = lease();
        assert!(rota.add(&first, due_in(10)));
        rota.remove(first.claim.owner);
        // The watchdog wakes when the first hold is over.
        rota.set_alarm(Moment::now());
        let second = lease();
        assert!(!rota.add(&second, due_in(11)));
        rota.remove(second.claim.owner);
        rota.set_alarm(Moment::now());
        assert!(rota.add(&lease(), due_in(9)), "sooner than it will wake");
    }

    #[tokio::test(start_paused = true)]
    async fn one_owner_has_one_place_whatever_is_put_back() {
        let mut rota = Rota::default();
        let lease = lease();
        let due = Moment::now();
        rota.add(&lease, due);
        assert_eq!(rota.take_due(due).len(), 1);
        // Another lease of its owner, as after a downgrade.
        rota.add(&lease, due);
        rota.put_back(lease.claim.owner, due.after(Duration::from_secs(1)));
        let much_later = due.after(Duration::from_secs(60));
        assert_eq!(rota.take_due(much_later).len(), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn what_a_lease_has_become_is_not_forgotten_with_it() {
        let mut rota = Rota::default();
        let (old, due) = (lease(), Moment::now());
        rota.add(&old, due);
        assert_eq!(rota.take_due(due).len(), 1);
        // While the watchdog is at it.
        let shared = old.continued(old.claim.clone(), old.claim.ttl, due);
        let shared = Arc::new(shared);
        rota.add(&shared, due);
        rota.forget(&old);
        assert_eq!(rota.take_due(due).len(), 1);
        rota.forget(&old);
        assert_eq!(rota.leases().len(), 1);
        rota.forget(&shared);
        assert_eq!(rota.leases().len(), 0);
    }

    #[tokio::test(start_paused = true)]
    async fn who_came_since_the_last_look_is_seen_by_whatever_looks() {
        let soon = Moment::now().after(Duration::from_secs(1));
        let with_newcomer = || {
            let (mut rota, lease) = (Rota::default(), lease());
            rota.add(&lease, soon);
            assert_eq!(rota.leases().len(), 1);
            (rota, lease.claim.owner)
        };
        assert_eq!(with_newcomer().0.take_due(soon).len(), 1);
        assert_eq!(with_newcomer().0.set_alarm(soon), Some(soon));
        let (mut rota, owner) = with_newcomer();
        rota.hasten(Moment::now());
        assert_eq!(rota.take_due(Moment::now()).len(), 1);
        rota.remove(owner);
        assert_eq!(rota.leases().len(), 0);
        let (mut rota, owner) = with_newcomer();
        rota.remove(owner);
        assert_eq!((rota.leases().len(), rota.take_due(soon).len()), (0, 0));
    }

    #[tokio::test(start_paused = true)]
    async fn an_alarm_that_has_rung_is_over() {
        let mut rota = Rota::default();
        let lease = lease();
        let due = Moment::now().after(Duration::from_secs(10));
        rota.add(&lease, due);
        rota.remove(lease.claim.owner);
        assert_eq!(rota.set_alarm(Moment::now()), Some(due));
        assert_eq!(rota.set_alarm(due), None);
    }
}
