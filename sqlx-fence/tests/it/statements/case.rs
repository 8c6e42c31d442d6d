//! A statement with its values.

use std::borrow::Cow;

/// A value to bind.
#[derive(Debug, Clone, Copy)]
pub(crate) enum V {
    I(i64),
    T(&'static str),
}

/// A statement that must be accepted.
#[derive(Debug, Clone)]
pub(crate) struct Case {
    pub(crate) sql: Cow<'static, str>,
    pub(crate) values: Cow<'static, [V]>,
    pub(crate) target: Option<&'static str>,
}

pub(crate) const fn case(sql: &'static str, values: &'static [V]) -> Case {
    Case {
        sql: Cow::Borrowed(sql),
        values: Cow::Borrowed(values),
        target: None,
    }
}

pub(crate) const fn on(target: &'static str, sql: &'static str, values: &'static [V]) -> Case {
    Case {
        sql: Cow::Borrowed(sql),
        values: Cow::Borrowed(values),
        target: Some(target),
    }
}
