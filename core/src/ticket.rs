use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use crate::backend::Claim;
use crate::{FencingToken, Key, OwnerId};

/// Marks a ticket, and the version of its form.
const FORM: &str = "leasehold-ticket-1";

/// A lock on its way to another process: [`LockGuard::hand_over`](crate::LockGuard::hand_over) makes it,
/// [`LockManager::take_up`](crate::LockManager::take_up) turns it back into a guard.
///
/// It is written with `to_string` and read with `parse`, and fits into a message or a row. Whoever has it can take
/// the lock up, so treat it as the lock itself. It works once, and no longer than the lease lasts.
///
/// # Examples
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), leasehold::Error> {
/// use leasehold::{HandoverTicket, LockManager};
///
/// let locks = LockManager::in_process();
/// let first = locks.lock("order:42").acquire().await?;
/// let token = first.token();
/// let message = first.hand_over().await?.to_string();
///
/// // In another process:
/// let ticket: HandoverTicket = message.parse()?;
/// let second = locks.take_up(&ticket).acquire().await?;
/// assert!(second.token() > token);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct HandoverTicket {
    key: Key,
    owner: OwnerId,
    token: FencingToken,
    ttl: Duration,
}

impl HandoverTicket {
    pub(crate) fn of(claim: &Claim) -> Self {
        Self {
            key: claim.key.clone(),
            owner: claim.owner,
            token: claim.token,
            ttl: claim.ttl,
        }
    }

    /// What is locked, as the giver named it.
    #[must_use]
    pub fn key(&self) -> &str {
        self.key.name()
    }

    /// The token under which the giver held the lock; who takes it up gets a larger one.
    #[must_use]
    pub fn token(&self) -> FencingToken {
        self.token
    }

    /// The TTL with which the giver held the lock: how long the ticket was good for when it was made.
    #[must_use]
    pub fn ttl(&self) -> Duration {
        self.ttl
    }

    pub(crate) fn full_key(&self) -> &Key {
        &self.key
    }

    pub(crate) fn giver(&self) -> OwnerId {
        self.owner
    }
}

impl fmt::Display for HandoverTicket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (full, name) = (self.key.full(), self.key.name());
        let prefix_bytes = full.len() - name.len();
        let Self { owner, token, .. } = self;
        let ttl = self.ttl.as_millis();
        write!(f, "{FORM} {owner} {token} {ttl} {prefix_bytes} {full}")
    }
}

impl FromStr for HandoverTicket {
    type Err = InvalidTicket;

    fn from_str(text: &str) -> Result<Self, InvalidTicket> {
        let read = || {
            let mut fields = text.splitn(6, ' ');
            let mut next = || fields.next();
            next().filter(|form| *form == FORM)?;
            let owner = OwnerId::read(next()?)?;
            let token = next()?.parse().ok()?;
            let ttl = Duration::from_millis(next()?.parse().ok()?);
            let prefix_bytes: usize = next()?.parse().ok()?;
            let (prefix, name) = next()?.split_at_checked(prefix_bytes)?;
            let key = Key::new(prefix, name).ok()?;
            Some(Self {
                key,
                owner,
                token,
                ttl,
            })
        };
        read().ok_or(InvalidTicket(()))
    }
}

impl fmt::Debug for HandoverTicket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Who knows the owner's id can take the lock up.
        f.debug_struct("HandoverTicket")
            .field("key", &self.key)
            .field("token", &self.token)
            .field("ttl", &self.ttl)
            .finish_non_exhaustive()
    }
}

/// Text that is no handover ticket.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("this is no handover ticket; give what `HandoverTicket::to_string` wrote, unchanged")]
pub struct InvalidTicket(());

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::Attempt;

    fn ticket(prefix: &str, name: &str) -> HandoverTicket {
        let key = Key::new(prefix, name).unwrap();
        let attempt = Attempt::new(key, Duration::from_millis(1234), false);
        HandoverTicket::of(&attempt.claim(FencingToken::try_from(7).unwrap()))
    }

    #[test]
    fn a_ticket_survives_being_written_and_read() {
        for (prefix, name) in [("lock:", "order:42"), ("", "k"), ("a b ", "größe  {x} ")] {
            let ticket = ticket(prefix, name);
            let read: HandoverTicket = ticket.to_string().parse().unwrap();
            assert_eq!(read, ticket);
            assert_eq!((read.key(), read.token().get()), (name, 7));
            assert_eq!(read.ttl(), Duration::from_millis(1234));
        }
    }

    #[test]
    fn what_was_damaged_is_refused() {
        let text = ticket("lock:", "order:42").to_string();
        for end in 0..text.len() - "order:42".len() {
            assert!(text[..end].parse::<HandoverTicket>().is_err(), "{end}");
        }
        let other = text.replace("ticket-1", "ticket-2");
        assert!(other.parse::<HandoverTicket>().is_err());
        let misplaced = text.replace(" 5 lock:", " 99 lock:");
        assert!(misplaced.parse::<HandoverTicket>().is_err());
    }

    #[test]
    fn the_owner_is_not_shown() {
        let ticket = ticket("lock:", "k");
        assert!(!format!("{ticket:?}").contains(&ticket.owner.to_string()));
    }
}
