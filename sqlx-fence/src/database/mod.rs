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
pub trait Completable: FencedDatabase {}
