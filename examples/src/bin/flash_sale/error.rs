use std::error::Error;

use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use leasehold_tower::Problem;

/// An error that ends this program. It is printed with all its causes.
pub(crate) type BoxError = Box<dyn Error + Send + Sync>;

/// Prints an error with all its causes.
pub(crate) fn tell(error: &(dyn Error + 'static)) {
    eprintln!("{error}");
    let mut cause = error.source();
    while let Some(why) = cause {
        eprintln!("  because: {why}");
        cause = why.source();
    }
}

/// The reason why a purchase failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ShopError {
    /// The annotated function did not acquire its lock, or lost it.
    #[error(transparent)]
    Lock(#[from] leasehold::Error),
    /// The fence refused the write, or the database failed.
    #[error(transparent)]
    Write(#[from] leasehold_sqlx::Error),
    #[error("there is no item {0}")]
    NoSuchItem(i64),
}

impl From<sqlx::Error> for ShopError {
    fn from(error: sqlx::Error) -> Self {
        Self::Write(error.into())
    }
}

impl IntoResponse for ShopError {
    fn into_response(self) -> Response {
        match self {
            Self::Lock(error) | Self::Write(leasehold_sqlx::Error::Lock(error)) => {
                Problem::from(error).into_response()
            }
            Self::Write(leasehold_sqlx::Error::Stale(stale)) => {
                Problem::from(stale).into_response()
            }
            Self::NoSuchItem(_) => (StatusCode::NOT_FOUND, self.to_string()).into_response(),
            Self::Write(_) => {
                tell(&self);
                let answer = "the shop is not available";
                (StatusCode::SERVICE_UNAVAILABLE, answer).into_response()
            }
        }
    }
}
