use std::borrow::Cow;

use crate::error::{Error, Position};

/// The reason why a statement is not sent: its fence would not be safe.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Refusal {
    /// The byte position of the problem.
    pub(crate) at: usize,
    pub(crate) problem: Cow<'static, str>,
    pub(crate) remedy: Cow<'static, str>,
}

impl Refusal {
    pub(crate) fn new(
        at: usize,
        problem: impl Into<Cow<'static, str>>,
        remedy: impl Into<Cow<'static, str>>,
    ) -> Self {
        Self {
            at,
            problem: problem.into(),
            remedy: remedy.into(),
        }
    }

    pub(crate) fn into_error(self, sql: &str) -> Error {
        Error::Rewrite {
            position: Position::of(sql, self.at),
            problem: self.problem.into_owned(),
            remedy: self.remedy.into_owned(),
        }
    }
}
