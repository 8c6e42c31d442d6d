//! What differs from database to database.

mod driver;
#[cfg(feature = "mysql")]
mod mysql;
#[cfg(feature = "postgres")]
mod postgres;
#[cfg(feature = "sqlite")]
mod sqlite;

pub(crate) use self::driver::{Call, Claim, Driver, Obstacle};

/// A database whose statements can be fenced: `Postgres`, `MySql` and `Sqlite` of sqlx, each with the feature of
/// that name.
///
/// Sealed: nobody else implements it.
pub trait FencedDatabase: Driver {}

/// One whose values can be completed when they are bound already.
///
/// `MySql`'s cannot, since its `?` have no numbers. Sealed, as [`FencedDatabase`].
#[diagnostic::on_unimplemented(
    message = "`.fenced()` does not apply to statements of `{Self}`: use `Fence::query`",
    label = "write `fence.query(\"…\").bind(…)`",
    note = "on MySQL and MariaDB the token has to be bound between the other values: `Fence::query`, `Fence::query_as` and `Fence::query_scalar` do that",
    note = "on Postgres and SQLite switch on the feature `postgres` or `sqlite` of `leasehold-sqlx`"
)]
pub trait Completable: FencedDatabase {}
