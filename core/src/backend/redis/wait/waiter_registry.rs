//! The waiters of this process, found by attempt when a notification arrives.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};
use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use redis::aio::{AsyncPushSender, SendError};
use redis::{PushInfo, PushKind, from_redis_value};
use tokio::sync::watch;

use super::local_waiter::{LocalGrant, LocalWaiter, WaiterFutureGuard};
use crate::backend::redis::timing::WAITER_LEASE;
use crate::owner_id::OwnerMap;
use crate::{Key, OwnerId};

/// How many waiters there are at least before somebody looks who of them is gone.
const MANY: usize = 64;

/// The channel on which this client is told that it is a waiter's turn: one for all its locks.
#[derive(Debug, Clone)]
pub(crate) struct WaiterRegistry {
    channel: Arc<str>,
    /// It is only what the channels of a Cluster are named after.
    sharded: bool,
    registered: Arc<Mutex<RegisteredWaiters>>,
    interruptions: watch::Sender<u64>,
}

/// A waiter to whom a release may pass the lock on, and the TTL that it wishes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NextWaiter {
    pub(crate) owner: OwnerId,
    pub(crate) ttl: Duration,
    /// How often the connection had been interrupted by then.
    interruptions: u64,
}

#[derive(Debug, Default)]
struct RegisteredWaiters {
    waiters: OwnerMap<Arc<LocalWaiter>>,
    lines: HashMap<Key, VecDeque<OwnerId>>,
    /// How many waiters make it worth while to look who is gone.
    many: usize,
}

impl WaiterRegistry {
    pub(crate) fn new() -> Self {
        Self {
            channel: format!("leasehold:inbox:{}", OwnerId::random().reveal()).into(),
            sharded: false,
            registered: Arc::default(),
            interruptions: watch::Sender::default(),
        }
    }

    /// One that is told on a channel for each slot.
    #[cfg(feature = "cluster")]
    pub(crate) fn sharded() -> Self {
        Self {
            sharded: true,
            ..Self::new()
        }
    }

    pub(crate) fn is_sharded(&self) -> bool {
        self.sharded
    }

    pub(crate) fn channel(&self) -> Arc<str> {
        Arc::clone(&self.channel)
    }

    /// Gives `owner` a seat from before its request is sent: a wake-up may come before the answer.
    ///
    /// With a TTL it is one that the lock can be passed on to.
    pub(crate) fn enter<'a>(
        &'a self,
        key: &'a Key,
        owner: OwnerId,
        ttl: Option<Duration>,
    ) -> Registration<'a> {
        let mut registered = self.registered.lock();
        registered.remove_abandoned_first(key);
        let waiter = match registered.waiters.get(&owner) {
            Some(waiter) => Arc::clone(waiter),
            None => registered.add(key, owner, ttl),
        };
        Registration {
            waiters: self,
            key,
            owner,
            presence: WaiterFutureGuard::of(waiter),
            kept: false,
        }
    }

    /// How often the connection has been interrupted.
    pub(crate) fn interruptions(&self) -> u64 {
        *self.interruptions.borrow()
    }

    pub(crate) fn leave(&self, key: &Key, owner: OwnerId) {
        self.registered.lock().leave(key, owner);
    }

    /// The waiter of this process that has waited longest for `key`, of those that a lock can be passed on to.
    pub(crate) fn successor(&self, key: &Key) -> Option<NextWaiter> {
        let registered = self.registered.lock();
        let mut line = registered.lines.get(key)?.iter();
        line.find_map(|&owner| {
            let ttl = registered.waiters.get(&owner)?.can_be_granted()?;
            Some(NextWaiter {
                owner,
                ttl,
                interruptions: self.interruptions(),
            })
        })
    }

    /// Gives a waiter what was passed on to it, and has whoever waits behind it in this process look, should it not be
    /// heard of. One that has gone cleans up: false then. If the connection was interrupted since, another server may be in
    /// charge, and the waiter asks.
    pub(crate) fn pass(&self, key: &Key, to: NextWaiter, passed: LocalGrant) -> bool {
        let registered = self.registered.lock();
        let Some(waiter) = registered.waiters.get(&to.owner) else {
            return false;
        };
        if self.interruptions() != to.interruptions {
            waiter.tell();
            return true;
        }
        waiter.pass(passed);
        let line = registered.lines.get(key).into_iter().flatten();
        let next = line.skip_while(|it| **it != to.owner).nth(1);
        if let Some(next) = next.and_then(|next| registered.waiters.get(next)) {
            next.promote();
        }
        true
    }

    /// Has a waiter look.
    pub(crate) fn wake_one(&self, owner: OwnerId) {
        if let Some(waiter) = self.wake_ups(owner) {
            waiter.tell();
        }
    }

    /// Has all look that had a place in line for `key`.
    pub(crate) fn requeue_all(&self, key: &Key) {
        let registered = self.registered.lock();
        let line = registered.lines.get(key).into_iter().flatten();
        for waiter in line.filter_map(|owner| registered.waiters.get(owner)) {
            waiter.mark_unqueued();
        }
    }

    pub(crate) fn wake_ups(&self, owner: OwnerId) -> Option<Arc<LocalWaiter>> {
        self.registered.lock().waiters.get(&owner).cloned()
    }

    /// Whether nobody of this process has waited longer for `key`, and has not been passed the lock.
    pub(crate) fn is_first(&self, key: &Key, owner: OwnerId) -> bool {
        let registered = self.registered.lock();
        let line = registered.lines.get(key).into_iter().flatten();
        let has_it = |it: &OwnerId| registered.waiters.get(it).is_some_and(|it| it.has_grant());
        line.copied().find(|it| !has_it(it)) == Some(owner)
    }

    /// Whether somebody else of this process has waited longer for `key`, be it one that was just passed the lock.
    pub(crate) fn is_behind_another(&self, key: &Key, owner: OwnerId) -> bool {
        let registered = self.registered.lock();
        let longest = registered.lines.get(key).and_then(VecDeque::front);
        longest.is_some_and(|it| *it != owner)
    }

    /// There was no connection, or there is none: what was sent meanwhile is lost, and the server may have
    /// forgotten what it knew. All who wait look again, and so do all who hold.
    pub(crate) fn interruption(&self) {
        let registered = self.registered.lock();
        self.interruptions.send_modify(|count| *count += 1);
        for waiter in registered.waiters.values() {
            // What another server passed on, before a failover, is asked about.
            waiter.take_grant();
            waiter.tell();
        }
    }

    pub(crate) async fn interrupted(&self, seen: u64) -> u64 {
        let mut interruptions = self.interruptions.subscribe();
        let more = interruptions.wait_for(|count| *count > seen).await;
        let count = more.map(|count| *count);
        // It fails only without a sender, and this is one.
        match count {
            Ok(count) => count,
            Err(_no_sender) => pending().await,
        }
    }
}

impl RegisteredWaiters {
    fn add(&mut self, key: &Key, owner: OwnerId, ttl: Option<Duration>) -> Arc<LocalWaiter> {
        // Not each time: there may be many.
        if self.waiters.len() >= self.many {
            self.forget_abandoned();
            self.many = MANY.max(self.waiters.len() * 2);
        }
        let waiter = Arc::new(LocalWaiter::new(ttl));
        self.waiters.insert(owner, Arc::clone(&waiter));
        self.lines.entry(key.clone()).or_default().push_back(owner);
        waiter
    }

    fn leave(&mut self, key: &Key, owner: OwnerId) {
        let Self { waiters, lines, .. } = self;
        if waiters.remove(&owner).is_some()
            && let Entry::Occupied(mut entry) = lines.entry(key.clone())
        {
            let line = entry.get_mut();
            let was_first = line.front() == Some(&owner);
            line.retain(|waiter| *waiter != owner);
            match line.front().and_then(|first| waiters.get(first)) {
                Some(first) if was_first => first.promote(),
                Some(_) => {}
                None => drop(entry.remove()),
            }
        }
    }

    fn is_abandoned(&self, owner: OwnerId) -> bool {
        let waiter = self.waiters.get(&owner);
        waiter.is_some_and(|it| it.is_abandoned(WAITER_LEASE))
    }

    /// Has one leave whose runtime ended, and its cleanup with it, when its place on the server is over: those behind it
    /// look seldom while they are not first.
    fn remove_abandoned_first(&mut self, key: &Key) {
        while let Some(first) = self.lines.get(key).and_then(VecDeque::front).copied()
            && self.is_abandoned(first)
        {
            self.leave(key, first);
        }
    }

    fn forget_abandoned(&mut self) {
        let all = self.lines.iter();
        let all = all.flat_map(|(key, line)| line.iter().map(move |owner| (key, *owner)));
        let gone = all.filter(|(_, owner)| self.is_abandoned(*owner));
        let gone: Vec<_> = gone.map(|(key, owner)| (key.clone(), owner)).collect();
        for (key, owner) in gone {
            self.leave(&key, owner);
        }
    }
}

impl AsyncPushSender for WaiterRegistry {
    fn send(&self, push: PushInfo) -> Result<(), SendError> {
        if push.kind == PushKind::Disconnection {
            self.interruption();
        }
        // A message has a channel and a payload; here the payload is the waiter's id.
        if matches!(push.kind, PushKind::Message | PushKind::SMessage)
            && let Some(payload) = push.data.into_iter().nth(1)
            && let Ok(owner) = from_redis_value::<String>(payload)
            && let Some(owner) = OwnerId::read(&owner)
            && let Some(waiter) = self.registered.lock().waiters.get(&owner)
        {
            waiter.tell();
        }
        Ok(())
    }
}

/// A waiter's place at the inbox, given up unless it is kept.
#[derive(Debug)]
pub(crate) struct Registration<'a> {
    waiters: &'a WaiterRegistry,
    key: &'a Key,
    owner: OwnerId,
    presence: WaiterFutureGuard,
    kept: bool,
}

impl Registration<'_> {
    /// The server has given the waiter a place in line.
    pub(crate) fn keep(mut self) {
        self.presence.waiter().mark_queued();
        self.kept = true;
    }

    pub(crate) fn waiter(&self) -> &LocalWaiter {
        self.presence.waiter()
    }
}

impl Drop for Registration<'_> {
    fn drop(&mut self) {
        if !self.kept {
            self.waiters.leave(self.key, self.owner);
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;
    use redis::Value;

    use super::*;

    #[tokio::test]
    async fn the_first_of_a_process_is_known_and_the_next_is_told_when_it_leaves() {
        let (waiters, key) = (WaiterRegistry::new(), Key::new("", "k").unwrap());
        let owners = [(); 3].map(|()| OwnerId::random());
        drop(waiters.enter(&key, OwnerId::random(), None));
        for owner in owners {
            waiters.enter(&key, owner, None).keep();
        }
        let first = || owners.map(|owner| waiters.is_first(&key, owner));
        let promoted = |owner| {
            let wake_ups = waiters.wake_ups(owner).unwrap();
            wake_ups.promoted(Duration::ZERO).now_or_never().is_some()
        };
        assert_eq!(first(), [true, false, false]);
        waiters.leave(&key, owners[2]);
        assert!(!promoted(owners[0]) && !promoted(owners[1]));
        waiters.leave(&key, owners[0]);
        assert_eq!(first(), [false, true, false]);
        assert!(promoted(owners[1]));
        waiters.leave(&key, owners[1]);
        let registered = waiters.registered.lock();
        assert!(registered.waiters.is_empty() && registered.lines.is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn who_ended_with_its_runtime_is_forgotten_when_its_place_is_over() {
        let (waiters, key) = (WaiterRegistry::new(), Key::new("", "k").unwrap());
        let [gone, waits, comes] = [(); 3].map(|()| OwnerId::random());
        let registered = || {
            let registered = waiters.registered.lock();
            let line: Vec<_> = registered.lines[&key].iter().copied().collect();
            assert_eq!(registered.waiters.len(), line.len());
            line
        };
        waiters.enter(&key, gone, None).keep();
        waiters.enter(&key, waits, None).keep();
        let _waits = WaiterFutureGuard::of(waiters.wake_ups(waits).unwrap());
        let come = || waiters.enter(&key, comes, None);
        come().keep();
        // It is between two looks.
        tokio::time::advance(WAITER_LEASE / 2).await;
        drop(WaiterFutureGuard::of(waiters.wake_ups(gone).unwrap()));
        for _ in 0..2 {
            come().keep();
            assert_eq!(registered(), [gone, waits, comes]);
            tokio::time::advance(WAITER_LEASE * 2 / 3).await;
        }
        come().keep();
        assert_eq!(registered(), [waits, comes]);
        assert!(waiters.is_first(&key, waits));
        let promoted = waiters.wake_ups(waits).unwrap();
        assert!(promoted.promoted(Duration::ZERO).now_or_never().is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn seats_of_those_who_ended_are_not_kept_for_ever() {
        let waiters = WaiterRegistry::new();
        for number in 0..1_000 {
            let key = Key::new("", &format!("k{number}")).unwrap();
            waiters.enter(&key, OwnerId::random(), None).keep();
            tokio::time::advance(WAITER_LEASE / 10).await;
        }
        let registered = waiters.registered.lock();
        let kept = (registered.waiters.len(), registered.lines.len());
        assert!(kept.0 <= MANY * 2 && kept.1 <= MANY * 2, "{kept:?}");
    }

    #[tokio::test]
    async fn a_message_wakes_whom_it_names_and_only_a_broken_connection_interrupts() {
        let (waiters, key) = (WaiterRegistry::new(), Key::new("", "k").unwrap());
        let (named, other) = (OwnerId::random(), OwnerId::random());
        waiters.enter(&key, named, None).keep();
        waiters.enter(&key, other, None).keep();
        let push = |kind| {
            let data = ["channel".to_owned(), named.reveal()].map(String::into_bytes);
            let data = data.map(Value::BulkString).to_vec();
            waiters.send(PushInfo { kind, data }).unwrap();
            let woken = |owner| {
                let wake_ups = waiters.wake_ups(owner).unwrap();
                assert!(wake_ups.told() <= 1);
                let told = wake_ups.told() == 1;
                wake_ups.forget();
                assert!(wake_ups.next().now_or_never().is_none());
                told
            };
            (
                woken(named),
                woken(other),
                waiters.interrupted(0).now_or_never(),
            )
        };
        assert_eq!(push(PushKind::Subscribe), (false, false, None));
        assert_eq!(push(PushKind::Message), (true, false, None));
        assert_eq!(push(PushKind::SMessage), (true, false, None));
        assert_eq!(push(PushKind::Disconnection), (true, true, Some(1)));
    }

    #[tokio::test]
    async fn what_is_passed_on_is_its_waiters_unless_the_connection_was_interrupted() {
        let (waiters, key) = (WaiterRegistry::new(), Key::new("", "k").unwrap());
        let owners = [(); 2].map(|()| OwnerId::random());
        let ttl = Some(Duration::from_secs(30));
        let _there = owners.map(|owner| {
            waiters.enter(&key, owner, ttl).keep();
            WaiterFutureGuard::of(waiters.wake_ups(owner).unwrap())
        });
        let passed = LocalGrant {
            token: crate::FencingToken::try_from(7).unwrap(),
            sent: crate::clock::LeaseInstant::now(),
        };
        let to = waiters.successor(&key).unwrap();
        assert_eq!(to.owner, owners[0]);
        assert!(waiters.pass(&key, to, passed));
        assert!(!waiters.is_first(&key, owners[0]) && waiters.is_first(&key, owners[1]));
        let behind_another = || owners.map(|owner| waiters.is_behind_another(&key, owner));
        assert_eq!(behind_another(), [false, true]);
        let next = waiters.successor(&key).unwrap();
        assert_eq!(next.owner, owners[1], "who has it is passed nothing more");
        waiters.interruption();
        let has_grant = |owner| waiters.wake_ups(owner).unwrap().has_grant();
        assert!(!has_grant(owners[0]), "it asks");
        assert!(waiters.pass(&key, next, passed));
        assert!(!has_grant(owners[1]), "it asks as well");
        waiters.leave(&key, owners[1]);
        assert!(!waiters.pass(&key, next, passed), "it has gone");
    }
}
