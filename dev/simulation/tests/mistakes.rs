//! Each seeded mistake must violate a claim, otherwise the claims would prove nothing.

use std::path::Path;

use leasehold_simulation::{MISTAKES, run_mistaken};

/// The number of seeds that run concurrently, and the maximum number of seeds. The rarest mistake shows in about one seed
/// of 375.
const AT_ONCE: u64 = 24;
const AT_MOST: u64 = 1_440;

#[test]
fn each_mistake_is_found() {
    let program = Path::new(env!("CARGO_BIN_EXE_leasehold-simulation"));
    for mistake in MISTAKES {
        let found = (0..AT_MOST / AT_ONCE).find_map(|turn| {
            let seeds = turn * AT_ONCE + 1..=(turn + 1) * AT_ONCE;
            let report = run_mistaken(program, seeds, mistake).unwrap();
            report.failures.into_iter().next()
        });
        let (seed, said) = found.unwrap_or_else(|| panic!("{} is not found", mistake.name));
        let claim = said.lines().nth(1).unwrap_or_default();
        println!("{}: seed {seed}: {claim}", mistake.name);
    }
}
