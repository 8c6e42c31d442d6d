//! Records responses in a database.

use std::sync::atomic::Ordering;

use leasehold_sqlx::{Error, FencedDatabase, IdempotencyRecord, SqlIdempotencyStore};

use super::recorded_response::Recorded;
use super::store::{Boxed, Call, NotRecorded, Store, Work};
use crate::limited_acquire::Source;
use crate::problem::outcome_unknown;
use crate::release_guard::give_back;
use crate::{Problem, ProblemKind, events};

impl<DB: FencedDatabase> Store for SqlIdempotencyStore<DB> {
    fn run<'a>(
        &'a self,
        source: &'a Source,
        call: &'a Call,
        work: Work<'a>,
    ) -> Boxed<'a, Result<Recorded, NotRecorded>> {
        Box::pin(async move {
            // Without a lock, so that concurrent repeats of a recorded request do not exclude each other.
            if let Some(recorded) = find(self, &call.key).await? {
                return Ok(recorded);
            }
            let lock = source.locks().lock(&call.key);
            let guard = source
                .acquire(lock, &call.options.lock)
                .await
                .map_err(Problem::from)?;
            let accepted = match find(self, &call.key).await {
                Ok(None) => {
                    let lock = guard.handle();
                    let token = lock.token().get();
                    let output = lock.run(async |lock| work(lock).await).await;
                    accept(self, call, token, output).await
                }
                Ok(Some(recorded)) => Ok(recorded),
                Err(refused) => Err(refused),
            };
            give_back(guard).await;
            accepted
        })
    }
}

/// Records the output, unless a response of the key is already recorded. Returns the recorded response.
async fn accept<DB: FencedDatabase>(
    store: &SqlIdempotencyStore<DB>,
    call: &Call,
    token: i64,
    output: Result<Recorded, NotRecorded>,
) -> Result<Recorded, NotRecorded> {
    // The handler may have committed a response, even if it then failed or was dropped.
    let attempted = call.attempted.load(Ordering::Acquire);
    if attempted && let Some(recorded) = find(store, &call.key).await? {
        return Ok(recorded);
    }
    let recorded = output?;
    if attempted && !recorded.is_error() {
        return Err(not_committed().into());
    }
    let record = record(call, token, &recorded)?;
    match store.insert(&record, call.options.keep).await {
        Ok(()) => Ok(recorded),
        Err(Error::AlreadyRecorded { .. }) => match find(store, &call.key).await? {
            Some(recorded) => Ok(recorded),
            None => Err(outcome_unknown("another response was recorded, and has expired").into()),
        },
        Err(error) => Err(failed(error)),
    }
}

/// Returns the problem for a handler that returns a response as recorded, although nothing is committed.
pub(super) fn not_committed() -> Problem {
    let detail = "the handler recorded a response, but its transaction is not committed: commit the transaction before you return the response";
    Problem::new(ProblemKind::NotRecorded).with_detail(detail)
}

/// Encodes a response.
pub(super) fn record(
    call: &Call,
    token: i64,
    recorded: &Recorded,
) -> Result<IdempotencyRecord, Problem> {
    let response = serde_json::to_vec(recorded)
        .map_err(|_| outcome_unknown("the response was not encoded"))?;
    Ok(IdempotencyRecord {
        key: call.key.clone(),
        token,
        response,
    })
}

async fn find<DB: FencedDatabase>(
    store: &SqlIdempotencyStore<DB>,
    key: &str,
) -> Result<Option<Recorded>, NotRecorded> {
    let Some(found) = store.find(key).await.map_err(failed)? else {
        return Ok(None);
    };
    let unreadable = |error| failed(sqlx::Error::Decode(Box::new(error)).into());
    serde_json::from_slice(&found.response)
        .map(Some)
        .map_err(unreadable)
}

fn failed(error: Error) -> NotRecorded {
    let problem = match error {
        Error::Name { .. } => error.into(),
        error => {
            events::store_failed(&error);
            match error {
                Error::Sqlx(error) if is_permanent(&error) => {
                    let detail = "the store cannot be used: create its table, and remove records of other programs; the event `leasehold_tower.store_failed` has the cause";
                    Problem::new(ProblemKind::Misconfigured).with_detail(detail)
                }
                _ => Problem::new(ProblemKind::Unavailable),
            }
        }
    };
    NotRecorded::Refused(problem)
}

/// Returns whether the error remains until the code or the database is changed.
fn is_permanent(error: &sqlx::Error) -> bool {
    match error {
        sqlx::Error::Decode(_) | sqlx::Error::ColumnDecode { .. } => true,
        // The class 42 of SQLSTATE includes missing tables, columns and permissions. SQLite has the code 1 for them.
        sqlx::Error::Database(error) => error
            .code()
            .is_some_and(|code| code.starts_with("42") || code == "1"),
        _ => false,
    }
}
