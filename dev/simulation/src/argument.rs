//! The command line.

use crate::mistakes::Mistake;
use lexopt::prelude::{Long, Short, ValueExt};

/// The usage text.
pub const USAGE: &str = "\
leasehold-simulation                      1 000 seeds
leasehold-simulation --seeds N            N of them
leasehold-simulation --seeds N --from S   N of them, from S on
leasehold-simulation --seed S             one of them, with its history
leasehold-simulation --mistake NAME       a mistake, with any of the above but --seed";

/// The command of the caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wish {
    /// Run several seeds, one after the other.
    Many {
        /// The first seed.
        from: u64,
        /// The number of seeds.
        seeds: u64,
        /// The seeded mistake.
        mistake: Option<Mistake>,
    },
    /// Run one seed, and print its history.
    One(u64),
    /// Print the usage text.
    Help,
}

/// Parses the command line.
///
/// # Errors
///
/// Returns [`lexopt::Error`] for arguments that are not in [`USAGE`].
pub fn wish(mut words: lexopt::Parser) -> Result<Wish, lexopt::Error> {
    let (mut from, mut seeds, mut one, mut mistake) = (1, 1000, None, None);
    while let Some(word) = words.next()? {
        match word {
            Long("seeds") => seeds = words.value()?.parse()?,
            Long("from") => from = words.value()?.parse()?,
            Long("seed") => one = Some(words.value()?.parse()?),
            Long("mistake") => {
                let name = words.value()?.string()?;
                let named = Mistake::named(&name);
                let unknown = || format!("there is no mistake `{name}`; see `MISTAKES`");
                mistake = Some(named.ok_or_else(unknown)?);
            }
            Long("help") | Short('h') => return Ok(Wish::Help),
            other => return Err(other.unexpected()),
        }
    }
    Ok(one.map_or(
        Wish::Many {
            from,
            seeds,
            mistake,
        },
        Wish::One,
    ))
}
