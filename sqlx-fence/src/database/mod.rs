//! The differences between the databases.

mod database_operations;
#[cfg(any(feature = "mysql", feature = "postgres", feature = "sqlite"))]
mod idempotency_statements;
#[cfg(feature = "mysql")]
mod mysql;
#[cfg(feature = "postgres")]
mod postgres;
#[cfg(feature = "sqlite")]
mod sqlite;

pub(crate) use self::database_operations::{Call, Claim, Driver, Many};

/// A database whose statements can be fenced: `Postgres`, `MySql` and `Sqlite` of sqlx, each with the feature of the
/// same name.
///
/// This trait is sealed and cannot be implemented outside of this crate.
pub trait FencedDatabase: Driver {}

/// A database where the token can be bound after the other values: `Postgres` and `Sqlite`.
///
/// `MySql` does not implement this trait, because its `?` are not numbered. This trait is sealed, like
/// [`FencedDatabase`].
#[diagnostic::on_unimplemented(
    message = "`.fenced()` does not apply to statements of `{Self}`: use `Fence::query`",
    label = "write `fence.query(\"…\").bind(…)`",
    note = "on MySQL and MariaDB the token must be bound between the other values: use `Fence::query`, `Fence::query_as` or `Fence::query_scalar`",
    note = "on Postgres and SQLite enable the feature `postgres` or `sqlite` of `leasehold-sqlx`"
)]
pub trait Completable: FencedDatabase {}
