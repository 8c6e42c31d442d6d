//! Creates and verifies the tables of this crate.

use crate::Error;
use crate::database::FencedDatabase;
use crate::schema::Table;

/// Creates a table if it does not exist, and verifies that this version can use it.
pub(crate) async fn ensure<DB: FencedDatabase>(
    connection: &mut DB::Connection,
    table: Table,
) -> Result<(), Error> {
    let refused = |problem: String| Error::Table {
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
async fn refuse_second<DB: FencedDatabase>(
    connection: &mut DB::Connection,
    table: Table,
) -> Result<(), Error> {
    let Some(found) = DB::in_other_schema(connection, table.name).await? else {
        return Ok(());
    };
    Err(Error::Table {
        table: table.name,
        problem: format!(
            "the database has it as {found}, and this role uses another schema: to share that table, put its schema first in \
             the `search_path` of the role. Only if the two must not share their rows, create a second table in a \
             migration"
        ),
    })
}
