//! Locks on servers with replicas: which locks a failover keeps, which it loses, and which clients notice.

mod check;
mod connect_errors;
mod failover;
#[cfg(feature = "credentials-provider")]
mod password_change;
mod planned;
mod privileges;
mod servers;
mod split_brain;
mod suite;
mod tokens;
mod unreplicated_locks;
mod votes;
mod wait_for_replicas;
