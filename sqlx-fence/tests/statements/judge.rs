//! Compares a fenced statement with the same statement without a fence.

/// Defines `judge`, which runs each case three times from the same state, in transactions that are rolled back. It runs
/// the statement without a fence, with a fence on rows with older tokens, and with a fence on rows with newer tokens.
macro_rules! judge {
    ($DB:ty, $Pool:ty, $dump:literal) => {
        use leasehold_sqlx::{Error, Fence};
        use sqlx::{AssertSqlSafe, Row};

        use crate::case::{Case, V};

        type Tx = sqlx::Transaction<'static, $DB>;

        /// Returns all rows as text, without their tokens.
        async fn dump(tx: &mut Tx) -> Vec<String> {
            let rows = sqlx::query($dump).fetch_all(&mut **tx).await.unwrap();
            rows.iter().map(|row| row.get(0)).collect()
        }

        async fn set_tokens(tx: &mut Tx, token: i64) {
            for table in ["items", "others", "odd"] {
                let sql = format!("UPDATE {table} SET fencing_token = {token}");
                sqlx::query(AssertSqlSafe(sql))
                    .execute(&mut **tx)
                    .await
                    .unwrap();
            }
        }

        async fn fenced(tx: &mut Tx, case: &Case) -> Result<u64, Error> {
            let fence = Fence::try_from(7).unwrap();
            let mut query = fence.query::<$DB>(AssertSqlSafe(case.sql.to_string()));
            if let Some(target) = case.target {
                query = query.target(target);
            }
            for value in case.values.iter() {
                query = match *value {
                    V::I(number) => query.bind(number),
                    V::T(text) => query.bind(text),
                };
            }
            query.execute(&mut **tx).await.map(|it| it.rows_affected())
        }

        async fn plain(tx: &mut Tx, case: &Case) -> u64 {
            let mut query = sqlx::query::<$DB>(AssertSqlSafe(case.sql.to_string()));
            for value in case.values.iter() {
                query = match *value {
                    V::I(number) => query.bind(number),
                    V::T(text) => query.bind(text),
                };
            }
            let done = query.execute(&mut **tx).await;
            done.unwrap_or_else(|it| panic!("{}: {it}", case.sql))
                .rows_affected()
        }

        async fn judge(pool: &$Pool, case: &Case) {
            let sql = &case.sql;
            let mut tx = pool.begin().await.unwrap();
            set_tokens(&mut tx, 0).await;
            let before = dump(&mut tx).await;
            let rows = plain(&mut tx, case).await;
            let after = dump(&mut tx).await;
            tx.rollback().await.unwrap();

            let mut tx = pool.begin().await.unwrap();
            set_tokens(&mut tx, 0).await;
            let written = fenced(&mut tx, case).await;
            let written = written.unwrap_or_else(|it| panic!("{sql}: {it}: {it:?}"));
            assert_eq!(dump(&mut tx).await, after, "{sql}: an effect of its own");
            assert_eq!(written, rows, "{sql}: another number of rows");
            tx.rollback().await.unwrap();

            let mut tx = pool.begin().await.unwrap();
            set_tokens(&mut tx, 10).await;
            let stopped = fenced(&mut tx, case).await;
            assert!(
                !matches!(stopped, Err(Error::Sqlx(_))),
                "{sql}: {stopped:?}"
            );
            assert_eq!(
                dump(&mut tx).await,
                before,
                "{sql}: a newer token does not stop it"
            );
            match stopped {
                Err(Error::Stale(stale)) => {
                    assert!(rows > 0, "{sql}: stale without a row");
                    assert_eq!((stale.token.get(), stale.current.get()), (7, 10), "{sql}");
                }
                Ok(0) => assert_eq!(rows, 0, "{sql}: not told that it is stale"),
                other => panic!("{sql}: {other:?}"),
            }
            tx.rollback().await.unwrap();
        }
    };
}

pub(crate) use judge;
