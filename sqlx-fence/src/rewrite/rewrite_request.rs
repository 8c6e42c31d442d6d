use super::dialect::Dialect;

/// A statement to rewrite.
#[derive(Debug, Clone, Copy, Hash)]
pub(crate) struct Asked<'a> {
    pub(crate) dialect: Dialect,
    pub(crate) column: &'a str,
    /// The written table, if the user has named it.
    pub(crate) target: Option<&'a str>,
    pub(crate) sql: &'a str,
    /// Whether the values are already bound. If so, the rewrite cannot add a value between them or remove one.
    pub(crate) is_bound: bool,
}

impl Asked<'_> {
    /// Returns whether the placeholders have no numbers, and values can only be added after the bound ones.
    pub(super) fn only_appends(&self) -> bool {
        self.is_bound && self.dialect == Dialect::MySql
    }
}
