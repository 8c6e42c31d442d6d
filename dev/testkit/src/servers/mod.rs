//! Real servers on free ports with their own folders. They end with the test.
//!
//! ```no_run
//! # use leasehold_testkit::servers::{RedisServer, ServerError};
//! # async fn example() -> Result<(), ServerError> {
//! let server = RedisServer::start().await?;
//! let url = server.url(); // redis://127.0.0.1:37123
//! server.pause()?; // the server hangs
//! server.resume()?;
//! server.restart().await?; // the server has lost its data
//! # Ok(())
//! # }
//! ```

mod args;
mod builder;
mod certificates;
mod chromedriver;
mod cluster;
mod error;
mod folder;
mod instance;
mod login;
mod mariadb;
mod pgbouncer;
mod postgres;
mod redis;
mod replicated;
mod replicated_postgres;
mod sentinel;
mod sentinels;
mod settings;
mod setup;
mod template;
mod zookeeper;
mod zookeeper_builder;
mod zookeeper_ensemble;
mod zookeeper_settings;

pub use builder::RedisBuilder;
pub use certificates::Certificates;
pub use chromedriver::ChromeDriver;
pub use cluster::ClusterRedis;
pub use error::ServerError;
pub use instance::Instance;
pub use mariadb::MariaDbServer;
pub use pgbouncer::PgBouncerServer;
pub use postgres::{PostgresBuilder, PostgresServer};
pub use redis::RedisServer;
pub use replicated::ReplicatedRedis;
pub use replicated_postgres::ReplicatedPostgres;
pub use sentinel::SentinelServer;
pub use sentinels::SentinelRedis;
pub use zookeeper::ZooKeeperServer;
pub use zookeeper_builder::ZooKeeperBuilder;
pub use zookeeper_ensemble::ZooKeeperEnsemble;
