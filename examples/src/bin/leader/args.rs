use lexopt::prelude::{Long, Short, Value, ValueExt};

use crate::candidate::Candidate;

pub(crate) const USAGE: &str = "\
leader             three candidates, with a lock in a SQLite file
leader --url URL   with redis://…, postgres://…, or any URL for `connect`";

/// The role of this process.
#[derive(Debug)]
pub(crate) enum Role {
    Election {
        url: Option<String>,
    },
    /// A process that an election has started.
    Candidate(Candidate),
    Help,
}

pub(crate) fn role(mut words: lexopt::Parser) -> Result<Role, lexopt::Error> {
    let mut url = None;
    while let Some(word) = words.next()? {
        match word {
            Long("url") => url = Some(words.value()?.string()?),
            Long("help") | Short('h') => return Ok(Role::Help),
            Value(role) if role == "candidate" => {
                return Ok(Role::Candidate(Candidate {
                    url: words.value()?.string()?,
                    prefix: words.value()?.string()?,
                }));
            }
            other => return Err(other.unexpected()),
        }
    }
    Ok(Role::Election { url })
}

impl Candidate {
    /// Returns the arguments that [`role`] parses.
    pub(crate) fn words(&self) -> [String; 3] {
        [
            "candidate".to_owned(),
            self.url.clone(),
            self.prefix.clone(),
        ]
    }
}
