//! Stale is exactly what the statement would have changed, had there been no fence, in a row with a newer token.

/// A row's key, its token, and whether the statement has touched it.
pub(crate) type Row = (i64, Option<i64>, i64);

/// What a random statement came to, over all of them.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    pub(crate) written: u64,
    pub(crate) stale: u64,
    pub(crate) nothing: u64,
    pub(crate) refused: u64,
    /// Statements that the database does not take as they are.
    pub(crate) invalid: u64,
}

impl Tally {
    pub(crate) fn check(&self, database: &str) {
        println!("{database}: {self:?}");
        let judged = self.written + self.stale + self.nothing;
        assert!(
            self.stale > 0 && self.written > 0 && self.nothing > 0,
            "{self:?}"
        );
        assert!(self.refused < judged, "too many are refused: {self:?}");
    }
}

/// Executes random statements, each without and with a fence, in transactions that are rolled back.
macro_rules! differential {
    ($name:ident, $pool:expr, $flavour:expr) => {{
        let pool = $pool;
        let random = Random::new($flavour);
        let mut joins = crate::joins::Joins::new($flavour, random.rng);
        let mut tally = crate::differential::Tally::default();
        let fence = Fence::try_from(7).unwrap();
        let (begun, length) = (std::time::Instant::now(), crate::fuzz::how_long());
        while begun.elapsed() < length {
            let rows = joins.rows();
            let (sql, table) = joins.statement();
            let read = format!("SELECT line, fencing_token, touched FROM {table} ORDER BY line");
            let context = || format!("{sql}\nafter {rows}");

            let mut tx = pool.begin().await.unwrap();
            sqlx::raw_sql(AssertSqlSafe(rows.clone()))
                .execute(&mut *tx)
                .await
                .unwrap();
            let before: Vec<crate::differential::Row> = sqlx::query_as(AssertSqlSafe(read.clone()))
                .fetch_all(&mut *tx)
                .await
                .unwrap();
            let plain = sqlx::query(AssertSqlSafe(sql.clone()))
                .execute(&mut *tx)
                .await;
            let after: Vec<crate::differential::Row> = match plain {
                Err(_) => Vec::new(),
                Ok(_) => sqlx::query_as(AssertSqlSafe(read.clone()))
                    .fetch_all(&mut *tx)
                    .await
                    .unwrap(),
            };
            tx.rollback().await.unwrap();
            if let Err(error) = plain {
                assert!(error.as_database_error().is_some(), "{error:?}");
                tally.invalid += 1;
                continue;
            }
            let changed = before.iter().filter(|row| !after.contains(row));
            let (newer, older): (Vec<&crate::differential::Row>, Vec<_>) =
                changed.partition(|row| row.1 > Some(7));
            let newest = newer.iter().filter_map(|row| row.1).max();

            let mut tx = pool.begin().await.unwrap();
            sqlx::raw_sql(AssertSqlSafe(rows.clone()))
                .execute(&mut *tx)
                .await
                .unwrap();
            let done = fence
                .query::<sqlx::$name>(AssertSqlSafe(sql.clone()))
                .execute(&mut *tx)
                .await;
            match (&done, older.len(), newest) {
                (Err(Error::Rewrite { .. }), ..) => tally.refused += 1,
                (Ok(done), 1.., _) if done.rows_affected() > 0 => tally.written += 1,
                (Ok(done), 0, None) if done.rows_affected() == 0 => tally.nothing += 1,
                (Err(Error::Stale(stale)), 0, Some(newest)) if stale.current.get() == newest => {
                    tally.stale += 1
                }
                _ => panic!(
                    "{done:?}, and {older:?} are older, {newer:?} newer\n{}",
                    context()
                ),
            }
            if done.is_ok() {
                let after: Vec<crate::differential::Row> = sqlx::query_as(AssertSqlSafe(read))
                    .fetch_all(&mut *tx)
                    .await
                    .unwrap();
                let changed: Vec<_> = before.iter().filter(|row| !after.contains(row)).collect();
                assert_eq!(changed, older, "{}", context());
            }
            tx.rollback().await.unwrap();
        }
        tally.check(stringify!($name));
    }};
}

pub(crate) use differential;
