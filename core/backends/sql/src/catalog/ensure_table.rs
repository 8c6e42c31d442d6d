//! Creates and verifies the tables of this crate.

use super::Catalog;

/// A table, with the columns that this version uses.
#[derive(Debug, Clone, Copy)]
pub struct Table {
    /// Its name.
    pub name: &'static str,
    /// The columns.
    pub columns: &'static [&'static str],
    /// The statements that create it if it does not exist.
    pub create: &'static str,
}

/// A table of Leasehold cannot be used, or cannot be created.
#[derive(Debug, thiserror::Error)]
pub enum TableError {
    /// The table cannot be used, or must not be created.
    #[error("the table `{table}` cannot be used: {problem}")]
    Unusable {
        /// The name of the table.
        table: &'static str,
        /// The problem and its remedy.
        problem: String,
    },
    /// The database failed, for example because the role may not create tables. The source is the error of sqlx.
    #[error("database error")]
    Database(#[from] sqlx::Error),
}

/// Creates a table if it does not exist, and verifies that this version can use it.
///
/// # Errors
///
/// - [`TableError::Unusable`]: the table belongs to another program or version, has no transactions, or is in a schema
///   that this role does not use.
/// - [`TableError::Database`]: the database failed.
pub async fn ensure<DB: Catalog>(
    connection: &mut DB::Connection,
    table: Table,
) -> Result<(), TableError> {
    let refused = |problem: String| TableError::Unusable {
        table: table.name,
        problem,
    };
    let mut seen = DB::columns(connection, table.name).await?;
    if seen.is_empty() {
        refuse_second::<DB>(connection, table).await?;
        DB::create(connection, table.create).await?;
        // Another role may have created a table concurrently.
        refuse_second::<DB>(connection, table).await?;
        seen = DB::columns(connection, table.name).await?;
        if seen.is_empty() {
            // The table exists, and the snapshot of the caller's transaction is from before.
            return Ok(());
        }
    }
    let missing = table
        .columns
        .iter()
        .find(|it| !seen.iter().any(|seen| seen == *it));
    if let Some(column) = missing {
        return Err(refused(format!(
            "it has no column `{column}`, so it belongs to another program, or to another version of Leasehold: use \
             another schema or database"
        )));
    }
    if let Some(engine) = DB::unsafe_engine(connection, table.name).await? {
        return Err(refused(format!(
            "its storage engine {engine} has no transactions: ALTER TABLE {} ENGINE=InnoDB",
            table.name
        )));
    }
    Ok(())
}

/// Refuses a second table for a role that does not see the first one. The two tables would not share their rows.
async fn refuse_second<DB: Catalog>(
    connection: &mut DB::Connection,
    table: Table,
) -> Result<(), TableError> {
    let Some(found) = DB::in_other_schema(connection, table.name).await? else {
        return Ok(());
    };
    Err(TableError::Unusable {
        table: table.name,
        problem: format!(
            "the database has it as {found}, and this role uses another schema: to share that table, put its schema first in \
             the `search_path` of the role. Only if the two must not share their rows, create a second table in a \
             migration"
        ),
    })
}
