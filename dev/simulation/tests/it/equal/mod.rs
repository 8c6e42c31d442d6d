//! Compares the simulated server with a real one. Both get the same long random sequences of Leasehold's scripts, and
//! of the commands that they call. Their common clock stands still until it is set. Every reply, all data and every
//! message to subscribers must be exactly equal. Of errors only the codes are compared.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

mod both;
mod chance;
mod scripts;

use leasehold_testkit::depth;

use self::both::Both;
use self::chance::Chance;

/// The length of a sequence in `cargo test`.
const STEPS: u64 = 600;

#[tokio::test]
async fn simulated_server_replies_like_a_real_server() {
    let steps = depth::scaled(STEPS);
    let mut both = Both::start().await;
    for seed in depth::seed()..depth::seed() + 4 {
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
