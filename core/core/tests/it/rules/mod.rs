//! The rules of the core, one file for each. Each test fails if its rule is broken.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "helpers of tests"
)]

mod immediate_backend;
mod rule_1_prepare_cleanup_before_sending;
mod rule_2_one_id_per_attempt;
mod rule_3_deadline_from_sending;
mod rule_4_no_body_without_guard;
mod rule_5_loss_is_reported;
mod rule_6_watchdog;
mod rule_7_drop_cannot_await;
mod rule_8_distinct_errors;
mod rule_9_one_clock;
mod tools;
mod unusual_backend;
