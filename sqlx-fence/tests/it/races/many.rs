/// Defines `many`: writers with random tokens concurrently write several rows, chosen in several ways. A trigger fails
/// if a row gets an older token, and no fenced statement may reach it. A statement that writes nothing must return an
/// error.
macro_rules! many {
    ($DB:ty, $Pool:ty, $begin:expr, $statements:expr) => {
        use std::sync::Arc;
        use std::sync::atomic::AtomicI64;
        use std::sync::atomic::Ordering::Relaxed;

        /// Counts the results of the transactions.
        #[derive(Debug, Default)]
        struct Outcomes {
            written: u64,
            partly: u64,
            stale: u64,
            conflicts: u64,
        }

        async fn transactions(
            pool: $Pool,
            level: Option<Isolation>,
            seed: u64,
            tokens: Arc<AtomicI64>,
        ) -> Outcomes {
            let mut rng = fastrand::Rng::with_seed(seed);
            let mut outcomes = Outcomes::default();
            for _ in 0..crate::races::TRANSACTIONS {
                let newest = tokens.fetch_add(1, Relaxed);
                let token = rng.i64(1.max(newest - 8)..newest + 1);
                let fence = Fence::new(FencingToken::try_from(token).unwrap());
                let begin: fn(Option<Isolation>) -> String = $begin;
                let begin = AssertSqlSafe(begin(level));
                let mut tx = pool.begin_with(begin).await.unwrap();
                let mut done = Ok(());
                for _ in 0..rng.u8(1..3) {
                    let statements: &[&'static str] = $statements;
                    let sql = statements[rng.usize(0..statements.len())];
                    let query = fence.query::<$DB>(sql).bind(token);
                    let written = match rng.bool() {
                        true => query.execute(&mut *tx).await,
                        false => query.expect_rows(2).execute(&mut *tx).await,
                    };
                    match written {
                        Ok(written) => {
                            assert!(written.rows_affected() > 0, "{level:?}: {sql}: not told");
                        }
                        Err(error) => {
                            done = Err((error, sql));
                            break;
                        }
                    }
                }
                let done = match done {
                    Ok(()) => tx.commit().await.map_err(|it| (it.into(), "COMMIT")),
                    // Commit, because statements before the stale one may have written.
                    Err((error @ (Error::Stale(_) | Error::PartiallyStale { .. }), sql)) => {
                        match tx.commit().await {
                            Ok(()) => Err((error, sql)),
                            Err(conflict) => Err((conflict.into(), "COMMIT")),
                        }
                    }
                    Err(error) => {
                        drop(tx.rollback().await);
                        Err(error)
                    }
                };
                match done {
                    Ok(()) => outcomes.written += 1,
                    Err((Error::Stale(stale), sql)) => {
                        assert!(stale.current.get() > token, "{sql}");
                        outcomes.stale += 1;
                    }
                    Err((Error::PartiallyStale { .. }, _)) => outcomes.partly += 1,
                    Err((error, _)) if is_conflict(&error) => outcomes.conflicts += 1,
                    Err((error, sql)) => panic!("{level:?}: {sql}: {error:?}"),
                }
            }
            outcomes
        }

        async fn many(pool: &$Pool, level: Option<Isolation>) {
            let seed = fastrand::u64(..);
            let tokens = Arc::new(AtomicI64::new(1));
            let writers: Vec<_> = (0..4_u64)
                .map(|it| {
                    let seed = seed.wrapping_add(it);
                    tokio::spawn(transactions(pool.clone(), level, seed, tokens.clone()))
                })
                .collect();
            for writer in writers {
                println!("{level:?}: {:?}", writer.await.unwrap());
            }
            let read = "SELECT count(*) FROM stock WHERE value <> coalesce(fencing_token, 0)";
            let odd: i64 = sqlx::query_scalar(read).fetch_one(pool).await.unwrap();
            assert_eq!(odd, 0, "{level:?}");
            let clear = "DELETE FROM stock; INSERT INTO stock (id, lot, value) VALUES (1, 1, 0), (2, 1, 0), (3, 2, 0), (4, 2, 0)";
            sqlx::raw_sql(clear).execute(pool).await.unwrap();
        }
    };
}

pub(crate) use many;
