//! The results of several seeds.

use std::collections::BTreeMap;
use std::fmt;

/// The results of several seeds.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// The counts of events of all seeds.
    pub counts: BTreeMap<String, u64>,
    /// The hash of each seed's history.
    pub hashes: BTreeMap<u64, String>,
    /// The output of seeds that violated a claim, or did not end.
    pub failures: BTreeMap<u64, String>,
}

impl Report {
    /// Adds the result of a seed: `hash 0f5b grants 12 lost 3 …`, and further lines if it failed.
    pub(crate) fn add(&mut self, seed: u64, is_good: bool, said: &str) {
        let mut words = said.lines().next().unwrap_or_default().split(' ');
        while let (Some(name), Some(value)) = (words.next(), words.next()) {
            if name == "hash" {
                self.hashes.insert(seed, value.to_owned());
            } else if let Ok(count) = value.parse::<u64>() {
                *self.counts.entry(name.to_owned()).or_default() += count;
            }
        }
        if !is_good {
            self.failures.insert(seed, said.to_owned());
        }
    }

    pub(crate) fn join(&mut self, other: Self) {
        self.hashes.extend(other.hashes);
        self.failures.extend(other.failures);
        for (name, count) in other.counts {
            *self.counts.entry(name).or_default() += count;
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (seed, said) in &self.failures {
            writeln!(
                f,
                "seed {seed} failed; run it again with --seed {seed}\n{said}"
            )?;
        }
        write!(
            f,
            "{} seeds, {} failed",
            self.hashes.len(),
            self.failures.len()
        )?;
        for (name, count) in &self.counts {
            write!(f, ", {name} {count}")?;
        }
        Ok(())
    }
}
