//! Stores how the handler reads each parameter. Formats equal values of a typed parameter in the same way.

use std::borrow::Cow;
use std::fmt::Display;
use std::str::FromStr;

use crate::{Problem, ProblemKind};

/// The parameters that are declared.
#[derive(Debug, Clone, Default)]
pub(super) struct Spelling(Vec<Declared>);

#[derive(Debug, Clone)]
struct Declared {
    parameter: String,
    respell: fn(&str) -> Option<String>,
}

impl Spelling {
    pub(super) fn is_of<T: FromStr + Display>(&mut self, parameter: &str) {
        self.declare(parameter, |text| Some(text.parse::<T>().ok()?.to_string()));
    }

    pub(super) fn is_raw(&mut self, parameter: &str) {
        self.declare(parameter, |text| Some(text.to_owned()));
    }

    fn declare(&mut self, parameter: &str, respell: fn(&str) -> Option<String>) {
        self.0.push(Declared {
            parameter: parameter.to_owned(),
            respell,
        });
    }

    pub(super) fn of(&self, parameter: &str, text: &str) -> Result<Cow<'static, str>, Problem> {
        let Some(declared) = self.0.iter().find(|it| it.parameter == parameter) else {
            let detail = format!(
                "the key's parameter `{parameter}` is not declared; add `.typed::<T>(\"{parameter}\")` or `.raw(\"{parameter}\")`"
            );
            return Err(Problem::new(ProblemKind::Misconfigured).with_detail(detail));
        };
        if let Some(at) = text.find(char::is_control) {
            let detail = format!(
                "byte {at} of `{parameter}` in the path starts a control character; remove it"
            );
            return Err(Problem::new(ProblemKind::InvalidKey).with_detail(detail));
        }
        (declared.respell)(text).map(Cow::Owned).ok_or_else(|| {
            let detail = format!("`{parameter}` in the path cannot be parsed as the expected type");
            Problem::new(ProblemKind::InvalidKey).with_detail(detail)
        })
    }
}
