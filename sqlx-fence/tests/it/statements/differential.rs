//! Compares random statements with and without a fence. A fenced statement must have the same effect, except on rows
//! with newer tokens. Exactly these rows must be reported as stale.

use std::collections::BTreeMap;

/// The key of a row, its token, whether the statement has written it, and the value of `noted`.
pub(crate) type Row = (i64, Option<i64>, i64, Option<i64>);

/// A row that a statement with `RETURNING` returns.
pub(crate) type Returned = (i64, i64, Option<i64>);

/// Counts the outcomes of all random statements.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    pub(crate) written: u64,
    pub(crate) stale: u64,
    pub(crate) partly: u64,
    pub(crate) nothing: u64,
    pub(crate) refused: u64,
    /// Statements that the database refuses without a fence.
    pub(crate) invalid: u64,
    /// The reasons why valid statements were refused, each with its number and an example.
    pub(crate) why: BTreeMap<String, (u64, String)>,
}

impl Tally {
    pub(crate) fn refuse(&mut self, why: &str, sql: &str) {
        self.refused += 1;
        let why = why.split(" at Line").next().unwrap_or(why).to_owned();
        let known = self.why.entry(why).or_insert_with(|| (0, sql.to_owned()));
        known.0 += 1;
    }

    fn judged(&self) -> u64 {
        self.written + self.stale + self.nothing
    }

    fn has_each_outcome(&self) -> bool {
        self.stale > 0 && self.written > 0 && self.nothing > 0
    }

    /// Returns whether the run was long enough. On a loaded machine this takes longer than the planned duration.
    pub(crate) fn is_enough(&self) -> bool {
        self.judged() >= 30 && self.has_each_outcome()
    }

    pub(crate) fn check(&self, database: &str) {
        println!("{database}: {self:#?}");
        assert!(self.has_each_outcome(), "{self:?}");
        assert!(
            self.refused < self.judged(),
            "too many are refused: {self:?}"
        );
    }
}

/// Executes random statements, with and without a fence, in transactions that are rolled back.
macro_rules! differential {
    ($name:ident, $pool:expr, $flavour:expr) => {{
        use crate::statements::differential::{Returned, Row, Tally};

        let pool = $pool;
        let random = Random::new($flavour);
        let mut joins = crate::statements::joins::Joins::new($flavour, random.rng);
        let mut tally = Tally::default();
        let (fence, newest) = (Fence::try_from(7).unwrap(), Fence::try_from(100).unwrap());
        let (begun, length) = (
            std::time::Instant::now(),
            crate::statements::fuzz::how_long(),
        );
        let limit = length + std::time::Duration::from_secs(120);
        while begun.elapsed() < length || (!tally.is_enough() && begun.elapsed() < limit) {
            let rows = joins.rows();
            let (statement, table) = joins.statement();
            let sql = &statement.sql;
            let read =
                format!("SELECT line, fencing_token, touched, noted FROM {table} ORDER BY line");
            let context = || format!("{statement:?}\n{sql}\nafter {rows}");
            let read = async |tx: &mut Tx| -> Vec<Row> {
                let read = sqlx::query_as(AssertSqlSafe(read.clone()));
                read.fetch_all(&mut **tx).await.unwrap()
            };
            let start = async || {
                let mut tx = pool.begin().await.unwrap();
                let fill = sqlx::raw_sql(AssertSqlSafe(rows.clone()));
                fill.execute(&mut *tx).await.unwrap();
                tx
            };
            let fenced = |fence: &Fence| {
                let query = fence.query_as::<sqlx::$name, Returned>(AssertSqlSafe(sql.clone()));
                statement
                    .values
                    .iter()
                    .fold(query, |it, value| it.bind(*value))
            };

            let mut tx = start().await;
            let before = read(&mut tx).await;
            let plain = if statement.returning {
                let query = sqlx::query_as::<_, Returned>(AssertSqlSafe(sql.clone()));
                let query = statement
                    .values
                    .iter()
                    .fold(query, |it, value| it.bind(*value));
                query
                    .fetch_all(&mut *tx)
                    .await
                    .map(|rows| (rows.len() as u64, rows))
            } else {
                let query = sqlx::query(AssertSqlSafe(sql.clone()));
                let query = statement
                    .values
                    .iter()
                    .fold(query, |it, value| it.bind(*value));
                query
                    .execute(&mut *tx)
                    .await
                    .map(|it| (it.rows_affected(), Vec::new()))
            };
            let (count, mut returned) = match plain {
                Ok(done) => done,
                Err(error) => {
                    assert!(
                        error.as_database_error().is_some(),
                        "{error:?}\n{}",
                        context()
                    );
                    tally.invalid += 1;
                    drop(tx.rollback().await);
                    continue;
                }
            };
            let after = read(&mut tx).await;
            tx.rollback().await.unwrap();
            // Find the rows that the statement changes, and their state with a token.
            let becomes = |row: &Row, token: i64| {
                let after = after.iter().find(|it| it.0 == row.0)?;
                Some((row.0, Some(token), after.2, after.3))
            };
            let changed: Vec<&Row> = before.iter().filter(|row| !after.contains(row)).collect();
            let outcome = |token: i64| -> Vec<Row> {
                let rows = before.iter().filter_map(|row| {
                    if changed.contains(&row) && row.1 <= Some(token) {
                        becomes(row, token)
                    } else {
                        Some(*row)
                    }
                });
                rows.collect()
            };
            let newer: Vec<i64> = changed
                .iter()
                .filter_map(|row| row.1.filter(|it| *it > 7))
                .collect();
            let older = changed.len() - newer.len();

            let mut tx = start().await;
            let done = if statement.returning {
                fenced(&newest)
                    .fetch_all(&mut *tx)
                    .await
                    .map(|rows| (rows.len() as u64, rows))
            } else {
                fenced(&newest)
                    .execute(&mut *tx)
                    .await
                    .map(|it| (it.rows_affected(), Vec::new()))
            };
            match done {
                Err(Error::Rewrite {
                    problem, remedy, ..
                }) => {
                    tally.refuse(&format!("{problem}; {remedy}"), sql);
                    tx.rollback().await.unwrap();
                    continue;
                }
                Err(error) => panic!("{error:?}\n{}", context()),
                Ok((all, mut rows)) => {
                    rows.sort_unstable();
                    returned.sort_unstable();
                    assert_eq!((all, rows), (count, returned), "{}", context());
                }
            }
            assert_eq!(read(&mut tx).await, outcome(100), "{}", context());
            tx.rollback().await.unwrap();

            let mut tx = start().await;
            let done = if statement.returning {
                fenced(&fence)
                    .fetch_all(&mut *tx)
                    .await
                    .map(|it| it.len() as u64)
            } else {
                fenced(&fence)
                    .execute(&mut *tx)
                    .await
                    .map(|it| it.rows_affected())
            };
            let applied = *done.as_ref().unwrap_or(&0);
            match (&done, older, newer.iter().max()) {
                (Ok(1..), 1.., _) => tally.written += 1,
                (Ok(0), 0, None) => tally.nothing += 1,
                (Err(Error::Stale(stale)), 0, Some(newest)) if stale.current.get() == *newest => {
                    tally.stale += 1
                }
                _ => panic!(
                    "{done:?}, and {older} are older, {newer:?} newer\n{}",
                    context()
                ),
            }
            assert_eq!(read(&mut tx).await, outcome(7), "{}", context());
            tx.rollback().await.unwrap();

            let mut tx = start().await;
            let all = fenced(&fence).expect_rows(count);
            let done = if statement.returning {
                all.fetch_all(&mut *tx).await.map(|_| ())
            } else {
                all.execute(&mut *tx).await.map(|_| ())
            };
            let joined = newer.len() as u64;
            match done {
                Ok(()) if newer.is_empty() => {}
                Err(Error::Stale(_)) if older == 0 && !newer.is_empty() => {}
                Err(Error::PartiallyStale { applied: it, stale })
                    if older > 0 && !newer.is_empty() && it == applied && stale >= joined =>
                {
                    tally.partly += 1
                }
                done => panic!(
                    "{done:?}, and {older} are older, {newer:?} newer\n{}",
                    context()
                ),
            }
            let left = if newer.is_empty() {
                outcome(7)
            } else {
                before.clone()
            };
            assert_eq!(read(&mut tx).await, left, "{}", context());
            tx.rollback().await.unwrap();
        }
        tally.check(stringify!($name));
    }};
}

pub(crate) use differential;
