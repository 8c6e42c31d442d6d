//! Compares the simulated server with a real one. Both get the same long random sequences of Leasehold's scripts, and
//! of the commands that they call. Their common clock stands still until it is set. Every reply, all data and every
//! message to subscribers must be exactly equal. Of errors only the codes are compared.
//!
//! The environment variable `LEASEHOLD_SIMULATION_STEPS` sets the length of the sequences.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

mod both;
mod chance;
mod scripts;

use std::env;

use self::both::Both;
use self::chance::Chance;

/// The default length of a sequence. The environment variable `LEASEHOLD_SIMULATION_STEPS` overrides it.
const STEPS: u64 = 600;

#[tokio::test]
async fn scripts_and_commands_are_answered_as_by_a_real_server() {
    let steps = env::var("LEASEHOLD_SIMULATION_STEPS").ok();
    let steps = steps.map_or(STEPS, |it| it.parse().expect("it is to be a number"));
    let mut both = Both::start().await;
    for seed in 0..4 {
        let mut chance = Chance::of(seed, both.now());
        for step in 0..steps {
            let asked = chance.next();
            both.set_clock(chance.now());
            let place = format!("seed {seed} step {step}");
            both.ask(&asked, &place).await;
            both.compare_data(&place).await;
        }
        both.forget(chance.now()).await;
        both.expect_verdicts(seed);
    }
}
