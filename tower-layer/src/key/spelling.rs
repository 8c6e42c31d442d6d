//! Formats equal values of a typed parameter in the same way.

use std::borrow::Cow;
use std::fmt::Display;
use std::str::FromStr;

use crate::{Problem, ProblemKind};

/// The parameters that have a type.
#[derive(Debug, Clone, Default)]
pub(super) struct Spelling(Vec<Typed>);

#[derive(Debug, Clone)]
struct Typed {
    parameter: String,
    respell: fn(&str) -> Option<String>,
}

impl Spelling {
    pub(super) fn is_of<T: FromStr + Display>(&mut self, parameter: &str) {
        self.0.push(Typed {
            parameter: parameter.to_owned(),
            respell: |text| Some(text.parse::<T>().ok()?.to_string()),
        });
    }

    pub(super) fn of<'v>(
        &self,
        parameter: &str,
        text: Cow<'v, str>,
    ) -> Result<Cow<'v, str>, Problem> {
        if let Some(at) = text.find(char::is_control) {
            let detail = format!(
                "byte {at} of `{parameter}` in the path starts a control character; remove it"
            );
            return Err(Problem::new(ProblemKind::InvalidKey).with_detail(detail));
        }
        let Some(typed) = self.0.iter().find(|it| it.parameter == parameter) else {
            return Ok(text);
        };
        (typed.respell)(&text).map(Cow::Owned).ok_or_else(|| {
            let detail = format!("`{parameter}` in the path cannot be parsed as the expected type");
            Problem::new(ProblemKind::InvalidKey).with_detail(detail)
        })
    }
}
