//! The error of a backend request, and whether the request was applied.

use std::error::Error;
use std::fmt;
use std::sync::Arc;

/// Whether a failed command may have been applied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Applied {
    /// The command was definitely not applied: nothing changed.
    No,
    /// The reply was lost or late: the command may have been applied, or may still be applied.
    Unknown,
}

/// A backend could not execute a command.
///
/// A busy lock is never an error.
#[derive(Debug, Clone)]
pub struct BackendError {
    message: String,
    applied: Applied,
    permanent: bool,
    source: Option<Arc<dyn Error + Send + Sync>>,
}

impl BackendError {
    /// Creates an error for a command that changed nothing; a retry may succeed.
    #[must_use]
    pub fn not_applied(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            applied: Applied::No,
            permanent: false,
            source: None,
        }
    }

    /// Creates an error for a command that may have been applied; a retry may succeed.
    #[must_use]
    pub fn unknown(message: impl Into<String>) -> Self {
        Self {
            applied: Applied::Unknown,
            ..Self::not_applied(message)
        }
    }

    /// Creates the error for a caller outside a tokio runtime, where futures cannot be awaited.
    #[must_use]
    pub fn outside_a_runtime() -> Self {
        Self::not_applied("not inside a tokio runtime; enter one first").permanent()
    }

    /// Makes the error permanent: no retry will succeed.
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

    /// Returns the same error with another `applied`.
    #[must_use]
    pub fn with_applied(self, applied: Applied) -> Self {
        Self { applied, ..self }
    }

    /// Returns the same error with another message.
    #[must_use]
    pub fn with_message(self, message: String) -> Self {
        Self { message, ..self }
    }

    /// Adds the cause; the error becomes permanent if the cause is permanent.
    #[must_use]
    pub fn because_of(mut self, cause: Self) -> Self {
        self.permanent |= cause.permanent;
        self.with_source(cause)
    }

    /// Returns whether the command may have been applied anyway.
    #[must_use]
    pub fn applied(&self) -> Applied {
        self.applied
    }

    /// Returns whether a retry may succeed.
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
