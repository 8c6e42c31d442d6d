//! The rules of the core, one file for each. Each test fails if its rule is broken.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "helpers of tests"
)]

mod odd_backend;
mod prompt_backend;
mod rule_1_arm_before_sending;
mod rule_2_one_id_per_attempt;
mod rule_3_deadline_from_sending;
mod rule_4_no_guard_no_body;
mod rule_5_loss_is_loud;
mod rule_6_watchdog;
mod rule_7_drop_cannot_await;
mod rule_8_say_which;
mod rule_9_one_clock;
mod tools;
