//! Carries the errors of this crate through the functions of sqlx, which return [`sqlx::Error`].

use std::error::Error as StdError;

use sqlx::error::{DatabaseError, ErrorKind};

use crate::Error;
use leasehold_sql::is_read_only;

/// Wraps an [`Error`], so that sqlx can return it as the error of a database.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
struct Carried {
    #[source]
    error: Error,
    message: String,
}

impl DatabaseError for Carried {
    fn message(&self) -> &str {
        &self.message
    }

    fn as_error(&self) -> &(dyn StdError + Send + Sync + 'static) {
        self
    }

    fn as_error_mut(&mut self) -> &mut (dyn StdError + Send + Sync + 'static) {
        self
    }

    fn into_error(self: Box<Self>) -> Box<dyn StdError + Send + Sync + 'static> {
        self
    }

    fn kind(&self) -> ErrorKind {
        ErrorKind::Other
    }
}

/// Wraps an [`Error`], so that functions of sqlx can return it. `?` returns the wrapped error.
impl From<Error> for sqlx::Error {
    fn from(error: Error) -> Self {
        match error {
            Error::Sqlx(error) | Error::ReadOnly(error) => error,
            error => Self::Database(Box::new(Carried {
                message: error.to_string(),
                error,
            })),
        }
    }
}

/// Returns the error of a [`FencedPool`](crate::FencedPool), if sqlx returned one. Otherwise returns [`Error::Sqlx`].
impl From<sqlx::Error> for Error {
    fn from(error: sqlx::Error) -> Self {
        match error {
            sqlx::Error::Database(error) => match error.try_downcast::<Carried>() {
                Ok(carried) => carried.error,
                Err(error) => match sqlx::Error::Database(error) {
                    error if is_read_only(&error) => Self::ReadOnly(error),
                    error => Self::Sqlx(error),
                },
            },
            error => Self::Sqlx(error),
        }
    }
}

impl Error {
    /// Returns the error of a [`FencedPool`](crate::FencedPool) in an error of sqlx, without converting it.
    ///
    /// # Examples
    ///
    /// ```
    /// use leasehold_sqlx::Error;
    ///
    /// fn is_stale(error: &sqlx::Error) -> bool {
    ///     matches!(Error::in_sqlx(error), Some(Error::Stale(_)))
    /// }
    /// # let refused = sqlx::Error::from(Error::NotFound { expected: 1, applied: 0 });
    /// # assert!(Error::in_sqlx(&refused).is_some());
    /// # assert!(!is_stale(&refused));
    /// # assert!(!is_stale(&sqlx::Error::RowNotFound));
    /// ```
    #[must_use]
    pub fn in_sqlx(error: &sqlx::Error) -> Option<&Self> {
        let carried = error.as_database_error()?.try_downcast_ref::<Carried>()?;
        Some(&carried.error)
    }
}
