//! Tests that need no server: the rules of the core, and everything on the in-process backend.

mod blocking;
mod cancellation;
mod chaos;
mod conformance;
mod current_lock;
mod distributed_lock;
mod election;
mod fence;
mod handover;
mod histories;
mod hold_at_least;
mod lazy_connect;
mod lock_set;
mod lock_set_histories;
mod manager;
mod metrics;
mod once;
mod reentrant;
mod reentrant_histories;
mod rules;
mod run;
mod schedule;
mod self_deadlock;
mod state_machine;
mod traits;
mod virtual_time;
