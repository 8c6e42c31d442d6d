/// The isolation level of a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Isolation {
    /// `READ UNCOMMITTED`, which Postgres treats as `READ COMMITTED`.
    ReadUncommitted,
    /// `READ COMMITTED`, the default of Postgres.
    ReadCommitted,
    /// `REPEATABLE READ`, the default of `MySQL` and `MariaDB`.
    RepeatableRead,
    /// `SERIALIZABLE`.
    Serializable,
}

impl Isolation {
    // This method is unused without the features `mysql` and `postgres`.
    #[cfg_attr(not(any(feature = "mysql", feature = "postgres")), allow(dead_code))]
    pub(crate) const fn sql(self) -> &'static str {
        match self {
            Self::ReadUncommitted => "READ UNCOMMITTED",
            Self::ReadCommitted => "READ COMMITTED",
            Self::RepeatableRead => "REPEATABLE READ",
            Self::Serializable => "SERIALIZABLE",
        }
    }
}
