//! Whether those who wait are served in the order in which they came, and at once.

use std::collections::BTreeMap;

use crate::server::{Reply, Served};

/// How many keys and arguments the script has that takes a lock, and the one that ends what an owner has.
const ACQUIRE: (usize, usize) = (7, 12);
const LEAVE: (usize, usize) = (6, 6);

/// A lock that was released is confirmed by the next in line within this time, in microseconds. Some of those in line
/// may have lost patience, and pass it on.
const MOMENT: u64 = 700_000;

/// Those who wait for a lock, as the server heard of them, and who was granted it last.
#[derive(Default)]
struct Line {
    waiting: Vec<String>,
    holder: String,
    /// When it was released while somebody waited.
    released: Option<u64>,
}

impl Line {
    fn granted(&mut self, key: &str, owner: &String, micros: u64, found: &mut Vec<String>) {
        let ahead = self.waiting.iter().take_while(|it| *it != owner).count();
        if ahead > 0 {
            found.push(format!(
                "order: {owner} had {key} at {micros} before {ahead} others"
            ));
        }
        if let Some(released) = self.released.take()
            && micros - released > MOMENT
        {
            let told = "promptness: released at";
            found.push(format!("{told} {released}, {key} was free until {micros}"));
        }
        self.waiting.retain(|it| it != owner);
        self.holder.clone_from(owner);
    }
}

/// All who were granted an exclusive lock before somebody who had waited longer, or long after it was free.
pub(crate) fn out_of_order(served: &[Served]) -> Vec<String> {
    let mut lines: BTreeMap<&str, Line> = BTreeMap::new();
    let mut found = Vec::new();
    for Served {
        keys,
        arguments,
        reply,
        micros,
    } in served
    {
        let (Some(key), Some(owner)) = (keys.first(), arguments.first()) else {
            continue;
        };
        let line = lines.entry(key).or_default();
        let shape = (keys.len(), arguments.len());
        if shape == LEAVE {
            line.waiting.retain(|it| it != owner);
            if line.waiting.is_empty() {
                line.released = None;
            } else if passed(reply) {
                line.granted(key, &arguments[3], *micros, &mut found);
            } else if *owner == line.holder && verdict(reply) == "left" {
                line.released = Some(*micros);
            }
        }
        if shape != ACQUIRE || arguments[9] != "x" || key.ends_with(":c") {
            continue;
        }
        match verdict(reply) {
            "busy" if arguments[2] == "1" && !line.waiting.contains(owner) => {
                line.waiting.push(owner.clone());
            }
            "granted" if *owner != line.holder => line.granted(key, owner, *micros, &mut found),
            _ => {}
        }
    }
    found
}

/// Whether a release has passed the lock on, and says under which token.
fn passed(reply: &Reply) -> bool {
    matches!(reply, Reply::List(fields) if fields.len() == 2)
}

fn verdict(reply: &Reply) -> &str {
    match reply {
        Reply::List(fields) => match fields.first() {
            Some(Reply::Text(verdict)) => verdict,
            _ => "",
        },
        _ => "",
    }
}
