//! The schemes of the URLs of each backend. They are here, so that `connect` can name the feature of a backend that this
//! build does not have.

/// One Redis or Valkey server, the primary that Sentinels report, or a Cluster.
pub const REDIS: &[&str] = &[
    "redis",
    "rediss",
    "valkey",
    "valkeys",
    "unix",
    "redis+unix",
    "valkey+unix",
    "redis+sentinel",
    "rediss+sentinel",
    "valkey+sentinel",
    "valkeys+sentinel",
    "redis+cluster",
    "rediss+cluster",
    "valkey+cluster",
    "valkeys+cluster",
];

/// A majority of independent Redis servers.
pub const REDLOCK: &[&str] = &["redlock"];

/// A `ZooKeeper` ensemble.
pub const ZOOKEEPER: &[&str] = &["zookeeper", "zookeeper+tls"];

/// An `SQLite` file.
pub const SQLITE: &[&str] = &["sqlite"];

/// A Postgres server.
pub const POSTGRES: &[&str] = &["postgres", "postgresql"];

/// A `MySQL` or `MariaDB` server.
pub const MYSQL: &[&str] = &["mysql", "mariadb"];

/// The features of the crate `leasehold`, and the schemes that each of them adds.
pub(crate) const FEATURES: [(&str, &[&str]); 6] = [
    ("redis", REDIS),
    ("redis", REDLOCK),
    ("zookeeper", ZOOKEEPER),
    ("sqlite", SQLITE),
    ("postgres", POSTGRES),
    ("mysql", MYSQL),
];
