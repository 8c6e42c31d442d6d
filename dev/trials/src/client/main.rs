//! A process that locks as it is told. Tests start several, and stop and kill them.
//!
//! | `client URL …` | does |
//! |---|---|
//! | `hold KEY MILLISECONDS` | takes a lock with that TTL, says `held TOKEN`, and does what its input says: see [`hold`] |
//! | `crowd KEY TASKS` | waits for KEY in TASKS tasks |
//! | `draw KEY PERMITS TASKS COUNT TTL HOLD FILE` | says `clock SECONDS`; acquires, holds and releases COUNT times in TASKS tasks, and notes it in FILE; a lock if PERMITS is 0, and else a permit of so many |
//! | `give KEY MILLISECONDS` | takes a lock with that TTL, says `ticket TICKET`, and exits without another word to the server |

#![allow(clippy::print_stdout, reason = "it talks by lines")]

mod crowd;
mod draw;
mod give;
mod hold;

use std::path::PathBuf;
use std::time::Duration;

use leasehold::LockManager;

type BoxError = Box<dyn std::error::Error + Send + Sync>;

#[tokio::main]
async fn main() -> Result<(), BoxError> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let [url, task @ ..] = &words[..] else {
        return Err("the first argument is a URL".into());
    };
    let locks = LockManager::connect(url).await?;
    match task {
        ["hold", key, ttl] => hold::hold(&locks, key, Duration::from_millis(ttl.parse()?)).await,
        ["crowd", key, tasks] => crowd::crowd(&locks, key, tasks.parse()?).await,
        ["give", key, ttl] => give::give(&locks, key, Duration::from_millis(ttl.parse()?)).await,
        ["draw", key, permits, tasks, count, ttl, hold, file] => {
            let permits = match permits.parse()? {
                0 => None,
                permits => Some(permits),
            };
            let draw = draw::Draw {
                key: (*key).to_owned(),
                tasks: tasks.parse()?,
                count: count.parse()?,
                ttl: Duration::from_millis(ttl.parse()?),
                hold: Duration::from_millis(hold.parse()?),
                permits,
                file: PathBuf::from(file),
            };
            draw.run(&locks).await
        }
        _ => Err(format!("nothing is called {task:?}").into()),
    }
}
