//! Random histories of one key with several concurrent holders: readers and writers, or permits of a semaphore. And
//! histories of one key with exclusive holders that record outcomes. Each history runs on a backend: a [`Place`].
//!
//! Each answer and the resulting state of the key are compared with a model: a simple list of holders and a simple
//! queue. Time is an event of the history: it ends the lease of a holder, and on a server the position of a waiter.
//! Locks are downgraded, handed over and force-released, waiters give up, and the process of a waiter stops listening.
//!
//! Each step checks the holders and the number of waiters. It also checks that no request overtakes a waiter, and that
//! tokens grow as each kind promises.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a part of tests"
)]

mod model;
mod place;
mod run;
mod step;
mod tally;
mod tokens;
mod world;

pub use place::Place;
pub use run::run;
pub use step::{Family, Id, Once, PROCESSES, Permits, ReadWrite, process};

/// Defines a test for each name, with a [`Family`] and a [`Place`], of this number of histories. Each event that a
/// history can contain must happen at least `ENOUGH` times.
#[macro_export]
macro_rules! histories {
    ($cases:literal, $enough:literal; $($name:ident: $family:ty, $place:ty;)+) => {
        $(
            mod $name {
                use super::*;

                #[test]
                fn each_random_history_matches_the_model() {
                    $crate::run::<$family, $place>($cases, $enough);
                }
            }
        )+
    };
}
