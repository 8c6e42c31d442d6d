use sqlx::error::DatabaseError;

/// The database has given up one of two transactions, and it may begin anew: Postgres 40001 and 40P01, `MariaDB` 1020,
/// 1205 and 1213, `SQLite` 5 and 517.
pub(crate) fn is_conflict(error: &leasehold_sqlx::Error) -> bool {
    let leasehold_sqlx::Error::Sqlx(error) = error else {
        return false;
    };
    let code = error.as_database_error().and_then(DatabaseError::code);
    let codes = ["40001", "40P01", "HY000", "5", "517"];
    code.is_some_and(|it| codes.contains(&it.as_ref()))
}
