use std::path::PathBuf;

use lexopt::prelude::{Long, Short, Value, ValueExt};

use crate::client::Task;

pub(crate) const USAGE: &str = "\
pause                      the late write is refused; with an own redis-server
pause --unfenced           the same with a plain pool: the late write is not refused
pause --url redis://HOST   with your Redis server
pause --draw FILE          the timeline as SVG";

/// The role of this process.
#[derive(Debug)]
pub(crate) enum Role {
    Story(Settings),
    /// A process that the story has started.
    Client(Task),
    Help,
}

#[derive(Debug)]
pub(crate) struct Settings {
    pub(crate) url: Option<String>,
    pub(crate) fenced: bool,
    pub(crate) draw: Option<PathBuf>,
}

pub(crate) fn role(mut words: lexopt::Parser) -> Result<Role, lexopt::Error> {
    let mut settings = Settings {
        url: None,
        fenced: true,
        draw: None,
    };
    while let Some(word) = words.next()? {
        match word {
            Long("url") => settings.url = Some(words.value()?.string()?),
            Long("unfenced") => settings.fenced = false,
            Long("draw") => settings.draw = Some(words.value()?.into()),
            Long("help") | Short('h') => return Ok(Role::Help),
            Value(role) if role == "client" => return Ok(Role::Client(task(&mut words)?)),
            other => return Err(other.unexpected()),
        }
    }
    Ok(Role::Story(settings))
}

fn task(words: &mut lexopt::Parser) -> Result<Task, lexopt::Error> {
    Ok(Task {
        url: words.value()?.string()?,
        key: words.value()?.string()?,
        file: words.value()?.into(),
        fenced: words.value()?.parse()?,
        amount: words.value()?.parse()?,
        stops: words.value()?.parse()?,
    })
}

impl Task {
    /// Returns the arguments that [`role`] parses.
    pub(crate) fn words(&self) -> [String; 7] {
        [
            "client".to_owned(),
            self.url.clone(),
            self.key.clone(),
            self.file.to_string_lossy().into_owned(),
            self.fenced.to_string(),
            self.amount.to_string(),
            self.stops.to_string(),
        ]
    }
}
