//! Tests on real databases: fenced statements and transactions, and locks as rows.

mod backend;
mod fence;
mod locked;
mod paused;
mod races;
mod statements;
