/// Defines `lost`, which lets two writers race and counts the lost updates.
macro_rules! races {
    ($DB:ty, $Pool:ty, $read:literal, $write:literal, $begin:expr) => {
        use leasehold_sqlx::{Error, Fence, FencingToken, Isolation};
        use sqlx::AssertSqlSafe;

        use crate::races::conflict::is_conflict;
        use crate::races::{Means, RACES};

        /// Repeats a write until it succeeds or is stale. The stale writer also retries after conflicts.
        async fn writes(
            pool: $Pool,
            means: Means,
            level: Option<Isolation>,
            token: i64,
            row: i64,
        ) -> bool {
            loop {
                match writes_once(&pool, means, level, token, row).await {
                    Ok(()) => return true,
                    Err(Error::Stale(_)) => return false,
                    Err(error) if is_conflict(&error) => {}
                    Err(error) => panic!("{means:?} at {level:?}: {error}: {error:?}"),
                }
            }
        }

        async fn writes_once(
            pool: &$Pool,
            means: Means,
            level: Option<Isolation>,
            token: i64,
            row: i64,
        ) -> Result<(), Error> {
            let fence = Fence::new(FencingToken::try_from(token).unwrap());
            let mut tx = if means == Means::Transaction {
                let begin = fence.begin(pool, format!("row:{row}"));
                match level {
                    Some(level) => begin.isolation(level).await?,
                    None => begin.await?,
                }
            } else {
                let begin: fn(Option<Isolation>) -> String = $begin;
                pool.begin_with(AssertSqlSafe(begin(level))).await?
            };
            match means {
                Means::Nothing => {
                    let write = sqlx::query($write).bind(token).bind(row);
                    write.execute(&mut *tx).await?;
                }
                Means::Statement => {
                    let write = fence.query($write).bind(token).bind(row);
                    let done = write.expect_rows(1).execute(&mut *tx).await?;
                    assert_eq!(done.rows_affected(), 1);
                }
                Means::ReadThenWrite | Means::Transaction => {
                    let read = sqlx::query_scalar($read).bind(row);
                    let value: i64 = read.fetch_one(&mut *tx).await?;
                    // Simulates the time between the read and the write.
                    tokio::time::sleep(std::time::Duration::from_millis(1)).await;
                    let write = sqlx::query($write).bind(value + 1).bind(row);
                    write.execute(&mut *tx).await?;
                }
            }
            Ok(tx.commit().await?)
        }

        /// Returns how many races end with a lost update.
        async fn lost(pool: &$Pool, means: Means, level: Option<Isolation>) -> usize {
            sqlx::query("UPDATE rows_of_races SET value = 0, fencing_token = 0")
                .execute(pool)
                .await
                .unwrap();
            sqlx::query("DELETE FROM leasehold_fences")
                .execute(pool)
                .await
                .unwrap();
            let mut lost = 0;
            let races = i64::try_from(leasehold_testkit::depth::scaled(RACES)).unwrap();
            for row in 0..races {
                let mut writers = Vec::new();
                let tokens = if fastrand::bool() { [1, 2] } else { [2, 1] };
                for token in tokens {
                    let writer = writes(pool.clone(), means, level, token, row);
                    writers.push((token, tokio::spawn(writer)));
                }
                let mut written = 0;
                for (token, writer) in writers {
                    let has_written = writer.await.unwrap();
                    written += i64::from(has_written);
                    assert!(
                        token == 1 || has_written,
                        "{means:?}: the new one was refused"
                    );
                }
                let read = sqlx::query_scalar($read).bind(row);
                let value: i64 = read.fetch_one(pool).await.unwrap();
                let expected = match means {
                    // The value of the new writer.
                    Means::Nothing | Means::Statement => 2,
                    // Each successful writer has added one.
                    Means::ReadThenWrite | Means::Transaction => written,
                };
                lost += usize::from(value != expected);
            }
            println!(
                "{} at {level:?}, {means:?}: {lost} of {races} lost",
                <$DB as sqlx::Database>::NAME
            );
            lost
        }
    };
}

pub(crate) use races;
