//! A statement, and its values.

/// A value to bind.
#[derive(Debug, Clone, Copy)]
pub(crate) enum V {
    I(i64),
    T(&'static str),
}

/// A statement that must be accepted.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Case {
    pub(crate) sql: &'static str,
    pub(crate) values: &'static [V],
    pub(crate) target: Option<&'static str>,
}

pub(crate) const fn case(sql: &'static str, values: &'static [V]) -> Case {
    Case {
        sql,
        values,
        target: None,
    }
}

pub(crate) const fn on(target: &'static str, sql: &'static str, values: &'static [V]) -> Case {
    Case {
        sql,
        values,
        target: Some(target),
    }
}
