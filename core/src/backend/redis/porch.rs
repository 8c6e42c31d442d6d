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

use super::copies::Copies;
use super::times::FIRST_LOOKS;
use super::wake_ups::Passed;
use crate::clock::Moment;
use crate::owner::ById;
use crate::{Key, OwnerId, runtime};

/// How long one waits here at most before it stands in line, unless a release asks for it: by so much somebody may come
/// first who came later. Who has had the lock for longer will not soon give it up.
const MOST: Duration = Duration::from_millis(10);

/// How many doors there are at most at which nobody waits.
const MANY: usize = 8192;

/// How long it is known that an attempt has waited here, unless it cleans up.
const KNOWN: Duration = Duration::from_secs(60);

#[derive(Debug, Default)]
pub(super) struct Porch(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    doors: HashMap<Key, Door>,
    /// Who went before it was let in. It may come again, and then stands in line at once.
    gone: ById<Moment>,
}

#[derive(Debug)]
struct Door {
    /// Who has the lock, or is being passed it.
    inside: OwnerId,
    since: Moment,
    waiting: VecDeque<Caller>,
}

/// One who waits here.
#[derive(Debug)]
pub(super) struct Caller {
    pub(super) owner: OwnerId,
    pub(super) ttl: Duration,
    came: Moment,
    /// When what is asked on its behalf is refused, on the server's clock; empty as long as nothing is.
    expiry: Arc<OnceLock<u64>>,
    /// Dropped, it has the caller ask by itself.
    answer: oneshot::Sender<Passed>,
}

impl Caller {
    pub(super) fn pass(self, passed: Passed) {
        // Who has gone cleans up.
        let _gone = self.answer.send(passed);
    }

    /// It asks by itself: the first to do so of those who wait here, if this is before the door is closed.
    pub(super) fn asks(self) {
        drop(self.answer);
    }
}

impl Porch {
    /// Waits to be passed the lock; none if it is better to ask.
    pub(super) async fn wait(
        &self,
        copies: &Copies,
        key: &Key,
        owner: OwnerId,
        ttl: Duration,
    ) -> Option<Passed> {
        let (mut told, expiry) = self.enter(key, owner, ttl)?;
        let mut place = Place {
            porch: self,
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
    ) -> Option<(oneshot::Receiver<Passed>, Arc<OnceLock<u64>>)> {
        let State { doors, gone } = &mut *self.0.lock();
        let door = doors.get_mut(key)?;
        let is_soon = door.inside != owner && !door.since.after(MOST).has_passed();
        if !is_soon || gone.contains_key(&owner) {
            return None;
        }
        let (answer, told) = oneshot::channel();
        let expiry = Arc::default();
        door.waiting.push_back(Caller {
            owner,
            ttl,
            came: Moment::now(),
            expiry: Arc::clone(&expiry),
            answer,
        });
        Some((told, expiry))
    }

    /// False if it does not wait any more.
    fn leave(&self, key: &Key, owner: OwnerId) -> bool {
        let mut state = self.0.lock();
        let place = state.doors.get_mut(key).and_then(|door| {
            let place = door.waiting.iter().position(|it| it.owner == owner);
            door.waiting.remove(place?)
        });
        drop(state);
        place.is_some()
    }

    /// This one has the lock.
    pub(super) fn lets_in(&self, key: &Key, owner: OwnerId) {
        let State { doors, .. } = &mut *self.0.lock();
        if let Some(door) = doors.get_mut(key) {
            return door.lets_in(owner);
        }
        // A lock may be handed over to another process, and is given up there.
        if doors.len() >= MANY {
            doors.retain(|_, door| !door.waiting.is_empty());
        }
        let door = Door {
            inside: owner,
            since: Moment::now(),
            waiting: VecDeque::new(),
        };
        doors.insert(key.clone(), door);
    }

    /// The lock is passed on to one that stands in line.
    pub(super) fn passes(&self, key: &Key, owner: OwnerId, next: OwnerId) {
        let State { doors, .. } = &mut *self.0.lock();
        if let Some(door) = doors.get_mut(key).filter(|door| door.inside == owner) {
            door.lets_in(next);
        }
    }

    /// The next to be passed the lock by this one, which gives it up. What is asked on behalf of it is refused from
    /// `expiry` on; none, and nobody can be asked for.
    pub(super) fn next(&self, key: &Key, owner: OwnerId, expiry: Option<u64>) -> Option<Caller> {
        let mut state = self.0.lock();
        let Entry::Occupied(mut entry) = state.doors.entry(key.clone()) else {
            return None;
        };
        let door = Some(entry.get_mut()).filter(|door| door.inside == owner)?;
        let mut late = Vec::new();
        let next = expiry.and_then(|expiry| {
            while let Some(caller) = door.waiting.pop_front() {
                // One that is not polled would keep the lock from the others.
                if caller.answer.is_closed() || caller.came.after(MOST).has_passed() {
                    late.push(caller);
                    continue;
                }
                door.lets_in(caller.owner);
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
    pub(super) fn closes(&self, key: &Key, owner: OwnerId) {
        let mut state = self.0.lock();
        let door = state.doors.get(key);
        let is_its = door.is_some_and(|door| door.inside == owner);
        let closed = is_its.then(|| state.doors.remove(key));
        drop(state);
        drop(closed);
    }

    /// An attempt is over.
    pub(super) fn forgets(&self, owner: OwnerId) {
        self.0.lock().gone.remove(&owner);
    }
}

impl Door {
    fn lets_in(&mut self, owner: OwnerId) {
        if mem::replace(&mut self.inside, owner) != owner {
            self.since = Moment::now();
        }
    }
}

/// The place of a caller, who may go.
struct Place<'a> {
    porch: &'a Porch,
    copies: &'a Copies,
    key: &'a Key,
    owner: OwnerId,
    expiry: Arc<OnceLock<u64>>,
    is_over: bool,
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        if self.is_over {
            return;
        }
        if !self.porch.leave(self.key, self.owner)
            && let Some(expiry) = self.expiry.get()
        {
            // What is asked on its behalf must not take the lock after it has cleaned up.
            drop(self.copies.sending(self.owner, *expiry));
        }
        let State { gone, .. } = &mut *self.porch.0.lock();
        // Not each time: many may go at once.
        if gone.len() == gone.capacity() {
            gone.retain(|_, since| !since.after(KNOWN).has_passed());
        }
        gone.insert(self.owner, Moment::now());
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
        let (porch, copies, key) = (Porch::default(), Copies::new(), key());
        let [inside, caller] = owners();
        let waits = || porch.wait(&copies, &key, caller, TTL);
        assert!(waits().now_or_never().is_some(), "nobody is inside");
        porch.lets_in(&key, inside);
        let begun = Moment::now();
        assert!(waits().await.is_none());
        let waited = Moment::now().since(begun);
        assert!(waited >= MOST && waited < MOST * 2, "{waited:?}");
        advance(MOST).await;
        assert!(waits().now_or_never().is_some(), "it will not be soon");
    }

    #[tokio::test(start_paused = true)]
    async fn who_is_asked_for_waits_for_the_answer_and_not_for_ever() {
        let (porch, copies, key) = (Porch::default(), Copies::new(), key());
        let [inside, caller] = owners();
        porch.lets_in(&key, inside);
        let mut waits = pin!(porch.wait(&copies, &key, caller, TTL));
        assert!(poll!(&mut waits).is_pending());
        let called = porch.next(&key, inside, Some(7)).unwrap();
        assert_eq!(called.owner, caller);
        advance(MOST * 2).await;
        assert!(poll!(&mut waits).is_pending());
        assert_eq!(copies.outstanding(caller), 0);
        advance(FIRST_LOOKS * 2).await;
        assert!(waits.await.is_none());
        assert_eq!(copies.outstanding(caller), 7, "the request may come yet");
    }

    #[tokio::test(start_paused = true)]
    async fn who_goes_stands_in_line_when_it_comes_again_until_it_is_over() {
        let (porch, copies, key) = (Porch::default(), Copies::new(), key());
        let [inside, caller] = owners();
        porch.lets_in(&key, inside);
        let waits = || porch.wait(&copies, &key, caller, TTL);
        assert!(waits().now_or_never().is_none());
        assert!(waits().now_or_never().is_some());
        assert_eq!(copies.outstanding(caller), 0, "nothing was asked for it");
        porch.forgets(caller);
        assert!(waits().now_or_never().is_none());
        assert!(porch.next(&key, inside, Some(7)).is_none());
        assert!(porch.0.lock().doors.is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn who_is_late_or_has_gone_is_not_asked_for() {
        let (porch, copies, key) = (Porch::default(), Copies::new(), key());
        let [inside, late, next] = owners();
        porch.lets_in(&key, inside);
        let mut is_late = pin!(porch.wait(&copies, &key, late, TTL));
        assert!(poll!(&mut is_late).is_pending());
        advance(MOST / 2).await;
        let mut waits = pin!(porch.wait(&copies, &key, next, TTL));
        assert!(poll!(&mut waits).is_pending());
        advance(MOST / 2 + Duration::from_millis(1)).await;
        let called = porch.next(&key, inside, Some(7)).unwrap();
        assert_eq!(called.owner, next);
        assert!(is_late.await.is_none());
        porch.closes(&key, next);
        drop(called);
        assert!(waits.await.is_none());
        assert!(porch.0.lock().doors.is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn only_who_has_the_lock_passes_it_on() {
        let (porch, copies, key) = (Porch::default(), Copies::new(), key());
        let [inside, caller, other] = owners();
        porch.lets_in(&key, inside);
        let mut waits = pin!(porch.wait(&copies, &key, caller, TTL));
        assert!(poll!(&mut waits).is_pending());
        assert!(porch.next(&key, other, Some(7)).is_none());
        porch.passes(&key, other, caller);
        porch.closes(&key, caller);
        porch.closes(&key, other);
        assert!(poll!(&mut waits).is_pending());
        porch.passes(&key, inside, other);
        assert!(porch.next(&key, inside, Some(7)).is_none());
        assert_eq!(porch.next(&key, other, Some(7)).unwrap().owner, caller);
    }

    #[test]
    fn doors_at_which_nobody_waits_do_not_stay_for_ever() {
        let porch = Porch::default();
        for number in 0..MANY * 2 {
            let key = Key::new("", &number.to_string()).unwrap();
            porch.lets_in(&key, OwnerId::random());
            assert!(porch.0.lock().doors.len() <= MANY);
        }
    }
}
