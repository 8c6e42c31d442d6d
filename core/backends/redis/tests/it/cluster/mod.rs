//! Locks on a Redis Cluster.

mod connect_errors;
mod notification_connections;
mod outage;
#[cfg(feature = "credentials-provider")]
mod password_change;
mod planned;
mod privileges;
mod promotion;
mod servers;
mod slot_migration;
mod slots;
mod suite;
