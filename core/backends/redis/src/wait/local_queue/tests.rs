//! Tests the effects of each event, state by state.

use super::*;
use crate::time_limits::WAITER_LEASE;
use leasehold_core::FencingToken;

const EXPIRY: u64 = 7;
const MS: Duration = Duration::from_millis(1);

/// A queue with a manual clock.
struct Clocked {
    queue: LocalQueue,
    now: LeaseInstant,
}

impl Clocked {
    fn new() -> Self {
        Self {
            queue: LocalQueue::default(),
            now: LeaseInstant::now(),
        }
    }

    /// Creates a queue in which `holder` has just acquired the lock.
    fn held_by(holder: AttemptId) -> Self {
        let mut clocked = Self::new();
        clocked.apply(Event::Acquired(holder));
        clocked
    }

    fn after(&mut self, duration: Duration) -> &mut Self {
        self.now = self.now.after(duration);
        self
    }

    fn apply(&mut self, event: Event) -> Effects {
        self.queue.apply(self.now, event)
    }

    fn arrives(&mut self, owner: AttemptId) -> Step {
        let (can_be_named, may_park) = (true, true);
        self.apply(Event::Arrives(
            owner,
            Arrival {
                can_be_named,
                may_park,
            },
        ))
        .step
    }

    /// Adds a waiter that is queued on the server and has a future.
    fn queued(&mut self, owner: AttemptId) {
        let (can_be_named, may_park) = (true, false);
        let arrived = self.apply(Event::Arrives(
            owner,
            Arrival {
                can_be_named,
                may_park,
            },
        ));
        assert_eq!(arrived.step, Step::Ask);
        self.apply(Event::Queued(owner));
        self.apply(Event::WaitBegins(owner));
    }

    fn release(&mut self, owner: AttemptId) -> Effects {
        self.apply(Event::ReleaseBegins(owner, Some(EXPIRY)))
    }

    /// Releases, and returns the waiter that was named.
    fn names(&mut self, owner: AttemptId) -> Successor {
        self.release(owner).successor.expect("a waiter is named")
    }

    fn passed(&mut self, to: Successor) -> (LocalGrant, Effects) {
        let grant = LocalGrant {
            token: FencingToken::try_from(9).unwrap(),
            sent: self.now,
            interruptions: 0,
        };
        let end = ReleaseEnd::Passed(grant);
        (grant, self.apply(Event::ReleaseEnds(to, end)))
    }

    fn looks(&mut self, owner: AttemptId) -> Step {
        self.apply(Event::Looks(owner)).step
    }
}

fn owners<const N: usize>() -> [AttemptId; N] {
    [(); N].map(|()| AttemptId::random())
}

fn now(owner: AttemptId) -> (AttemptId, Wake) {
    (owner, Wake::Now)
}

#[test]
fn a_waiter_is_parked_for_at_most_the_parking_time() {
    let [holder, waiter] = owners();
    assert_eq!(Clocked::new().arrives(waiter), Step::Ask, "it is free");
    let mut late = Clocked::held_by(holder);
    late.after(PARKED_FOR);
    assert_eq!(late.arrives(waiter), Step::Ask, "it will not be soon");
    let mut queue = Clocked::held_by(holder);
    queue.after(PARKED_FOR - MS);
    let until = queue.now.after(PARKED_FOR);
    assert_eq!(queue.arrives(waiter), Step::Wait(until));
    assert_eq!(
        queue.after(PARKED_FOR - MS).looks(waiter),
        Step::Wait(until)
    );
    assert_eq!(queue.after(MS).looks(waiter), Step::Ask);
    assert_eq!(queue.queue.first(), Some(waiter), "it is queued now");
}

#[test]
fn a_late_waiter_is_parked_for_as_long_as_the_waiter_before_it() {
    let [holder, first, second, third] = owners();
    let mut queue = Clocked::held_by(holder);
    queue.after(PARKED_FOR - MS);
    let until = queue.now.after(PARKED_FOR);
    assert_eq!(queue.arrives(first), Step::Wait(until));
    assert_eq!(
        queue.after(PARKED_FOR - MS).arrives(second),
        Step::Wait(until)
    );
    assert_eq!(queue.after(MS).arrives(third), Step::Ask, "it is over");
}

#[test]
fn waiters_that_were_parked_queue_in_the_order_of_their_requests() {
    let [holder, first, second, third] = owners();
    let mut queue = Clocked::held_by(holder);
    for waiter in [first, second, third] {
        queue.arrives(waiter);
    }
    let effects = queue.apply(Event::ReleaseBegins(holder, None));
    assert_eq!(effects.wake, [first, second, third].map(now));
    for waiter in [third, first, second] {
        assert_eq!(queue.looks(waiter), Step::Ask);
    }
    for waiter in [third, first, second] {
        assert_eq!(queue.queue.first(), Some(waiter));
        queue.apply(Event::AttemptDropped(waiter));
    }
}

#[test]
fn the_holder_and_a_waiter_that_may_not_park_request_immediately() {
    let [holder, waiter] = owners();
    let mut queue = Clocked::held_by(holder);
    assert_eq!(queue.arrives(holder), Step::Ask);
    let hurried = Arrival {
        can_be_named: true,
        may_park: false,
    };
    assert_eq!(queue.apply(Event::Arrives(waiter, hurried)).step, Step::Ask);
}

#[test]
fn a_parked_waiter_receives_the_lock_with_the_reply_to_the_release() {
    let [holder, waiter, behind] = owners();
    let mut queue = Clocked::held_by(holder);
    queue.arrives(waiter);
    queue.arrives(behind);
    let named = queue.names(holder);
    assert_eq!((named.owner, named.expiry), (waiter, Some(EXPIRY)));
    assert!(matches!(queue.looks(waiter), Step::Wait(_)), "not yet");
    let (grant, effects) = queue.passed(named);
    assert_eq!(effects.wake, [now(waiter)]);
    assert_eq!(queue.looks(waiter), Step::Take(grant));
    assert_eq!(queue.looks(waiter), Step::Ask, "once");
    assert!(matches!(queue.looks(behind), Step::Wait(_)));
    assert_eq!(queue.names(waiter).owner, behind);
}

#[test]
fn a_named_waiter_waits_for_the_release_reply_up_to_a_limit() {
    let [holder, waiter] = owners();
    let mut queue = Clocked::held_by(holder);
    queue.arrives(waiter);
    queue.names(holder);
    assert!(matches!(
        queue.after(PARKED_FOR * 2).looks(waiter),
        Step::Wait(_)
    ));
    let given_up = queue.after(FIRST_LOOKS).apply(Event::Looks(waiter));
    assert_eq!(given_up.step, Step::Ask);
    assert_eq!(given_up.note, Some((waiter, EXPIRY)), "it may come yet");
}

#[test]
fn a_waiter_dropped_while_parked_is_parked_again_only_after_it_left() {
    let [holder, waiter] = owners();
    let mut queue = Clocked::held_by(holder);
    queue.arrives(waiter);
    let dropped = queue.apply(Event::AttemptDropped(waiter));
    assert_eq!(dropped.note, None, "nothing was asked for it");
    assert!(dropped.left.is_empty());
    assert_eq!(queue.arrives(waiter), Step::Ask);
    assert_eq!(queue.apply(Event::AttemptDropped(waiter)).left, [waiter]);
    queue.arrives(waiter);
    queue.apply(Event::AttemptDropped(waiter));
    assert_eq!(queue.release(waiter).left, [waiter], "its cleanup");
    assert!(matches!(queue.arrives(waiter), Step::Wait(_)));
    queue.apply(Event::AttemptDropped(waiter));
    assert!(queue.release(holder).successor.is_none());
}

#[test]
fn dropping_a_named_waiter_notes_the_request_made_for_it() {
    let [holder, waiter, behind] = owners();
    let mut queue = Clocked::held_by(holder);
    queue.arrives(waiter);
    queue.arrives(behind);
    let named = queue.names(holder);
    let dropped = queue.apply(Event::AttemptDropped(waiter));
    assert_eq!(dropped.note, Some((waiter, EXPIRY)));
    let (_, effects) = queue.passed(named);
    assert_eq!(effects.wake, [], "it is its cleanup's");
    assert_eq!(queue.names(waiter).owner, behind);
}

#[test]
fn a_release_does_not_name_a_waiter_whose_parking_time_is_over() {
    let [holder, late, next] = owners();
    let mut queue = Clocked::held_by(holder);
    queue.arrives(late);
    queue.after(PARKED_FOR / 2).arrives(next);
    let effects = queue.after(PARKED_FOR / 2).release(holder);
    assert_eq!(effects.successor.unwrap().owner, next);
    assert_eq!(effects.wake, [], "its timer wakes it");
    assert_eq!(queue.looks(late), Step::Ask);
}

#[test]
fn without_a_hand_off_parked_waiters_request_in_arrival_order() {
    let [holder, first, second, third] = owners();
    for end in [
        ReleaseEnd::NotPassed,
        ReleaseEnd::Unawaited,
        ReleaseEnd::Unheard,
    ] {
        let mut queue = Clocked::held_by(holder);
        for waiter in [first, second, third] {
            queue.arrives(waiter);
        }
        let named = queue.names(holder);
        let effects = queue.apply(Event::ReleaseEnds(named, end));
        assert_eq!(effects.wake, [first, second, third].map(now));
        let may_come = matches!(end, ReleaseEnd::Unheard);
        assert_eq!(effects.note, may_come.then_some((first, EXPIRY)));
        for waiter in [first, second, third] {
            assert_eq!(queue.looks(waiter), Step::Ask, "{end:?}");
            assert_eq!(queue.queue.first(), Some(waiter));
            queue.apply(Event::AttemptDropped(waiter));
        }
        assert!(queue.queue.is_empty());
    }
}

#[test]
fn a_release_that_cannot_contain_a_request_wakes_parked_waiters() {
    let [holder, waiter] = owners();
    let mut queue = Clocked::held_by(holder);
    queue.arrives(waiter);
    let effects = queue.apply(Event::ReleaseBegins(holder, None));
    assert!(effects.successor.is_none());
    assert_eq!(effects.wake, [now(waiter)]);
}

#[test]
fn only_the_release_of_the_holder_names_a_parked_waiter() {
    let [holder, waiter, other] = owners();
    let mut queue = Clocked::held_by(holder);
    queue.arrives(waiter);
    let effects = queue.release(other);
    assert!(effects.successor.is_none());
    assert_eq!(effects.wake, []);
    assert!(matches!(queue.looks(waiter), Step::Wait(_)));
    queue.apply(Event::Acquired(other));
    assert!(queue.release(holder).successor.is_none());
    assert_eq!(queue.names(other).owner, waiter);
}

#[test]
fn a_queued_waiter_is_named_before_parked_ones_and_becomes_the_holder() {
    let [holder, parked, in_line] = owners();
    let mut queue = Clocked::held_by(holder);
    queue.arrives(parked);
    queue.queued(in_line);
    let named = queue.names(holder);
    assert_eq!((named.owner, named.expiry), (in_line, None));
    let (grant, effects) = queue.passed(named);
    assert_eq!(effects.wake, [now(in_line)]);
    assert_eq!(queue.arrives(in_line), Step::Take(grant));
    queue.apply(Event::AttemptDropped(in_line));
    assert_eq!(queue.names(in_line).owner, parked);
}

#[test]
fn a_requesting_waiter_is_named_and_woken_if_the_release_has_no_reply() {
    let [holder, waiter, parked] = owners();
    let mut queue = Clocked::new();
    queue.arrives(waiter);
    queue.apply(Event::Acquired(holder));
    queue.arrives(parked);
    let named = queue.names(holder);
    assert_eq!((named.owner, named.expiry), (waiter, None));
    let effects = queue.apply(Event::ReleaseEnds(named, ReleaseEnd::Unheard));
    assert_eq!(effects.wake, [now(waiter), now(parked)]);
    assert_eq!(effects.note, None, "it asks for itself");
}

#[test]
fn a_release_names_neither_waiters_without_a_future_nor_readers() {
    let [holder, absent, reader, next] = owners();
    let mut queue = Clocked::held_by(holder);
    queue.queued(absent);
    queue.apply(Event::WaitEnds(absent));
    let arrival = Arrival::default();
    queue.apply(Event::Arrives(reader, arrival));
    assert!(queue.release(holder).successor.is_none());
    queue.queued(next);
    assert_eq!(queue.names(holder).owner, next);
    queue.apply(Event::WaitBegins(absent));
    assert_eq!(queue.names(holder).owner, absent, "it is there again");
}

#[test]
fn a_dropped_waiter_gets_no_grant_and_parked_waiters_are_woken() {
    let [holder, gone, parked] = owners();
    let mut queue = Clocked::held_by(holder);
    queue.queued(gone);
    queue.arrives(parked);
    let named = queue.names(holder);
    queue.apply(Event::AttemptDropped(gone));
    let (_, effects) = queue.passed(named);
    assert_eq!(effects.wake, [now(parked)]);
}

#[test]
fn a_waiter_is_notified_when_it_becomes_first_in_the_queue() {
    let [holder, first, second, third] = owners();
    let mut queue = Clocked::held_by(holder);
    for waiter in [first, second, third] {
        queue.queued(waiter);
    }
    let promoted = |owner| vec![(owner, Wake::First)];
    assert_eq!(queue.apply(Event::AttemptDropped(third)).wake, []);
    queue.queued(third);
    let named = queue.names(holder);
    let (_, effects) = queue.passed(named);
    assert_eq!(effects.wake, [now(first), (second, Wake::First)]);
    assert_eq!(queue.queue.first(), Some(second));
    assert_eq!(queue.queue.longest_waiter(), Some(first));
    assert_eq!(
        queue.names(holder).owner,
        second,
        "the holder needs no notification"
    );
    assert_eq!(queue.apply(Event::AttemptDropped(first)).wake, []);
    assert_eq!(
        queue.apply(Event::AttemptDropped(second)).wake,
        promoted(third)
    );
}

#[test]
fn if_the_server_lost_its_queue_all_queued_waiters_are_woken() {
    let [holder, queued, requesting] = owners();
    let mut queue = Clocked::held_by(holder);
    queue.queued(queued);
    queue.apply(Event::Arrives(requesting, Arrival::default()));
    let named = queue.names(holder);
    let lost = Event::ReleaseEnds(named, ReleaseEnd::Unawaited);
    assert_eq!(queue.apply(lost).wake, [now(queued)]);
    assert_eq!(queue.apply(lost).wake, [], "it asks already");
}

#[test]
fn an_interruption_wakes_all_waiters_and_keeps_their_positions() {
    let [holder, queued, parked] = owners();
    let mut queue = Clocked::held_by(holder);
    queue.queued(queued);
    queue.arrives(parked);
    assert_eq!(
        queue.apply(Event::Interrupted).wake,
        [now(queued), now(parked)]
    );
    assert!(matches!(queue.looks(parked), Step::Wait(_)));
    assert_eq!(queue.queue.first(), Some(queued));
}

#[test]
fn a_waiter_without_a_future_is_removed_after_its_waiter_lease() {
    let [holder, gone, waits, comes] = owners();
    let mut queue = Clocked::held_by(holder);
    queue.queued(gone);
    queue.queued(waits);
    // The waiter is between two polls.
    queue.after(WAITER_LEASE / 2).apply(Event::WaitEnds(gone));
    queue.after(WAITER_LEASE - MS).queued(comes);
    assert_eq!(queue.queue.first(), Some(gone));
    let effects = queue
        .after(MS)
        .apply(Event::Arrives(comes, Arrival::default()));
    assert_eq!(effects.left, [gone]);
    assert_eq!(effects.wake, [(waits, Wake::First)]);
}

#[test]
fn an_abandoned_parked_waiter_is_removed_after_the_waiter_lease() {
    let [holder, gone] = owners();
    let mut queue = Clocked::held_by(holder);
    queue.arrives(gone);
    queue.apply(Event::AttemptDropped(gone));
    queue.apply(Event::ForgetAbandoned);
    assert!(!queue.queue.is_empty());
    let left = queue.after(WAITER_LEASE).apply(Event::ForgetAbandoned).left;
    assert_eq!(left, [gone]);
    assert!(queue.queue.is_empty());
}
