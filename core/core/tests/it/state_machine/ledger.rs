//! Records the answers that the callers of one key got, and checks that later answers agree with them.

use leasehold::FencingToken;
use leasehold_testkit::history::{Mode, Specification};

use crate::state_machine::model::{HAND_OFF, PLACE};
use crate::state_machine::step::{Id, Ms, Seen};

#[derive(Debug, Clone, Copy)]
struct Lease {
    who: Id,
    token: FencingToken,
    until: Ms,
}

#[derive(Debug)]
struct Place {
    who: Id,
    until: Ms,
}

#[derive(Debug, Default)]
pub(crate) struct Ledger {
    leases: Vec<Lease>,
    lock: Specification<Id>,
    /// The waiters, in the order of arrival.
    line: Vec<Place>,
    /// The attempt that was seen as the owner without a token.
    handed: Option<Id>,
}

impl Ledger {
    pub(crate) fn granted(&mut self, who: Id, token: FencingToken, lease: Ms, now: Ms) {
        self.forget(now);
        match self.leases.iter().find(|l| l.who == who) {
            Some(mine) => assert_eq!(token, mine.token, "P2: {who} asked again while it held"),
            None => {
                let breaches = self.lock.grant(who, Mode::Exclusive, Some(token.get()));
                assert_eq!(breaches, [], "P1, P2: {token} granted to {who}: {self:?}");
                let first = self.line.first().map_or(who, |place| place.who);
                assert_eq!(who, first, "P3: overtook those in {:?}", self.line);
            }
        }
        self.line.retain(|place| place.who != who);
        self.leases = vec![Lease {
            who,
            token,
            until: now + lease,
        }];
    }

    pub(crate) fn busy(&mut self, who: Id, queue: bool, retry_after: Ms, now: Ms) {
        assert_ne!(
            self.owner(now),
            Some(who),
            "P3: refused, and it is its turn"
        );
        assert!(retry_after < PLACE, "P3: its place would be gone by then");
        if !queue {
            return;
        }
        let until = now + PLACE;
        match self.line.iter_mut().find(|place| place.who == who) {
            Some(place) => place.until = until,
            None => self.line.push(Place { who, until }),
        }
    }

    pub(crate) fn extended(&mut self, who: Id, token: FencingToken, lease: Ms, now: Ms) {
        self.forget(now);
        let mine = self.leases.iter_mut().find(|l| l.who == who);
        let Some(mine) = mine.filter(|l| l.token == token) else {
            panic!("P1: {who} has no lease under {token} that could be extended");
        };
        mine.until = now + lease;
    }

    pub(crate) fn gone(&mut self, who: Id, token: FencingToken, now: Ms) {
        self.forget(now);
        let lasts = |l: &Lease| l.who == who && l.token == token;
        assert!(!self.leases.iter().any(lasts), "P4: the lease is not gone");
    }

    pub(crate) fn already_gone(&mut self, who: Id, now: Ms) {
        assert_ne!(self.owner(now), Some(who), "P4: the lock is not gone");
    }

    pub(crate) fn released(&mut self, who: Id, now: Ms) {
        assert_eq!(self.owner(now), Some(who), "P1: released by another");
        self.leases.clear();
        self.handed = None;
    }

    pub(crate) fn forced(&mut self, was_held: bool, now: Ms) {
        let is_held = self.owner(now).is_some();
        assert_eq!(was_held, is_held, "P4: whether it was held: {self:?}");
        self.leases.clear();
        self.handed = None;
    }

    pub(crate) fn cleaned_up(&mut self, who: Id) {
        self.leases.retain(|l| l.who != who);
        self.line.retain(|place| place.who != who);
        self.handed.take_if(|handed| *handed == who);
    }

    /// Checks an inspection, and returns the attempt that was granted the lock since the last one.
    pub(crate) fn seen(&mut self, seen: Seen<FencingToken>, now: Ms) -> Option<Id> {
        self.forget(now);
        let handed = match (self.leases.first(), seen.owner) {
            (Some(lease), owner) => {
                assert_eq!(owner, Some(lease.who), "P4: the owner");
                assert_eq!(seen.token, Some(lease.token), "P4: the token");
                assert_eq!(seen.expires_in, Some(lease.until - now), "P4: the lease");
                None
            }
            (None, Some(owner)) => {
                assert_eq!(seen.token, None, "P4: a token that nobody was given");
                let first = self.line.first().map(|place| place.who);
                assert_eq!(Some(owner), first, "P3: handed over the heads of others");
                Some(owner)
            }
            (None, None) => {
                assert!(self.line.is_empty(), "P4: free, and there wait {self:?}");
                None
            }
        };
        let waiting = self.line.len() - usize::from(handed.is_some());
        assert_eq!(seen.waiting, waiting, "P4: how many wait: {self:?}");
        let before = std::mem::replace(&mut self.handed, handed);
        let newly = handed.filter(|_| handed != before);
        if newly.is_some() {
            self.line[0].until = now + HAND_OFF;
        }
        newly
    }

    /// Returns the waiters, including one with an unconfirmed hand-off.
    pub(crate) fn line(&mut self, now: Ms) -> Vec<Id> {
        self.forget(now);
        self.line.iter().map(|place| place.who).collect()
    }

    pub(crate) fn is_handed_to(&self, who: Id) -> bool {
        self.handed == Some(who)
    }

    /// Returns the holder, or else the attempt that must have got the lock by a hand-off.
    fn owner(&mut self, now: Ms) -> Option<Id> {
        self.forget(now);
        let holder = self.leases.first().map(|l| l.who);
        holder.or(self.line.first().map(|place| place.who))
    }

    /// Removes expired leases and positions.
    fn forget(&mut self, now: Ms) {
        self.leases.retain(|l| l.until > now);
        let leases = &self.leases;
        self.lock.retain(|who| leases.iter().any(|l| l.who == *who));
        self.line.retain(|place| place.until > now);
    }
}
