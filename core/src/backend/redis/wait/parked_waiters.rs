//! Where those wait who do not stand in line yet, for somebody of this process has just got the lock and may soon give it
//! up.
//!
//! As long as nobody of another process waits, a lock goes from task to task with one call each: the release of one is
//! the attempt of the next as well.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};
use std::mem;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::oneshot;

use super::local_waiter::LocalGrant;
use crate::backend::redis::protocol::unanswered_requests::UnansweredRequests;
use crate::backend::redis::timing::FIRST_LOOKS;
use crate::clock::LeaseInstant;
use crate::owner_id::OwnerMap;
use crate::{Key, OwnerId, runtime};

/// How long one waits here at most before it stands in line, unless a release asks for it: by so much somebody may come
/// first who came later. Who has had the lock for longer will not soon give it up.
const MOST: Duration = Duration::from_millis(10);

/// How many doors there are at most at which nobody waits.
const MANY: usize = 8192;

/// How long it is known that an attempt has waited here, unless it cleans up.
const KNOWN: Duration = Duration::from_secs(60);

#[derive(Debug, Default)]
pub(crate) struct ParkedWaiters(Mutex<Waitlists>);

#[derive(Debug, Default)]
struct Waitlists {
    waitlists: HashMap<Key, Waitlist>,
    /// Who went before it was let in. It may come again, and then stands in line at once.
    gone: OwnerMap<LeaseInstant>,
}

#[derive(Debug)]
struct Waitlist {
    /// Who has the lock, or is being passed it.
    inside: OwnerId,
    since: LeaseInstant,
    waiting: VecDeque<ParkedWaiter>,
}

/// One who waits here.
#[derive(Debug)]
pub(crate) struct ParkedWaiter {
    pub(crate) owner: OwnerId,
    pub(crate) ttl: Duration,
    came: LeaseInstant,
    /// When what is asked on its behalf is refused, on the server's clock; empty as long as nothing is.
    expiry: Arc<OnceLock<u64>>,
    /// Dropped, it has the caller ask by itself.
    answer: oneshot::Sender<LocalGrant>,
}

impl ParkedWaiter {
    pub(crate) fn pass(self, passed: LocalGrant) {
        // Who has gone cleans up.
        let _gone = self.answer.send(passed);
    }

    /// It asks by itself: the first to do so of those who wait here, if this is before the door is closed.
    pub(crate) fn asks(self) {
        drop(self.answer);
    }
}

impl ParkedWaiters {
    /// Waits to be passed the lock; none if it is better to ask.
    pub(crate) async fn wait(
        &self,
        copies: &UnansweredRequests,
        key: &Key,
        owner: OwnerId,
        ttl: Duration,
    ) -> Option<LocalGrant> {
        let (mut told, expiry) = self.enter(key, owner, ttl)?;
        let mut place = ParkGuard {
            parked: self,
            copies,
            key,
            owner,
            expiry,
            is_over: false,
        };
        let passed = match runtime::timeout(MOST, &mut told)?.await {
            Ok(told) => told.ok(),
            Err(_late) if self.leave(key, owner) => None,
            // Who asks on its behalf may be a task that is not polled.
            Err(_late) => runtime::timeout(FIRST_LOOKS, told)?.await.ok()?.ok(),
        };
        place.is_over = true;
        passed
    }

    /// Where the answer comes, and the expiry of what is asked for it; none if it is better to ask at once.
    fn enter(
        &self,
        key: &Key,
        owner: OwnerId,
        ttl: Duration,
    ) -> Option<(oneshot::Receiver<LocalGrant>, Arc<OnceLock<u64>>)> {
        let Waitlists { waitlists, gone } = &mut *self.0.lock();
        let waitlist = waitlists.get_mut(key)?;
        let is_soon = waitlist.inside != owner && !waitlist.since.after(MOST).has_passed();
        if !is_soon || gone.contains_key(&owner) {
            return None;
        }
        let (answer, told) = oneshot::channel();
        let expiry = Arc::default();
        waitlist.waiting.push_back(ParkedWaiter {
            owner,
            ttl,
            came: LeaseInstant::now(),
            expiry: Arc::clone(&expiry),
            answer,
        });
        Some((told, expiry))
    }

    /// False if it does not wait any more.
    fn leave(&self, key: &Key, owner: OwnerId) -> bool {
        let mut state = self.0.lock();
        let place = state.waitlists.get_mut(key).and_then(|waitlist| {
            let place = waitlist.waiting.iter().position(|it| it.owner == owner);
            waitlist.waiting.remove(place?)
        });
        drop(state);
        place.is_some()
    }

    /// This one has the lock.
    pub(crate) fn set_holder(&self, key: &Key, owner: OwnerId) {
        let Waitlists { waitlists, .. } = &mut *self.0.lock();
        if let Some(waitlist) = waitlists.get_mut(key) {
            return waitlist.set_holder(owner);
        }
        // A lock may be handed over to another process, and is given up there.
        if waitlists.len() >= MANY {
            waitlists.retain(|_, waitlist| !waitlist.waiting.is_empty());
        }
        let waitlist = Waitlist {
            inside: owner,
            since: LeaseInstant::now(),
            waiting: VecDeque::new(),
        };
        waitlists.insert(key.clone(), waitlist);
    }

    /// The lock is passed on to one that stands in line.
    pub(crate) fn transfer(&self, key: &Key, owner: OwnerId, next: OwnerId) {
        let Waitlists { waitlists, .. } = &mut *self.0.lock();
        if let Some(waitlist) = waitlists
            .get_mut(key)
            .filter(|waitlist| waitlist.inside == owner)
        {
            waitlist.set_holder(next);
        }
    }

    /// The next to be passed the lock by this one, which gives it up. What is asked on behalf of it is refused from
    /// `expiry` on; none, and nobody can be asked for.
    pub(crate) fn next(
        &self,
        key: &Key,
        owner: OwnerId,
        expiry: Option<u64>,
    ) -> Option<ParkedWaiter> {
        let mut state = self.0.lock();
        let Entry::Occupied(mut entry) = state.waitlists.entry(key.clone()) else {
            return None;
        };
        let waitlist = Some(entry.get_mut()).filter(|waitlist| waitlist.inside == owner)?;
        let mut late = Vec::new();
        let next = expiry.and_then(|expiry| {
            while let Some(caller) = waitlist.waiting.pop_front() {
                // One that is not polled would keep the lock from the others.
                if caller.answer.is_closed() || caller.came.after(MOST).has_passed() {
                    late.push(caller);
                    continue;
                }
                waitlist.set_holder(caller.owner);
                caller.expiry.get_or_init(|| expiry);
                return Some(caller);
            }
            None
        });
        let closed = match next {
            Some(_) => None,
            None => Some(entry.remove()),
        };
        drop(state);
        // They are woken when nothing is locked.
        drop((late, closed));
        next
    }

    /// Has all ask, for the lock was not passed on to this one.
    pub(crate) fn wake_all(&self, key: &Key, owner: OwnerId) {
        let mut state = self.0.lock();
        let waitlist = state.waitlists.get(key);
        let is_its = waitlist.is_some_and(|waitlist| waitlist.inside == owner);
        let closed = is_its.then(|| state.waitlists.remove(key));
        drop(state);
        drop(closed);
    }

    /// An attempt is over.
    pub(crate) fn forget(&self, owner: OwnerId) {
        self.0.lock().gone.remove(&owner);
    }
}

impl Waitlist {
    fn set_holder(&mut self, owner: OwnerId) {
        if mem::replace(&mut self.inside, owner) != owner {
            self.since = LeaseInstant::now();
        }
    }
}

/// The place of a caller, who may go.
struct ParkGuard<'a> {
    parked: &'a ParkedWaiters,
    copies: &'a UnansweredRequests,
    key: &'a Key,
    owner: OwnerId,
    expiry: Arc<OnceLock<u64>>,
    is_over: bool,
}

impl Drop for ParkGuard<'_> {
    fn drop(&mut self) {
        if self.is_over {
            return;
        }
        if !self.parked.leave(self.key, self.owner)
            && let Some(expiry) = self.expiry.get()
        {
            // What is asked on its behalf must not take the lock after it has cleaned up.
            drop(self.copies.sending(self.owner, *expiry));
        }
        let Waitlists { gone, .. } = &mut *self.parked.0.lock();
        // Not each time: many may go at once.
        if gone.len() == gone.capacity() {
            gone.retain(|_, since| !since.after(KNOWN).has_passed());
        }
        gone.insert(self.owner, LeaseInstant::now());
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;

    use futures_util::{FutureExt, poll};
    use tokio::time::advance;

    use super::*;

    const TTL: Duration = Duration::from_secs(30);

    fn key() -> Key {
        Key::new("", "k").unwrap()
    }

    fn owners<const N: usize>() -> [OwnerId; N] {
        [(); N].map(|()| OwnerId::random())
    }

    #[tokio::test(start_paused = true)]
    async fn nobody_waits_long() {
        let (parked, copies, key) = (ParkedWaiters::default(), UnansweredRequests::new(), key());
        let [inside, caller] = owners();
        let waits = || parked.wait(&copies, &key, caller, TTL);
        assert!(waits().now_or_never().is_some(), "nobody is inside");
        parked.set_holder(&key, inside);
        let begun = LeaseInstant::now();
        assert!(waits().await.is_none());
        let waited = LeaseInstant::now().since(begun);
        assert!(waited >= MOST && waited < MOST * 2, "{waited:?}");
        advance(MOST).await;
        assert!(waits().now_or_never().is_some(), "it will not be soon");
    }

    #[tokio::test(start_paused = true)]
    async fn who_is_asked_for_waits_for_the_answer_and_not_for_ever() {
        let (parked, copies, key) = (ParkedWaiters::default(), UnansweredRequests::new(), key());
        let [inside, caller] = owners();
        parked.set_holder(&key, inside);
        let mut waits = pin!(parked.wait(&copies, &key, caller, TTL));
        assert!(poll!(&mut waits).is_pending());
        let called = parked.next(&key, inside, Some(7)).unwrap();
        assert_eq!(called.owner, caller);
        advance(MOST * 2).await;
        assert!(poll!(&mut waits).is_pending());
        assert_eq!(copies.latest_expiry(caller), 0);
        advance(FIRST_LOOKS * 2).await;
        assert!(waits.await.is_none());
        assert_eq!(copies.latest_expiry(caller), 7, "the request may come yet");
    }

    #[tokio::test(start_paused = true)]
    async fn who_goes_stands_in_line_when_it_comes_again_until_it_is_over() {
        let (parked, copies, key) = (ParkedWaiters::default(), UnansweredRequests::new(), key());
        let [inside, caller] = owners();
        parked.set_holder(&key, inside);
        let waits = || parked.wait(&copies, &key, caller, TTL);
        assert!(waits().now_or_never().is_none());
        assert!(waits().now_or_never().is_some());
        assert_eq!(copies.latest_expiry(caller), 0, "nothing was asked for it");
        parked.forget(caller);
        assert!(waits().now_or_never().is_none());
        assert!(parked.next(&key, inside, Some(7)).is_none());
        assert!(parked.0.lock().waitlists.is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn who_is_late_or_has_gone_is_not_asked_for() {
        let (parked, copies, key) = (ParkedWaiters::default(), UnansweredRequests::new(), key());
        let [inside, late, next] = owners();
        parked.set_holder(&key, inside);
        let mut is_late = pin!(parked.wait(&copies, &key, late, TTL));
        assert!(poll!(&mut is_late).is_pending());
        advance(MOST / 2).await;
        let mut waits = pin!(parked.wait(&copies, &key, next, TTL));
        assert!(poll!(&mut waits).is_pending());
        advance(MOST / 2 + Duration::from_millis(1)).await;
        let called = parked.next(&key, inside, Some(7)).unwrap();
        assert_eq!(called.owner, next);
        assert!(is_late.await.is_none());
        parked.wake_all(&key, next);
        drop(called);
        assert!(waits.await.is_none());
        assert!(parked.0.lock().waitlists.is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn only_who_has_the_lock_passes_it_on() {
        let (parked, copies, key) = (ParkedWaiters::default(), UnansweredRequests::new(), key());
        let [inside, caller, other] = owners();
        parked.set_holder(&key, inside);
        let mut waits = pin!(parked.wait(&copies, &key, caller, TTL));
        assert!(poll!(&mut waits).is_pending());
        assert!(parked.next(&key, other, Some(7)).is_none());
        parked.transfer(&key, other, caller);
        parked.wake_all(&key, caller);
        parked.wake_all(&key, other);
        assert!(poll!(&mut waits).is_pending());
        parked.transfer(&key, inside, other);
        assert!(parked.next(&key, inside, Some(7)).is_none());
        assert_eq!(parked.next(&key, other, Some(7)).unwrap().owner, caller);
    }

    #[test]
    fn doors_at_which_nobody_waits_do_not_stay_for_ever() {
        let parked = ParkedWaiters::default();
        for number in 0..MANY * 2 {
            let key = Key::new("", &number.to_string()).unwrap();
            parked.set_holder(&key, OwnerId::random());
            assert!(parked.0.lock().waitlists.len() <= MANY);
        }
    }
}
