//! Elections in process: the order of terms, the end of a term in each possible way, and outages.
#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

mod ends;
mod observing;
mod order;
mod outages;
mod tools;
