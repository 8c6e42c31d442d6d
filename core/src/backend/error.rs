//! The error of a backend request, and whether the request was applied.

use std::error::Error;
use std::fmt;
use std::sync::Arc;

/// Whether a command that failed may have done its work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Applied {
    /// Surely not: nothing changed.
    No,
    /// The answer was lost or late: it may have been applied, or may be still.
    Unknown,
}

/// A backend could not carry out a command.
///
/// Being busy is never an error.
#[derive(Debug, Clone)]
pub struct BackendError {
    message: String,
    applied: Applied,
    permanent: bool,
    source: Option<Arc<dyn Error + Send + Sync>>,
}

impl BackendError {
    /// The command surely changed nothing; another try may succeed.
    #[must_use]
    pub fn not_applied(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            applied: Applied::No,
            permanent: false,
            source: None,
        }
    }

    /// The command may have been applied; another try may succeed.
    #[must_use]
    pub fn unknown(message: impl Into<String>) -> Self {
        Self {
            applied: Applied::Unknown,
            ..Self::not_applied(message)
        }
    }

    /// Marks the error as one that no further try will mend.
    #[must_use]
    pub fn permanent(mut self) -> Self {
        self.permanent = true;
        self
    }

    /// Adds the cause.
    #[must_use]
    pub fn with_source(mut self, source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        self.source = Some(source.into().into());
        self
    }

    /// The same failure, where more is known of what was done.
    #[cfg(any(feature = "redis", feature = "zookeeper"))]
    pub(crate) fn with_applied(self, applied: Applied) -> Self {
        Self { applied, ..self }
    }

    /// The same failure, where more is known of what it is about.
    #[cfg(feature = "redis")]
    pub(crate) fn with_message(self, message: String) -> Self {
        Self { message, ..self }
    }

    /// Adds the cause, and lasts as long as it does.
    #[cfg(any(feature = "cluster", feature = "zookeeper"))]
    pub(crate) fn because_of(mut self, cause: Self) -> Self {
        self.permanent |= cause.permanent;
        self.with_source(cause)
    }

    /// Whether the command may have been applied all the same.
    #[must_use]
    pub fn applied(&self) -> Applied {
        self.applied
    }

    /// Whether another try may succeed.
    #[must_use]
    pub fn is_temporary(&self) -> bool {
        !self.permanent
    }
}

impl fmt::Display for BackendError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl Error for BackendError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.source.as_deref().map(|e| e as _)
    }
}
