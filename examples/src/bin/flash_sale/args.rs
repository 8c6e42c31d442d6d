use std::time::Duration;

pub(crate) const USAGE: &str = "\
flash_sale                      two processes; the shop and its locks in one SQLite file
           --database URL       the shop in postgres://…, mysql://… or sqlite:…
           --url URL            the locks elsewhere: redis://…, or any URL for `connect`
           --kill               one of the two processes is killed during the sale
           --seconds N          how long each sale is open (3)
flash_sale --serve              an interactive page
           --port N             where the page is (3000)";

/// How long a sale may be open, in seconds.
const MOST_SECONDS: u64 = 600;

/// The command.
#[derive(Debug)]
pub(crate) enum Wish {
    /// Runs three sales and compares the results.
    Compare(Settings),
    Serve {
        settings: Settings,
        port: u16,
    },
    /// Runs as the instance with this name. This program starts itself with this command.
    Instance {
        name: String,
        url: String,
        database: String,
    },
    Help,
}

#[derive(Debug)]
pub(crate) struct Settings {
    /// The URL of the lock backend. By default the locks are in the database.
    pub(crate) url: Option<String>,
    /// The URL of the database. By default it is a new file.
    pub(crate) database: Option<String>,
    pub(crate) open: Duration,
    pub(crate) kill: bool,
}

/// The reason why the arguments are invalid.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BadArgs {
    #[error(transparent)]
    Word(#[from] lexopt::Error),
    #[error("--seconds {given}: give a whole number from 1 to {MOST_SECONDS}")]
    Seconds { given: String },
    #[error("--port {given}: give a number from 0 to 65535; with 0 one is chosen")]
    Port { given: String },
    #[error("--kill and --serve do not go together: kill an instance on the page")]
    KillOnThePage,
    #[error("--port needs --serve: else there is no page")]
    NoPage,
    #[error("an instance needs its name, --url and --database; it is started by this program")]
    Instance,
}

pub(crate) fn wish(mut words: lexopt::Parser) -> Result<Wish, BadArgs> {
    use lexopt::prelude::{Long, Short, Value, ValueExt};

    let (mut url, mut database, mut name) = (None, None, None);
    let (mut kill, mut serve) = (false, false);
    let (mut open, mut port) = (Duration::from_secs(3), None);
    while let Some(word) = words.next()? {
        match word {
            Long("url") => url = Some(words.value()?.string()?),
            Long("database") => database = Some(words.value()?.string()?),
            Long("kill") => kill = true,
            Long("serve") => serve = true,
            Long("seconds") => open = seconds(words.value()?.string()?)?,
            Long("port") => port = Some(number(words.value()?.string()?)?),
            Long("instance") => name = Some(words.value()?.string()?),
            Long("help") | Short('h') => return Ok(Wish::Help),
            Value(other) => return Err(lexopt::Error::UnexpectedArgument(other).into()),
            other => return Err(other.unexpected().into()),
        }
    }
    if let Some(name) = name {
        let (url, database) = url.zip(database).ok_or(BadArgs::Instance)?;
        return Ok(Wish::Instance {
            name,
            url,
            database,
        });
    }
    match (kill, serve) {
        (true, true) => return Err(BadArgs::KillOnThePage),
        (_, false) if port.is_some() => return Err(BadArgs::NoPage),
        _ => {}
    }
    let settings = Settings {
        url,
        database,
        open,
        kill,
    };
    Ok(match serve {
        true => Wish::Serve {
            settings,
            port: port.unwrap_or(3000),
        },
        false => Wish::Compare(settings),
    })
}

fn seconds(given: String) -> Result<Duration, BadArgs> {
    match given.parse() {
        Ok(seconds @ 1..=MOST_SECONDS) => Ok(Duration::from_secs(seconds)),
        _ => Err(BadArgs::Seconds { given }),
    }
}

fn number(given: String) -> Result<u16, BadArgs> {
    given.parse().map_err(|_unreadable| BadArgs::Port { given })
}
