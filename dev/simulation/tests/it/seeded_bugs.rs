//! Each seeded mistake must violate a claim, otherwise the claims would prove nothing.

use std::iter;
use std::path::Path;

use leasehold_simulation::{MISTAKES, Mistake, run_mistaken};
use leasehold_testkit::depth;

/// The number of seeds that run concurrently, and the maximum number of seeds. The rarest mistake shows in about one seed
/// of 375.
const AT_ONCE: u64 = 24;
const AT_MOST: u64 = 1_440;

/// Returns the first seed of a search.
fn first_seed(mistake: Mistake) -> u64 {
    if depth::is_deep() {
        depth::seed()
    } else {
        mistake.seed
    }
}

#[test]
fn each_seeded_bug_is_found() {
    let program = Path::new(env!("CARGO_BIN_EXE_leasehold-simulation"));
    for mistake in MISTAKES {
        let first = first_seed(mistake);
        let more = (0..AT_MOST / AT_ONCE).map(|turn| {
            let next = first + 1 + turn * AT_ONCE;
            next..=next + AT_ONCE - 1
        });
        let found = iter::once(first..=first).chain(more).find_map(|seeds| {
            let report = run_mistaken(program, seeds, mistake).unwrap();
            report.failures.into_iter().next()
        });
        let (seed, said) = found.unwrap_or_else(|| panic!("{} is not found", mistake.name));
        let claim = said.lines().nth(1).unwrap_or_default();
        println!("{}: seed {seed}: {claim}", mistake.name);
    }
}
