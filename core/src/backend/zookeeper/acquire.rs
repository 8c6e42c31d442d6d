//! One attempt: entering the line, and looking where it stands.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use zookeeper_client::Error;

use super::desk::{Entry, Watch, Whereabouts};
use super::failure::{ends_session, failed, failed_within};
use super::leave::{find, leave};
use super::line::{Line, Standing};
use super::name::{container, node};
use super::parts::Parts;
use super::session::{Node, Session};
use super::shares;
use super::watched::Watched;
use crate::FencingToken;
use crate::backend::{Attempt, AttemptAnswer, BackendError, Mode, Refusal};
use crate::clock::Moment;

/// How long a waiter that falls silent keeps its place.
const WAITER_LEASE: Duration = Duration::from_secs(6);

/// How often a waiter says that it still waits.
const REFRESH: Duration = Duration::from_secs(2);

/// After this a waiter looks again whether or not it was woken.
const WATCH_LASTS: Duration = Duration::from_secs(10);

/// How often one attempt looks again at once, when what it saw has changed meanwhile.
const LOOKS: usize = 16;

/// Where an attempt stands, once all that it had to ask was answered.
enum Outcome {
    Granted(FencingToken),
    Busy,
    OtherKind,
}

pub(super) async fn attempt(
    parts: &Parts,
    attempt: &Attempt,
    begun: Moment,
) -> Result<AttemptAnswer, BackendError> {
    // Nothing is waited for until this is at the desk, where who cleans up looks for it.
    let session = parts.link.session_at_once()?;
    let until = Moment::now().after(if attempt.queue {
        WAITER_LEASE
    } else {
        attempt.ttl
    });
    let entry = parts.desk.enter(attempt, session.number, until);
    if entry.facts.lock().mode != attempt.mode {
        return Err(BackendError::not_applied(
            "a request came after the lock that it made was downgraded",
        ));
    }
    if !still_wanted(&entry, until) {
        return Err(over());
    }
    if is_watching(&entry) {
        return Ok(AttemptAnswer::Busy {
            retry_after: REFRESH,
        });
    }
    let outcome = {
        let _turn = entry.turn.lock().await;
        // It may have left while another copy of the request had the turn.
        if !still_wanted(&entry, until) {
            return Err(over());
        }
        settle(parts, &session, &entry).await
    };
    match outcome {
        Ok(Outcome::Granted(token)) => {
            let lease = session.lease_from(begun).min(attempt.ttl);
            // After an outage the session has to prove itself first. Who has waited does not lose the place for it.
            let spent = Moment::now().since(begun) + session.pulse_every();
            if attempt.queue && lease < spent.min(attempt.ttl) {
                entry.facts.lock().watch = None;
                return Ok(AttemptAnswer::Busy {
                    retry_after: session.pulse_every(),
                });
            }
            let mut facts = entry.facts.lock();
            if facts.leaving.is_some() {
                return Err(BackendError::unknown(
                    "the attempt came to its end meanwhile",
                ));
            }
            facts.until = Moment::now().after(attempt.ttl);
            facts.token = Some(token);
            facts.watch = None;
            drop(facts);
            parts.desk.sooner.notify_one();
            Ok(AttemptAnswer::Granted { token, lease })
        }
        Ok(Outcome::Busy) if attempt.queue => Ok(AttemptAnswer::Busy {
            retry_after: REFRESH,
        }),
        Ok(Outcome::Busy) => {
            leave(&parts.link, &parts.desk, &entry).await?;
            Ok(AttemptAnswer::Busy {
                retry_after: REFRESH,
            })
        }
        Ok(Outcome::OtherKind) => {
            leave(&parts.link, &parts.desk, &entry).await?;
            Ok(AttemptAnswer::Refused(Refusal::OtherKind))
        }
        Err(error) => {
            // With the session all went that this may have left.
            if ends_session(&error) || matches!(entry.facts.lock().at, Whereabouts::Nowhere) {
                parts.desk.forget(&entry);
                return Err(failed(&error));
            }
            Err(failed_within(&error))
        }
    }
}

fn over() -> BackendError {
    BackendError::not_applied("the attempt is over")
}

/// Keeps the attempt's place for a while longer, unless it is on its way out.
fn still_wanted(entry: &Entry, until: Moment) -> bool {
    let mut facts = entry.facts.lock();
    if facts.leaving.is_none() {
        facts.until = facts.until.max(until);
    }
    facts.leaving.is_none()
}

/// Whether what it waits for has a watch that has not told of anything.
fn is_watching(entry: &Entry) -> bool {
    let facts = entry.facts.lock();
    let watch = facts.watch.as_ref();
    watch.is_some_and(|w| w.is_silent() && !w.since.after(WATCH_LASTS).has_passed())
}

/// Looks until what it saw is what is there: either it holds, which the leader has confirmed, or what it waits for is
/// watched.
async fn settle(parts: &Parts, session: &Session, entry: &Arc<Entry>) -> Result<Outcome, Error> {
    for _ in 0..LOOKS {
        let Some((own, mut line)) = place(session, entry).await? else {
            // It was deleted by somebody else: back to the end of the line.
            continue;
        };
        let Some(position) = line.position(own.name()) else {
            entry.facts.lock().at = Whereabouts::Nowhere;
            continue;
        };
        if let Some(watched) = shares::writer_to_watch(session, entry, &mut line, position).await? {
            watch(parts, entry, watched);
            return Ok(Outcome::Busy);
        }
        match line.standing(position) {
            Standing::Holds => {
                let mode = entry.facts.lock().mode;
                let token = match mode {
                    Mode::Shared => shares::token(session, entry, &line, position, &own).await?,
                    _ => own.created,
                };
                let token = FencingToken::try_from(token)
                    .map_err(|error| Error::UnexpectedError(error.to_string()))?;
                return Ok(Outcome::Granted(token));
            }
            Standing::OtherKind => return Ok(Outcome::OtherKind),
            Standing::Behind(before) => {
                let path = format!("{}/{}", container(&entry.key), before.name);
                if let Some((_, watched)) = session.watched_data(&path).await? {
                    watch(parts, entry, watched);
                    return Ok(Outcome::Busy);
                }
            }
            Standing::InTheCrowd => {
                let (line, watched) = session.watched_line(&container(&entry.key)).await?;
                let position = line.position(own.name());
                if position.is_some_and(|at| line.standing(at) == Standing::InTheCrowd) {
                    watch(parts, entry, watched);
                    return Ok(Outcome::Busy);
                }
            }
        }
    }
    Ok(Outcome::Busy)
}

/// The attempt's node, made if there is none, and the line as it was at one moment after the leader has said that the
/// node, and so the session, was there.
async fn place(session: &Session, entry: &Entry) -> Result<Option<(Node, Line)>, Error> {
    let container = container(&entry.key);
    let (at, mode) = {
        let facts = entry.facts.lock();
        (facts.at.clone(), facts.mode)
    };
    let found = match at {
        Whereabouts::There(node) => Some(node),
        Whereabouts::Nowhere => None,
        Whereabouts::Unknown => find(session, entry).await?,
    };
    if let Some(own) = found {
        entry.facts.lock().at = Whereabouts::There(own.clone());
        let paths = [own.path.clone()];
        let (missing, line) =
            futures_util::join!(session.first_missing(&paths), session.line(&container));
        if missing?.is_some() {
            entry.facts.lock().at = Whereabouts::Nowhere;
            return Ok(None);
        }
        return Ok(Some((own, line?)));
    }
    entry.facts.lock().at = Whereabouts::Unknown;
    match session.enter(&container, &node(mode, entry.owner)).await {
        Ok((own, line)) => {
            entry.facts.lock().at = Whereabouts::There(own.clone());
            match line {
                Ok(line) => Ok(Some((own, line))),
                Err(error) => Err(error),
            }
        }
        Err(error) => {
            if surely_nothing(&error) {
                entry.facts.lock().at = Whereabouts::Nowhere;
            }
            Err(error)
        }
    }
}

fn surely_nothing(error: &Error) -> bool {
    matches!(
        error,
        Error::NoAuth
            | Error::InvalidAcl
            | Error::NoNode
            | Error::QuotaExceeded
            | Error::Throttled
            | Error::NotReadOnly
    )
}

/// Wakes the attempt when the watch tells of anything, be it that the session is over.
fn watch(parts: &Parts, entry: &Entry, watched: Watched) {
    let wake_up = Arc::clone(&entry.wake_up);
    let has_told = Arc::<AtomicBool>::default();
    let told = Arc::clone(&has_told);
    let task = parts.link.thread().spawn(async move {
        watched.changed().await;
        told.store(true, Ordering::Release);
        wake_up.notify_one();
    });
    entry.facts.lock().watch = Some(Watch {
        task,
        since: Moment::now(),
        has_told,
    });
}
