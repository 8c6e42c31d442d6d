//! The statements on the table `leasehold_idempotency_records`, which differ only in their placeholders and in the
//! clock.

/// The statements of a database. Each one uses its values in the order of the placeholders.
pub(super) struct Statements {
    pub(super) find: &'static str,
    pub(super) insert: &'static str,
    pub(super) delete_expired: &'static str,
    pub(super) delete_expired_key: &'static str,
}

/// `now` is the time in seconds since 1970, as a signed integer. `find` is what makes the search a write, so that a balancer
/// does not send it to a replica that is behind: a clause before it and one after it.
macro_rules! statements {
    (
        now: $now:literal, find: $before:literal, $after:literal,
        values: $one:literal, $two:literal, $three:literal, $four:literal
    ) => {
        Statements {
            find: concat!(
                $before,
                "SELECT token, response, expires_at - ",
                $now,
                " FROM leasehold_idempotency_records WHERE idempotency_key = ",
                $one,
                $after
            ),
            insert: concat!(
                "INSERT INTO leasehold_idempotency_records (idempotency_key, token, response, expires_at) VALUES (",
                $one, ", ", $two, ", ", $three, ", ", $now, " + ", $four, ")"
            ),
            delete_expired: concat!(
                "DELETE FROM leasehold_idempotency_records WHERE expires_at <= ",
                $now
            ),
            delete_expired_key: concat!(
                "DELETE FROM leasehold_idempotency_records WHERE expires_at <= ",
                $now,
                " AND idempotency_key = ",
                $one
            ),
        }
    };
}

/// Implements the functions of [`Driver`](super::Driver) for records. `$bound` converts a key into the bound value.
macro_rules! records_of_sqlx {
    ($bound:expr) => {
        fn find_record<'c>(
            connection: &'c mut Self::Connection,
            key: &'c str,
        ) -> Answer<'c, Option<(crate::idempotency_record::IdempotencyRecord, i64)>> {
            Box::pin(async move {
                let find = sqlx::query(RECORDS.find).bind($bound(key));
                let Some(row) = find.fetch_optional(connection).await? else {
                    return Ok(None);
                };
                let record = crate::idempotency_record::IdempotencyRecord {
                    key: key.to_owned(),
                    token: row.try_get(0)?,
                    response: row.try_get(1)?,
                };
                Ok(Some((record, row.try_get(2)?)))
            })
        }

        fn insert_record<'c>(
            connection: &'c mut Self::Connection,
            record: &'c crate::idempotency_record::IdempotencyRecord,
            seconds: i64,
        ) -> Answer<'c, ()> {
            Box::pin(async move {
                let insert = sqlx::query(RECORDS.insert).bind($bound(record.key.as_str()));
                let insert = insert.bind(record.token).bind(record.response.as_slice());
                let insert = insert.bind(seconds);
                insert.execute(connection).await?;
                Ok(())
            })
        }

        fn delete_expired_records<'c>(
            connection: &'c mut Self::Connection,
            key: Option<&'c str>,
        ) -> Answer<'c, u64> {
            Box::pin(async move {
                let delete = match key {
                    Some(key) => sqlx::query(RECORDS.delete_expired_key).bind($bound(key)),
                    None => sqlx::query(RECORDS.delete_expired),
                };
                Ok(delete.execute(connection).await?.rows_affected())
            })
        }
    };
}

pub(super) use {records_of_sqlx, statements};
