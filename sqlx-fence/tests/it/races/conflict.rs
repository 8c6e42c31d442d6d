use sqlx::error::DatabaseError;

/// Returns whether the database has aborted a transaction because of a concurrent one, so that it can begin again. On
/// Postgres and `MariaDB` the code is the SQLSTATE. HY000 stands for the errors 1020 and 1205 of `MariaDB`, and 40001
/// for its error 1213.
pub(crate) fn is_conflict(error: &leasehold_sqlx::Error) -> bool {
    let leasehold_sqlx::Error::Sqlx(error) = error else {
        return false;
    };
    let code = error.as_database_error().and_then(DatabaseError::code);
    let codes = ["40001", "40P01", "HY000", "5", "517"];
    code.is_some_and(|it| codes.contains(&it.as_ref()))
}
