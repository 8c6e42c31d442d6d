//! Compares a fenced statement with the same statement without a fence.

/// Defines `judge`, which runs each case three times from the same state, in transactions that are rolled back. It runs
/// the statement without a fence, with a fence on rows with older tokens, and with a fence on rows with newer tokens.
/// Then it runs the case in the same way in transactions of a fenced pool.
macro_rules! judge {
    ($DB:ty, $Pool:ty, $dump:literal) => {
        use leasehold::LockManager;
        use leasehold_sqlx::{Error, Fence, FencedPool, ddl};
        use sqlx::{AssertSqlSafe, Row};

        use crate::statements::case::{Case, V};

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
            if case.target.is_none() {
                judge_of_pool(pool, case, rows, [before, after]).await;
            }
        }

        /// A fenced pool gets statements whose values are already bound.
        async fn judge_of_pool(
            pool: &$Pool,
            case: &Case,
            rows: u64,
            [before, after]: [Vec<String>; 2],
        ) {
            let sql = &case.sql;
            ddl::create_fences(pool).await.unwrap();
            let fenced = FencedPool::new(pool.clone());
            let guard = LockManager::in_process()
                .lock("items")
                .acquire()
                .await
                .unwrap();
            for newest in [0, guard.token().get() + 1] {
                let mut tx = pool.begin().await.unwrap();
                set_tokens(&mut tx, newest).await;
                tx.commit().await.unwrap();
                let run = async {
                    let mut tx = fenced.begin().await.unwrap();
                    let mut query = sqlx::query::<$DB>(AssertSqlSafe(sql.to_string()));
                    for value in case.values.iter() {
                        query = match *value {
                            V::I(number) => query.bind(number),
                            V::T(text) => query.bind(text),
                        };
                    }
                    let done = query.execute(&mut *tx).await;
                    let dumped = sqlx::query($dump).fetch_all(&mut *tx).await.unwrap();
                    tx.rollback().await.unwrap();
                    let dumped: Vec<String> = dumped.iter().map(|row| row.get(0)).collect();
                    (
                        done.map(|it| it.rows_affected()).map_err(Error::from),
                        dumped,
                    )
                };
                let (done, dumped) = guard.handle().scope(run).await;
                match done {
                    Ok(written) if newest == 0 => {
                        assert_eq!(dumped, after, "{sql}: another effect in a pool");
                        assert_eq!(written, rows, "{sql}: another number of rows in a pool");
                    }
                    Ok(0) => assert_eq!(rows, 0, "{sql}: not reported as stale in a pool"),
                    Err(Error::Stale(_)) if newest > 0 && rows > 0 => {
                        assert_eq!(
                            dumped, before,
                            "{sql}: a newer token does not stop it in a pool"
                        );
                    }
                    other => panic!("{sql}: {other:?} in a pool"),
                }
            }
        }

        /// A fenced pool inserts the same rows as a plain one, each with the token.
        async fn judge_insert(pool: &$Pool, sql: &'static str) {
            let mut tx = pool.begin().await.unwrap();
            let before = dump(&mut tx).await;
            let done = sqlx::query(sql).execute(&mut *tx).await;
            let rows = done
                .unwrap_or_else(|it| panic!("{sql}: {it}"))
                .rows_affected();
            let after = dump(&mut tx).await;
            tx.rollback().await.unwrap();

            let fenced = FencedPool::new(pool.clone());
            let guard = LockManager::in_process()
                .lock("items")
                .acquire()
                .await
                .unwrap();
            let run = async {
                let mut tx = fenced.begin().await.unwrap();
                let done = sqlx::query(sql).execute(&mut *tx).await;
                let done = done
                    .map_err(Error::from)
                    .unwrap_or_else(|it| panic!("{sql}: {it}"));
                assert_eq!(done.rows_affected(), rows, "{sql}: another number of rows");
                let dumped = sqlx::query($dump).fetch_all(&mut *tx).await.unwrap();
                let dumped: Vec<String> = dumped.iter().map(|row| row.get(0)).collect();
                assert_eq!(dumped, after, "{sql}: other rows");
                let count = format!(
                    "SELECT (SELECT count(*) FROM items WHERE fencing_token = {token}) \
                     + (SELECT count(*) FROM odd WHERE fencing_token = {token})",
                    token = guard.token(),
                );
                let with: i64 = sqlx::query_scalar(AssertSqlSafe(count))
                    .fetch_one(&mut *tx)
                    .await
                    .unwrap();
                assert_eq!(
                    with as usize,
                    after.len() - before.len(),
                    "{sql}: rows without a token"
                );
                tx.rollback().await.unwrap();
            };
            guard.handle().scope(run).await;
        }
    };
}

pub(crate) use judge;
