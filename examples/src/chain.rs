use std::error::Error;
use std::fmt;

/// Displays an error with its causes: `outer: inner: innermost`. Repeated texts are omitted.
#[derive(Debug)]
pub struct Chain<'a>(pub &'a dyn Error);

impl fmt::Display for Chain<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut said = self.0.to_string();
        f.write_str(&said)?;
        let mut cause = self.0.source();
        while let Some(error) = cause {
            let more = error.to_string();
            // Some errors include the text of their cause.
            if !said.ends_with(&more) {
                write!(f, ": {more}")?;
                said = more;
            }
            cause = error.source();
        }
        Ok(())
    }
}
