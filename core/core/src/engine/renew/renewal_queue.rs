//! The leases of a manager, ordered by when each is renewed next.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::AttemptId;
use crate::attempt_id::AttemptMap;
use crate::clock::LeaseInstant;
use crate::engine::Lease;

/// The leases, and the time at which the watchdog must check each of them.
#[derive(Debug, Default)]
pub(crate) struct RenewalQueue {
    /// New leases since the watchdog's last check. Most of them are released before the next check, and are never
    /// sorted.
    unsorted: AttemptMap<(Arc<Lease>, LeaseInstant)>,
    leases: AttemptMap<QueuedLease>,
    due: BTreeSet<(LeaseInstant, AttemptId)>,
    /// The time of the watchdog's next check.
    alarm: Option<LeaseInstant>,
}

#[derive(Debug)]
struct QueuedLease {
    lease: Arc<Lease>,
    /// `None` while the watchdog renews the lease.
    due: Option<LeaseInstant>,
}

impl RenewalQueue {
    /// Adds a lease. Returns whether the watchdog's next check is too late for the lease.
    pub(crate) fn add(&mut self, lease: &Arc<Lease>, due: LeaseInstant) -> bool {
        let owner = lease.claim.owner;
        self.remove(owner);
        self.unsorted.insert(owner, (Arc::clone(lease), due));
        let too_late = self.alarm.is_none_or(|alarm| due < alarm);
        if too_late {
            self.alarm = Some(due);
        }
        too_late
    }

    /// Sets the next check of a lease that was taken. This has no effect if the lease was removed, or if its owner has
    /// added another lease.
    pub(crate) fn put_back(&mut self, owner: AttemptId, due: LeaseInstant) {
        if let Some(watched) = self.leases.get_mut(&owner)
            && watched.due.is_none()
        {
            watched.due = Some(due);
            self.due.insert((due, owner));
        }
    }

    pub(crate) fn remove(&mut self, owner: AttemptId) {
        if self.unsorted.remove(&owner).is_some() {
            return;
        }
        if let Some(watched) = self.leases.remove(&owner)
            && let Some(due) = watched.due
        {
            self.due.remove(&(due, owner));
        }
    }

    /// Removes a lease, but not another lease of its owner.
    pub(crate) fn forget(&mut self, lease: &Arc<Lease>) {
        let owner = lease.claim.owner;
        let new = self.unsorted.get(&owner).map(|(lease, _)| lease);
        let known = || self.leases.get(&owner).map(|watched| &watched.lease);
        if new.or_else(known).is_some_and(|it| Arc::ptr_eq(it, lease)) {
            self.remove(owner);
        }
    }

    fn sort_new_leases(&mut self) {
        // Do not drain an empty map, because the time to drain a map depends on its capacity.
        if self.unsorted.is_empty() {
            return;
        }
        for (owner, (lease, due)) in self.unsorted.drain() {
            let due_at = Some(due);
            self.leases
                .insert(owner, QueuedLease { lease, due: due_at });
            self.due.insert((due, owner));
        }
    }

    /// Takes the leases that are due.
    pub(crate) fn take_due(&mut self, now: LeaseInstant) -> Vec<Arc<Lease>> {
        self.sort_new_leases();
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

    /// Returns the leases that the watchdog is renewing.
    pub(crate) fn taken(&self) -> Vec<Arc<Lease>> {
        let taken = self.leases.values().filter(|watched| watched.due.is_none());
        taken.map(|watched| Arc::clone(&watched.lease)).collect()
    }

    /// Makes every lease due, except the leases that the watchdog is renewing.
    pub(crate) fn make_all_due(&mut self, now: LeaseInstant) {
        self.sort_new_leases();
        for (owner, watched) in &mut self.leases {
            if let Some(due) = watched.due.as_mut().filter(|due| **due > now) {
                self.due.remove(&(*due, *owner));
                *due = now;
                self.due.insert((now, *owner));
            }
        }
    }

    /// Sets the alarm for the next check. An earlier alarm for a removed lease stays. Otherwise the watchdog would run
    /// for each of many short hold times, to set the alarm again.
    pub(crate) fn set_alarm(&mut self, now: LeaseInstant) -> Option<LeaseInstant> {
        self.sort_new_leases();
        let first = self.due.first().map(|(due, _)| *due);
        let set = self.alarm.filter(|alarm| *alarm > now);
        self.alarm = set.into_iter().chain(first).min();
        self.alarm
    }

    pub(crate) fn leases(&self) -> Vec<Arc<Lease>> {
        let new = self.unsorted.values().map(|(lease, _)| lease);
        let known = self.leases.values().map(|watched| &watched.lease);
        new.chain(known).map(Arc::clone).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::backend::{Attempt, Backend, InProcess};
    use crate::options::AcquireOptions;
    use crate::runtime::Runtime;
    use crate::{FencingToken, Key};

    fn lease() -> Arc<Lease> {
        let key = Key::new("", "k").unwrap();
        let claim = Attempt::new(key, Duration::from_secs(30), true)
            .claim(FencingToken::try_from(1).unwrap());
        let (granted, options) = (claim.ttl, AcquireOptions::default());
        let runtime = Runtime::current().unwrap();
        Arc::new(Lease::new(
            &(Arc::new(InProcess::new()) as Arc<dyn Backend>),
            claim,
            granted,
            LeaseInstant::now(),
            &options,
            runtime,
        ))
    }

    #[tokio::test(start_paused = true)]
    async fn successive_short_leases_do_not_wake_the_watchdog_each_time() {
        let mut queue = RenewalQueue::default();
        let due_in = |seconds| LeaseInstant::now().after(Duration::from_secs(seconds));
        let first = lease();
        assert!(queue.add(&first, due_in(10)));
        queue.remove(first.claim.owner);
        // The watchdog runs after the first lock was released.
        queue.set_alarm(LeaseInstant::now());
        let second = lease();
        assert!(!queue.add(&second, due_in(11)));
        queue.remove(second.claim.owner);
        queue.set_alarm(LeaseInstant::now());
        assert!(queue.add(&lease(), due_in(9)), "sooner than it will wake");
    }

    #[tokio::test(start_paused = true)]
    async fn an_owner_has_one_queue_entry_even_after_a_put_back() {
        let mut queue = RenewalQueue::default();
        let lease = lease();
        let due = LeaseInstant::now();
        queue.add(&lease, due);
        assert_eq!(queue.take_due(due).len(), 1);
        // The same owner adds another lease, as after a downgrade.
        queue.add(&lease, due);
        queue.put_back(lease.claim.owner, due.after(Duration::from_secs(1)));
        let much_later = due.after(Duration::from_secs(60));
        assert_eq!(queue.take_due(much_later).len(), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn forgetting_a_downgraded_lease_keeps_its_shared_lease() {
        let mut queue = RenewalQueue::default();
        let (old, due) = (lease(), LeaseInstant::now());
        queue.add(&old, due);
        assert_eq!(queue.take_due(due).len(), 1);
        // The downgrade happens while the watchdog is renewing the old lease.
        let shared = old.continued(old.claim.clone(), old.claim.ttl, due);
        let shared = Arc::new(shared);
        queue.add(&shared, due);
        queue.forget(&old);
        assert_eq!(queue.take_due(due).len(), 1);
        queue.forget(&old);
        assert_eq!(queue.leases().len(), 1);
        queue.forget(&shared);
        assert_eq!(queue.leases().len(), 0);
    }

    #[tokio::test(start_paused = true)]
    async fn each_operation_sees_leases_added_since_the_last_one() {
        let soon = LeaseInstant::now().after(Duration::from_secs(1));
        let with_newcomer = || {
            let (mut queue, lease) = (RenewalQueue::default(), lease());
            queue.add(&lease, soon);
            assert_eq!(queue.leases().len(), 1);
            (queue, lease.claim.owner)
        };
        assert_eq!(with_newcomer().0.take_due(soon).len(), 1);
        assert_eq!(with_newcomer().0.set_alarm(soon), Some(soon));
        let (mut queue, owner) = with_newcomer();
        queue.make_all_due(LeaseInstant::now());
        assert_eq!(queue.take_due(LeaseInstant::now()).len(), 1);
        queue.remove(owner);
        assert_eq!(queue.leases().len(), 0);
        let (mut queue, owner) = with_newcomer();
        queue.remove(owner);
        assert_eq!((queue.leases().len(), queue.take_due(soon).len()), (0, 0));
    }

    #[tokio::test(start_paused = true)]
    async fn an_alarm_is_cleared_when_its_time_has_passed() {
        let mut queue = RenewalQueue::default();
        let lease = lease();
        let due = LeaseInstant::now().after(Duration::from_secs(10));
        queue.add(&lease, due);
        queue.remove(lease.claim.owner);
        assert_eq!(queue.set_alarm(LeaseInstant::now()), Some(due));
        assert_eq!(queue.set_alarm(due), None);
    }
}
