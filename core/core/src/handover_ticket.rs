//! The ticket with which another process accepts a held lock.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use super::backend::{Claim, Handover, HandoverSecret};
use super::{AttemptId, FencingToken, InvalidTicket, Key};

/// Identifies a ticket and the version of its format.
const FORM: &str = "leasehold-ticket-2";

/// Tickets of earlier versions had no secret, so a client that knew a holder's id could forge a ticket.
const OUTDATED: &str = "leasehold-ticket-1 ";

/// A ticket for a lock that is handed to another process. [`LockGuard::hand_over`](crate::LockGuard::hand_over) creates
/// the ticket, and [`LockManager::accept`](crate::LockManager::accept) exchanges it for a guard.
///
/// `to_string` writes a ticket as text, which fits into a message or a row, and `parse` reads that text. Anyone who has
/// the ticket can accept the lock, so protect it like the lock itself. The ticket contains a secret that is registered
/// with the backend. The lock cannot be accepted without that secret. A ticket works once, and only until the lease
/// expires.
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
/// let second = locks.accept(&ticket).await?;
/// assert!(second.token() > token);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct HandoverTicket {
    key: Key,
    handover: Handover,
    ttl: Duration,
}

impl HandoverTicket {
    pub(crate) fn of(claim: &Claim, handover: Handover) -> Self {
        Self {
            key: claim.key.clone(),
            handover,
            ttl: claim.ttl,
        }
    }

    /// Returns the key, as the previous holder named it.
    #[must_use]
    pub fn key(&self) -> &str {
        self.key.name()
    }

    /// Returns the previous holder's token; the holder that accepts the ticket gets a larger token.
    #[must_use]
    pub fn token(&self) -> FencingToken {
        self.handover.token
    }

    /// Returns the previous holder's TTL: how long the ticket was valid when it was created.
    #[must_use]
    pub fn ttl(&self) -> Duration {
        self.ttl
    }

    pub(crate) fn full_key(&self) -> &Key {
        &self.key
    }

    pub(crate) fn handover(&self) -> &Handover {
        &self.handover
    }
}

impl fmt::Display for HandoverTicket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (full, name) = (self.key.full(), self.key.name());
        let prefix_bytes = full.len() - name.len();
        let Handover {
            giver,
            token,
            secret,
            ..
        } = &self.handover;
        let (giver, secret) = (giver.reveal(), secret.reveal());
        let ttl = self.ttl.as_millis();
        write!(
            f,
            "{FORM} {giver} {token} {secret} {ttl} {prefix_bytes} {full}"
        )
    }
}

impl FromStr for HandoverTicket {
    type Err = InvalidTicket;

    fn from_str(text: &str) -> Result<Self, InvalidTicket> {
        let read = || {
            let mut fields = text.splitn(7, ' ');
            let mut next = || fields.next();
            next().filter(|form| *form == FORM)?;
            let handover = Handover {
                giver: AttemptId::read(next()?)?,
                token: next()?.parse().ok()?,
                secret: HandoverSecret::read(next()?)?,
            };
            let ttl = Duration::from_millis(next()?.parse().ok()?);
            let prefix_bytes: usize = next()?.parse().ok()?;
            let (prefix, name) = next()?.split_at_checked(prefix_bytes)?;
            let key = Key::new(prefix, name).ok()?;
            Some(Self { key, handover, ttl })
        };
        read().ok_or_else(|| InvalidTicket {
            is_outdated: text.starts_with(OUTDATED),
        })
    }
}

impl fmt::Debug for HandoverTicket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // `Debug` is not derived, because a derived `Debug` would show all fields, and anyone who knows them can accept
        // the lock.
        f.debug_struct("HandoverTicket")
            .field("key", &self.key)
            .field("token", &self.handover.token)
            .field("ttl", &self.ttl)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::Attempt;

    fn ticket(prefix: &str, name: &str) -> HandoverTicket {
        let key = Key::new(prefix, name).unwrap();
        let attempt = Attempt::new(key, Duration::from_millis(1234), false);
        let claim = attempt.claim(FencingToken::try_from(7).unwrap());
        HandoverTicket::of(&claim, Handover::new(&claim, HandoverSecret::random()))
    }

    #[test]
    fn a_ticket_round_trips_through_its_text() {
        for (prefix, name) in [("lock:", "order:42"), ("", "k"), ("a b ", "größe  {x} ")] {
            let ticket = ticket(prefix, name);
            let read: HandoverTicket = ticket.to_string().parse().unwrap();
            assert_eq!(read, ticket);
            assert_eq!((read.key(), read.token().get()), (name, 7));
            assert_eq!(read.ttl(), Duration::from_millis(1234));
        }
    }

    #[test]
    fn a_damaged_ticket_is_refused() {
        let text = ticket("lock:", "order:42").to_string();
        for end in 0..text.len() - "order:42".len() {
            assert!(text[..end].parse::<HandoverTicket>().is_err(), "{end}");
        }
        let other = text.replace("ticket-2", "ticket-3");
        assert!(other.parse::<HandoverTicket>().is_err());
        let misplaced = text.replace(" 5 lock:", " 99 lock:");
        assert!(misplaced.parse::<HandoverTicket>().is_err());
    }

    #[test]
    fn a_ticket_of_the_first_version_is_refused_as_outdated() {
        let owner = AttemptId::random().reveal();
        let first = format!("leasehold-ticket-1 {owner} 7 1234 5 lock:k");
        let refused = first.parse::<HandoverTicket>().unwrap_err();
        assert!(refused.is_outdated() && refused.to_string().contains("same version"));
        assert!(!"k".parse::<HandoverTicket>().unwrap_err().is_outdated());
    }

    #[test]
    fn the_debug_output_of_a_ticket_hides_owner_and_secret() {
        let ticket = ticket("lock:", "k");
        let Handover { giver, secret, .. } = ticket.handover;
        for hidden in [giver.reveal(), secret.reveal()] {
            assert!(ticket.to_string().contains(&hidden));
            let shown = format!("{ticket:?} {:?}", ticket.handover);
            assert!(!shown.contains(&hidden), "{shown}");
        }
    }
}
