//! Tests the documented behaviour of fenced statements, fenced transactions, the store and the migrations.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

mod begin;
mod conditional_writes;
mod dependent_conditions;
mod documented_limits;
mod dropped;
mod idempotency;
mod limit_clause;
mod mariadb_returning;
mod migrations;
mod pool;
mod queries_inside_begin;
mod read_only;
mod row_security;
mod rows;
mod sqlx_statements;
mod store;
mod tables;
mod tools;
mod typed_rows;
mod upserts;
