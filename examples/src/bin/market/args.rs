use std::path::PathBuf;
use std::time::Duration;

use lexopt::prelude::{Long, Short, Value, ValueExt};

use crate::cell::{Method, Pace};
use crate::player::{Side, Task};

pub(crate) const USAGE: &str = "\
market                      nine cells of 10 s each, with an own redis-server
market --url redis://HOST   with your Redis server
market --seconds 60         seconds per cell; at least 0.1
market --decide 0           milliseconds between reading and buying an item; 0 by default
market --json FILE          the results as JSON
market --charts FOLDER      three charts: bought.svg, retries.svg, wait.svg";

const SECONDS: Duration = Duration::from_secs(10);
const LEAST: Duration = Duration::from_millis(100);
const MOST: Duration = Duration::from_secs(3600);
const DECISION: Duration = Duration::ZERO;

/// The role of this process.
#[derive(Debug)]
pub(crate) enum Role {
    Market(Settings),
    /// A process that a market has started.
    Player(Task),
    Help,
}

#[derive(Debug)]
pub(crate) struct Settings {
    pub(crate) url: Option<String>,
    pub(crate) pace: Pace,
    pub(crate) json: Option<PathBuf>,
    pub(crate) charts: Option<PathBuf>,
}

pub(crate) fn role(mut words: lexopt::Parser) -> Result<Role, lexopt::Error> {
    let mut settings = Settings {
        url: None,
        pace: Pace {
            length: SECONDS,
            decision: DECISION,
        },
        json: None,
        charts: None,
    };
    while let Some(word) = words.next()? {
        match word {
            Long("url") => settings.url = Some(words.value()?.string()?),
            Long("seconds") => settings.pace.length = words.value()?.parse_with(length)?,
            Long("decide") => settings.pace.decision = words.value()?.parse_with(decision)?,
            Long("json") => settings.json = Some(words.value()?.into()),
            Long("charts") => settings.charts = Some(words.value()?.into()),
            Long("help") | Short('h') => return Ok(Role::Help),
            Value(role) if role == "player" => return Ok(Role::Player(task(&mut words)?)),
            other => return Err(other.unexpected()),
        }
    }
    Ok(Role::Market(settings))
}

fn length(text: &str) -> Result<Duration, String> {
    let length = text
        .parse()
        .ok()
        .and_then(|it| Duration::try_from_secs_f64(it).ok());
    match length {
        Some(length) if (LEAST..=MOST).contains(&length) => Ok(length),
        _ => Err(format!("from {LEAST:?} to {MOST:?}, in seconds")),
    }
}

fn decision(text: &str) -> Result<Duration, String> {
    match text.parse() {
        Ok(millis @ 0..=1000) => Ok(Duration::from_millis(millis)),
        _ => Err("from 0 to 1000, in milliseconds".to_owned()),
    }
}

fn task(words: &mut lexopt::Parser) -> Result<Task, lexopt::Error> {
    Ok(Task {
        url: words.value()?.string()?,
        prefix: words.value()?.string()?,
        method: words
            .value()?
            .parse_with(|name| Method::named(name).ok_or("unknown method"))?,
        side: words
            .value()?
            .parse_with(|name| Side::named(name).ok_or("unknown side"))?,
        number: words.value()?.parse()?,
        pace: Pace {
            length: Duration::from_micros(words.value()?.parse()?),
            decision: Duration::from_micros(words.value()?.parse()?),
        },
    })
}

impl Task {
    /// Returns the arguments that [`role`] parses.
    pub(crate) fn words(&self) -> [String; 8] {
        [
            "player".to_owned(),
            self.url.clone(),
            self.prefix.clone(),
            self.method.name().to_owned(),
            self.side.name().to_owned(),
            self.number.to_string(),
            self.pace.length.as_micros().to_string(),
            self.pace.decision.as_micros().to_string(),
        ]
    }
}
