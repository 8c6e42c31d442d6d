//! The waiters of this process: a queue for each key, their notifications, and the futures that wait.

use std::mem;
use std::sync::Arc;

use parking_lot::Mutex;
use redis::aio::{AsyncPushSender, SendError};
use redis::{PushInfo, PushKind, from_redis_value};
use tokio::sync::watch;

use super::WakeUps;
use super::local_queue::{Arrival, Effects, Event, LocalGrant, LocalQueue, Step, Wake};
use super::waiter_queues::RegisteredWaiters;
use crate::protocol::unanswered_requests::UnansweredRequests;
use leasehold_core::backend::support::runtime;
use leasehold_core::backend::support::wait_for_interruption;
use leasehold_core::{AttemptId, Key};

/// The waiters of this client, and the channel on which the server notifies them. All locks use one channel.
#[derive(Debug, Clone)]
pub(crate) struct WaiterRegistry {
    channel: Arc<str>,
    /// True in a Cluster, where `channel` is only a prefix of the channels' names.
    sharded: bool,
    registered: Arc<Mutex<RegisteredWaiters>>,
    interruptions: watch::Sender<u64>,
}

impl WaiterRegistry {
    pub(crate) fn new() -> Self {
        Self {
            channel: format!("leasehold:inbox:{}", AttemptId::random().reveal()).into(),
            sharded: false,
            registered: Arc::default(),
            interruptions: watch::Sender::default(),
        }
    }

    /// Creates a registry with a channel for each slot.
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

    pub(crate) fn enter<'a>(
        &'a self,
        key: &'a Key,
        owner: AttemptId,
        arrival: Option<Arrival>,
    ) -> Registration<'a> {
        self.arrive(None, key, owner, arrival.unwrap_or_default())
    }

    /// Registers `owner` before the client sends its request, because a notification may arrive before the reply. If a
    /// release contains a request for this waiter and has no reply, this records the request in `unanswered`.
    pub(crate) fn arrive<'a>(
        &'a self,
        unanswered: Option<Arc<UnansweredRequests>>,
        key: &'a Key,
        owner: AttemptId,
        arrival: Arrival,
    ) -> Registration<'a> {
        let events = [Event::Arrives(owner, arrival), Event::AttemptDropped(owner)];
        self.register(unanswered, key, owner, events)
    }

    /// Registers a future of a waiter that waits until it is woken.
    pub(crate) fn waiting<'a>(&'a self, key: &'a Key, owner: AttemptId) -> Registration<'a> {
        let events = [Event::WaitBegins(owner), Event::WaitEnds(owner)];
        self.register(None, key, owner, events)
    }

    fn register<'a>(
        &'a self,
        unanswered: Option<Arc<UnansweredRequests>>,
        key: &'a Key,
        owner: AttemptId,
        [begins, ends]: [Event; 2],
    ) -> Registration<'a> {
        let (step, wake_ups) = self.update(|registered| {
            let step = registered.apply(key, begins).step;
            let waiter = match begins {
                Event::Arrives(..) => Some(registered.waiters.entry(owner).or_default()),
                _ => registered.waiters.get_mut(&owner),
            };
            let wake_ups = waiter.map(|waiter| {
                if unanswered.is_some() {
                    waiter.unanswered = unanswered;
                }
                Arc::clone(&waiter.wake_ups)
            });
            (step, wake_ups)
        });
        Registration {
            waiters: self,
            key,
            owner,
            wake_ups: wake_ups.unwrap_or_default(),
            step,
            ends,
        }
    }

    /// Records that the server granted the lock to an attempt without a wait.
    pub(crate) fn acquired(&self, key: &Key, owner: AttemptId) {
        self.apply(key, Event::Acquired(owner));
    }

    pub(crate) fn wake_ups(&self, owner: AttemptId) -> Option<Arc<WakeUps>> {
        let registered = self.registered.lock();
        let waiter = registered.waiters.get(&owner);
        waiter.map(|it| Arc::clone(&it.wake_ups))
    }

    /// Makes a waiter poll.
    pub(crate) fn wake_one(&self, owner: AttemptId) {
        if let Some(wake_ups) = self.wake_ups(owner) {
            wake_ups.wake(Wake::Now);
        }
    }

    /// Removes the owner from the queue of `key`.
    pub(crate) fn remove(&self, key: &Key, owner: AttemptId) {
        self.apply(key, Event::AttemptDropped(owner));
    }

    /// Returns whether `owner` is the first waiter of this process for `key`. Ignores a waiter to which a release has
    /// handed the lock.
    pub(crate) fn is_first(&self, key: &Key, owner: AttemptId) -> bool {
        let registered = self.registered.lock();
        registered.queues.get(key).and_then(LocalQueue::first) == Some(owner)
    }

    /// Returns whether another waiter of this process has waited longer for `key`. A waiter to which a release has just
    /// handed the lock counts, too.
    pub(crate) fn is_behind_another(&self, key: &Key, owner: AttemptId) -> bool {
        let registered = self.registered.lock();
        let longest = registered
            .queues
            .get(key)
            .and_then(LocalQueue::longest_waiter);
        longest.is_some_and(|it| it != owner)
    }

    /// Returns the number of interruptions of the connection.
    pub(crate) fn interruptions(&self) -> u64 {
        *self.interruptions.borrow()
    }

    /// Records an interruption. Messages during the interruption are lost, and the server may have lost its data. So
    /// all waiters poll, and the manager renews all locks.
    pub(crate) fn interruption(&self) {
        self.update(|registered| {
            self.interruptions.send_modify(|count| *count += 1);
            registered.apply_to_all(Event::Interrupted);
        });
    }

    pub(crate) async fn interrupted(&self, seen: u64) -> u64 {
        wait_for_interruption::more_than(seen, &self.interruptions).await
    }

    pub(super) fn apply(&self, key: &Key, event: Event) -> Effects {
        self.update(|registered| registered.apply(key, event))
    }

    fn update<T>(&self, change: impl FnOnce(&mut RegisteredWaiters) -> T) -> T {
        let mut registered = self.registered.lock();
        let outcome = change(&mut registered);
        let woken = mem::take(&mut registered.woken);
        drop(registered);
        for (wake_ups, wake) in woken {
            wake_ups.wake(wake);
        }
        outcome
    }
}

impl AsyncPushSender for WaiterRegistry {
    fn send(&self, push: PushInfo) -> Result<(), SendError> {
        if push.kind == PushKind::Disconnection {
            self.interruption();
        }
        // A message has a channel and a payload, and the payload is the waiter's id.
        if matches!(push.kind, PushKind::Message | PushKind::SMessage)
            && let Some(payload) = push.data.into_iter().nth(1)
            && let Ok(owner) = from_redis_value::<String>(payload)
            && let Some(owner) = AttemptId::read_written(&owner)
        {
            self.wake_one(owner);
        }
        Ok(())
    }
}

/// One future of a waiter: an attempt, or a wait for a notification.
#[derive(Debug)]
pub(crate) struct Registration<'a> {
    waiters: &'a WaiterRegistry,
    key: &'a Key,
    owner: AttemptId,
    pub(crate) wake_ups: Arc<WakeUps>,
    step: Step,
    /// The event to apply on drop.
    ends: Event,
}

impl Registration<'_> {
    /// Waits while the waiter is parked, and returns the grant if a release of this process has handed the lock to the
    /// waiter.
    pub(crate) async fn granted(&mut self) -> Option<LocalGrant> {
        while let Step::Wait(until) = self.step {
            let _woken = runtime::timeout(until.remaining(), self.wake_ups.next())?.await;
            self.step = self.apply(Event::Looks(self.owner)).step;
            if !matches!(self.step, Step::Wait(_)) {
                self.wake_ups.forget();
            }
        }
        match self.step {
            Step::Take(grant) => Some(grant),
            Step::Ask | Step::Wait(_) => None,
        }
    }

    /// Records that the server has queued the waiter.
    pub(crate) fn keep(mut self) {
        self.ends = Event::Queued(self.owner);
    }

    /// Records that the server granted the lock to the attempt.
    pub(crate) fn acquired(mut self) {
        self.ends = Event::Acquired(self.owner);
    }

    fn apply(&self, event: Event) -> Effects {
        self.waiters.apply(self.key, event)
    }
}

impl Drop for Registration<'_> {
    fn drop(&mut self) {
        self.apply(self.ends);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use futures_util::FutureExt;
    use redis::Value;
    use tokio::time::advance;

    use super::*;
    use crate::time_limits::WAITER_LEASE;
    use crate::wait::local_queue::PARKED_FOR;
    use crate::wait::waiter_queues::MANY;
    use leasehold_core::backend::support::clock::LeaseInstant;

    const PARKED: Arrival = Arrival {
        can_be_named: false,
        may_park: true,
    };

    #[tokio::test]
    async fn the_next_waiter_is_notified_when_the_first_waiter_leaves() {
        let (waiters, key) = (WaiterRegistry::new(), Key::new("", "k").unwrap());
        let owners = [(); 3].map(|()| AttemptId::random());
        drop(waiters.enter(&key, AttemptId::random(), None));
        for owner in owners {
            waiters.enter(&key, owner, None).keep();
        }
        let first = || owners.map(|owner| waiters.is_first(&key, owner));
        let behind = || owners.map(|owner| waiters.is_behind_another(&key, owner));
        let promoted = |owner| {
            let wake_ups = waiters.wake_ups(owner).unwrap();
            wake_ups.promoted(Duration::ZERO).now_or_never().is_some()
        };
        assert_eq!(first(), [true, false, false]);
        assert_eq!(behind(), [false, true, true]);
        waiters.remove(&key, owners[2]);
        assert!(!promoted(owners[0]) && !promoted(owners[1]));
        waiters.remove(&key, owners[0]);
        assert_eq!(first(), [false, true, false]);
        assert!(promoted(owners[1]));
        waiters.remove(&key, owners[1]);
        assert_eq!(waiters.registered.lock().len(), 0);
    }

    #[tokio::test(start_paused = true)]
    async fn a_parked_waiter_polls_after_the_parking_time() {
        let (waiters, key) = (WaiterRegistry::new(), Key::new("", "k").unwrap());
        let [holder, waiter] = [(); 2].map(|()| AttemptId::random());
        waiters.acquired(&key, holder);
        let begun = LeaseInstant::now();
        let mut parked = waiters.arrive(None, &key, waiter, PARKED);
        assert!(parked.granted().await.is_none());
        let waited = LeaseInstant::now().since(begun);
        assert!(
            waited >= PARKED_FOR && waited < PARKED_FOR * 2,
            "{waited:?}"
        );
        let woken = waiters.wake_ups(waiter).unwrap().next().now_or_never();
        assert!(woken.is_none(), "it polls on its own");
    }

    #[tokio::test(start_paused = true)]
    async fn waiters_of_ended_runtimes_are_removed_eventually() {
        let waiters = WaiterRegistry::new();
        for number in 0..1_000 {
            let key = Key::new("", &format!("k{number}")).unwrap();
            waiters.enter(&key, AttemptId::random(), None).keep();
            advance(WAITER_LEASE / 10).await;
        }
        assert!(waiters.registered.lock().len() <= MANY * 2);
    }

    #[tokio::test(start_paused = true)]
    async fn queues_without_waiters_are_removed_eventually() {
        let waiters = WaiterRegistry::new();
        for number in 0..1_000 {
            let key = Key::new("", &format!("k{number}")).unwrap();
            waiters.acquired(&key, AttemptId::random());
            advance(PARKED_FOR / 10).await;
        }
        assert!(waiters.registered.lock().len() <= MANY * 2);
    }

    #[tokio::test(start_paused = true)]
    async fn a_waiter_that_returns_after_its_waiter_lease_is_registered_again() {
        let (waiters, key, owner) = (
            WaiterRegistry::new(),
            Key::new("", "k").unwrap(),
            AttemptId::random(),
        );
        waiters.enter(&key, owner, None).keep();
        advance(WAITER_LEASE * 2).await;
        waiters.enter(&key, owner, None).keep();
        assert!(waiters.wake_ups(owner).is_some() && waiters.is_first(&key, owner));
    }

    #[tokio::test]
    async fn a_message_wakes_its_waiter_and_only_a_disconnect_interrupts_all() {
        let (waiters, key) = (WaiterRegistry::new(), Key::new("", "k").unwrap());
        let [named, other] = [(); 2].map(|()| AttemptId::random());
        waiters.enter(&key, named, None).keep();
        waiters.enter(&key, other, None).keep();
        let push = |kind| {
            let data = ["channel".to_owned(), named.reveal()].map(String::into_bytes);
            let data = data.map(Value::BulkString).to_vec();
            waiters.send(PushInfo { kind, data }).unwrap();
            let woken = |owner| {
                let wake_ups = waiters.wake_ups(owner).unwrap();
                assert!(wake_ups.notifications() <= 1);
                let was_notified = wake_ups.notifications() == 1;
                wake_ups.forget();
                assert!(wake_ups.next().now_or_never().is_none());
                was_notified
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
}
