//! Writes an error together with its causes.

use std::error::Error;
use std::fmt;

/// Writes an error and its causes, as `error: cause: cause of the cause`. A cause that the text before it ends with is left
/// out: errors of the crates `redis` and `sqlx` contain their causes.
#[derive(Debug)]
pub struct WithCauses<'a>(pub &'a (dyn Error + 'static));

impl fmt::Display for WithCauses<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut last = self.0.to_string();
        f.write_str(&last)?;
        let mut next = self.0.source();
        while let Some(cause) = next {
            let text = cause.to_string();
            if !last.ends_with(&text) {
                write!(f, ": {text}")?;
            }
            last = text;
            next = cause.source();
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::BackendError;

    #[test]
    fn a_cause_that_the_error_contains_is_written_once() {
        let cause = || BackendError::not_applied("refused");
        for (message, text) in [
            ("the database: refused", "the database: refused"),
            ("the database failed", "the database failed: refused"),
        ] {
            let error = BackendError::not_applied(message).with_source(cause());
            assert_eq!(WithCauses(&error).to_string(), text);
        }
    }
}
