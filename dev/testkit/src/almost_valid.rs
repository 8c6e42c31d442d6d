//! Generates almost valid texts for the tests of parsers.

use std::time::{Duration, Instant};

use crate::depth;
use fastrand::Rng;

/// The number of texts for the test of each parser in `cargo test`.
const TEXTS: u64 = 5_000;

/// The length of the longest text, in characters.
const LONGEST: usize = 2000;

/// Passes randomly modified copies of the valid texts to `reader`.
///
/// # Panics
///
/// Panics if `reader` does, or takes 10 s for a text.
pub fn try_on(understood: &[&str], reader: impl Fn(&str)) {
    let mut random = Rng::with_seed(depth::seed());
    for _ in 0..depth::scaled(TEXTS) {
        let text = garbled(understood, &mut random);
        let started = Instant::now();
        reader(&text);
        assert!(
            started.elapsed() < Duration::from_secs(10),
            "{text:?} takes too long"
        );
    }
}

fn garbled(understood: &[&str], random: &mut Rng) -> String {
    let any = |random: &mut Rng| understood[random.usize(0..understood.len())];
    let mut text: Vec<char> = any(random).chars().collect();
    for _ in 0..random.usize(0..8) {
        let at = random.usize(0..text.len() + 1);
        let to = random.usize(at..text.len() + 1).min(at + 12);
        let new: Vec<char> = match random.u32(0..8) {
            0 => Vec::new(),
            1 => vec![random.char(..)],
            2 => vec![random.char(' '..='~')],
            3 => text[at..to].repeat(random.usize(1..4)),
            4 => any(random).chars().skip(random.usize(0..20)).collect(),
            5 => random.u64(..).to_string().chars().collect(),
            _ => {
                let marks = [
                    "://", ":", "/", "@", ",", "?", "&", "=", "%", "%00", "%zz", "[", "]", "[::1]",
                    "{", "}", "{}", "#", "+", "\u{0}", "\n", " ", "é", "😀", "..", "-1", "0",
                    "65536", ":lh1:",
                ];
                marks[random.usize(0..marks.len())].chars().collect()
            }
        };
        text.splice(at..to, new);
        text.truncate(LONGEST);
    }
    text.into_iter().collect()
}
