//! Locks on a majority of real Redis servers.

mod check;
mod connecting;
mod data_loss;
mod faults;
mod fence_ttl;
mod lists;
mod nodes;
mod other_programs;
#[cfg(feature = "credentials-provider")]
mod password_change;
mod planned;
mod privileges;
mod queue_positions;
mod rollout;
mod rounds;
mod suite;
