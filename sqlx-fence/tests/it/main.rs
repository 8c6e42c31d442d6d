//! Tests the documented behaviour of fenced statements, fenced transactions, the store and the migrations.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

mod begin;
mod depending;
mod dropped;
mod idempotency;
mod mark;
mod migrations;
mod ordered;
mod policies;
mod pool;
mod returned;
mod rows;
mod sqlx_statements;
mod store;
mod together;
mod tools;
mod typed;
mod unseen;
mod upserts;
