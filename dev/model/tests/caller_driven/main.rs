//! Tests the caller-driven IO of the Redis connection in all thread orders with at most two preemptions. Every caller
//! gets its reply. With each mistake in the source there is an order in which a caller does not.
#![allow(clippy::unwrap_used, reason = "a test")]

// The tested source uses the lock of `parking_lot`. Here that name refers to this crate, whose lock lets loom visit all
// orders.
extern crate self as parking_lot;

use std::env;
use std::process::Command;

use loom::model::Builder;

/// The part of `parking_lot` that the source uses.
#[derive(Debug)]
pub struct Mutex<T>(loom::sync::Mutex<T>);

impl<T> Mutex<T> {
    /// Creates a mutex.
    pub fn new(value: T) -> Self {
        Self(loom::sync::Mutex::new(value))
    }

    /// Locks the mutex.
    pub fn lock(&self) -> loom::sync::MutexGuard<'_, T> {
        self.0.lock().unwrap()
    }
}

/// The environment variable that names a mistake.
const MISTAKE: &str = "LEASEHOLD_MISTAKE";

macro_rules! source {
    ($name:ident) => {
        mod $name {
            #[allow(
                unused,
                clippy::all,
                clippy::pedantic,
                reason = "it is checked where it is"
            )]
            mod drive_state {
                include!(concat!(env!("OUT_DIR"), "/", stringify!($name), ".rs"));
            }
            #[allow(dead_code, reason = "a mistake is tried in one scenario")]
            pub(super) mod scenarios {
                include!("scenarios.rs");
            }
        }
    };
}

source!(faithful);
source!(turn_wakes_no_caller_at_its_end);
source!(dropped_caller_wakes_no_other_caller);
source!(input_during_a_turn_is_ignored);
source!(unpolled_caller_is_not_replaced);

fn visit(scenario: fn()) {
    let mut builder = Builder::new();
    builder.preemption_bound = Some(2);
    builder.check(scenario);
}

#[test]
fn two_concurrent_callers_get_their_replies() {
    visit(faithful::scenarios::two_ask);
}

#[test]
fn caller_gets_its_reply_although_another_is_dropped() {
    visit(faithful::scenarios::one_leaves);
}

#[test]
fn caller_gets_its_reply_although_another_is_not_polled() {
    visit(faithful::scenarios::one_is_not_polled);
}

/// The mistakes, each with the scenario in which a caller waits forever.
const MISTAKES: [(&str, fn()); 4] = [
    (
        "turn_wakes_no_caller_at_its_end",
        turn_wakes_no_caller_at_its_end::scenarios::two_ask,
    ),
    (
        "input_during_a_turn_is_ignored",
        input_during_a_turn_is_ignored::scenarios::two_ask,
    ),
    (
        "dropped_caller_wakes_no_other_caller",
        dropped_caller_wakes_no_other_caller::scenarios::one_leaves,
    ),
    (
        "unpolled_caller_is_not_replaced",
        unpolled_caller_is_not_replaced::scenarios::one_is_not_polled,
    ),
];

/// Runs each mistake in its own process, because a process with a deadlock may abort.
#[test]
fn each_seeded_bug_is_found() {
    if let Ok(mistake) = env::var(MISTAKE) {
        let (_, scenario) = MISTAKES.iter().find(|(name, _)| *name == mistake).unwrap();
        return visit(*scenario);
    }
    for (mistake, _) in MISTAKES {
        let mut child = Command::new(env::current_exe().unwrap());
        child.args(["each_seeded_bug_is_found", "--exact", "--nocapture"]);
        let output = child.env(MISTAKE, mistake).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        let found = !output.status.success() && said.contains("deadlock; threads");
        assert!(found, "{mistake}: {said}");
    }
}
