//! The commands that the server executed for one key, in order. `MONITOR` returns each command of each script.

use std::time::Duration;

use futures_util::StreamExt;
use leasehold_testkit::history::Queue;
use redis::{Client, RedisError};
use tokio::task::JoinHandle;

/// An event of the lock `lock:k`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// An attempt entered the queue.
    Queued(String),
    /// An attempt was granted the lock, with a token.
    Granted(String),
    /// An attempt has left the queue, because it was granted the lock, gave up or died.
    Left(String),
}

/// An event with its time by the server's clock.
#[derive(Debug, Clone)]
pub struct Seen {
    /// Microseconds since 1970.
    pub at: Duration,
    /// The event.
    pub event: Event,
}

/// The command whose line ends a watch. The server executes it after all commands that the watch has to see.
const END: &str = "the watch ends here";

/// Watches a server until it is stopped.
#[derive(Debug)]
pub struct Watch {
    client: Client,
    seen: JoinHandle<Vec<Seen>>,
}

impl Watch {
    /// Starts watching.
    ///
    /// # Errors
    ///
    /// Returns an error if the server does not allow it.
    pub async fn start(url: &str) -> Result<Self, RedisError> {
        let client = Client::open(url)?;
        let mut lines = client
            .get_async_monitor()
            .await?
            .into_on_message::<String>();
        let seen = tokio::spawn(async move {
            let (mut seen, mut counter) = (Vec::new(), Counter::default());
            while let Some(line) = lines.next().await {
                if line.contains(END) {
                    break;
                }
                counter.follow(&line, &mut seen);
            }
            seen
        });
        Ok(Self { client, seen })
    }

    /// Stops, and returns the events of all commands before, in order.
    ///
    /// # Errors
    ///
    /// Returns an error if the server does not reply.
    pub async fn end(self) -> Result<Vec<Seen>, RedisError> {
        let mut connection = self.client.get_multiplexed_async_connection().await?;
        let _echo: String = redis::cmd("ECHO")
            .arg(END)
            .query_async(&mut connection)
            .await?;
        Ok(self.seen.await.unwrap_or_default())
    }
}

/// The current and the previous value of the lock's counter.
#[derive(Debug, Default)]
struct Counter {
    now: String,
    before: String,
}

impl Counter {
    /// Records the event of a line. A script may write the counter, find that it cannot grant the lock, and restore the
    /// previous value. Then the lock was not granted.
    fn follow(&mut self, line: &str, seen: &mut Vec<Seen>) {
        let words = words(line);
        if let ["SET", FENCE, record, ..] = words[..] {
            if record == self.before && words.ends_with(&["KEEPTTL"]) {
                self.now = record.to_owned();
                seen.pop();
                return;
            }
            self.before = std::mem::replace(&mut self.now, record.to_owned());
        }
        seen.extend(read(line).into_iter().flatten());
    }
}

const FENCE: &str = "{lock:k}:lh1:fence";

fn words(line: &str) -> Vec<&str> {
    line.split('"').skip(1).step_by(2).collect()
}

/// Parses a line such as `1700000000.123456 [0 lua] "SET" "lock:k" "…" "PX" "2000"`.
fn read(line: &str) -> Option<Vec<Seen>> {
    let (at, _) = line.split_once(' ')?;
    let (seconds, micros) = at.split_once('.')?;
    let at =
        Duration::from_secs(seconds.parse().ok()?) + Duration::from_micros(micros.parse().ok()?);
    let left = |owner: &&str| Event::Left((*owner).to_owned());
    let events = match &words(line)[..] {
        ["ZADD", "{lock:k}:lh1:queue", "NX", _, owner] => vec![Event::Queued((*owner).to_owned())],
        ["ZREM", "{lock:k}:lh1:queue", owners @ ..] => owners.iter().map(left).collect(),
        ["SET", FENCE, record, "PX", _] | ["SET", FENCE, record, "KEEPTTL", ..] => {
            vec![Event::Granted(record.split_once(' ')?.1.to_owned())]
        }
        _ => return None,
    };
    let seen = |event| Seen { at, event };
    Some(events.into_iter().map(seen).collect())
}

/// Returns the grants to an attempt that was not the first in the queue.
#[must_use]
pub fn out_of_turn(seen: &[Seen]) -> Vec<Seen> {
    let mut queue = Queue::default();
    let mut found = Vec::new();
    // The first attempt in the queue, if it has just left.
    let mut was_first = None;
    for step in seen {
        let just_left = was_first.take();
        match &step.event {
            Event::Queued(owner) => queue.enter(owner),
            // A grant comes before its owner leaves the queue, or directly after.
            Event::Granted(owner) => {
                if queue.ahead_of(owner) > 0 && just_left != Some(owner) {
                    found.push(step.clone());
                }
            }
            Event::Left(owner) => was_first = queue.leave(owner).then_some(owner),
        }
    }
    found
}

/// Returns the number of grants.
#[must_use]
pub fn grants(seen: &[Seen]) -> usize {
    let granted = |step: &&Seen| matches!(step.event, Event::Granted(_));
    seen.iter().filter(granted).count()
}

/// Returns the longest time between two grants.
#[must_use]
pub fn longest_gap(seen: &[Seen]) -> Duration {
    let granted = |step: &&Seen| matches!(step.event, Event::Granted(_));
    let at: Vec<Duration> = seen.iter().filter(granted).map(|step| step.at).collect();
    let gaps = at.windows(2).map(|pair| pair[1].saturating_sub(pair[0]));
    gaps.max().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(events: &[Event]) -> Vec<Seen> {
        let at = Duration::ZERO;
        let seen = events.iter().map(|event| Seen {
            at,
            event: event.clone(),
        });
        seen.collect()
    }

    #[test]
    fn a_grant_out_of_turn_is_found() {
        let queued = |owner: &str| Event::Queued(owner.to_owned());
        let granted = |owner: &str| Event::Granted(owner.to_owned());
        let left = |owner: &str| Event::Left(owner.to_owned());
        let fair = [
            queued("a"),
            queued("b"),
            granted("a"),
            left("a"),
            granted("b"),
        ];
        assert!(out_of_turn(&seen(&fair)).is_empty());
        let again = [queued("a"), queued("b"), queued("a"), granted("a")];
        assert!(out_of_turn(&seen(&again)).is_empty());
        let barged = [queued("a"), granted("b")];
        assert_eq!(out_of_turn(&seen(&barged)).len(), 1);
        let passed_on = [queued("a"), queued("b"), left("c"), left("a"), granted("a")];
        assert!(out_of_turn(&seen(&passed_on)).is_empty());
        let gave_up = [queued("a"), queued("b"), left("a"), granted("b")];
        assert!(out_of_turn(&seen(&gave_up)).is_empty());
        let barged = [queued("a"), queued("b"), left("a"), granted("c")];
        assert_eq!(out_of_turn(&seen(&barged)).len(), 1);
        let barged = [queued("a"), queued("b"), left("b"), granted("b")];
        assert_eq!(out_of_turn(&seen(&barged)).len(), 1);
    }

    #[test]
    fn monitor_output_of_the_server_is_parsed() {
        let line = r#"1795269.000002 [0 lua] "ZADD" "{lock:k}:lh1:queue" "NX" "7" "a-b""#;
        let events = |line| {
            let seen = read(line).unwrap().into_iter();
            let seen = seen.map(|seen| (seen.at.as_micros(), seen.event));
            seen.collect::<Vec<_>>()
        };
        let at = 1_795_269_000_002;
        assert_eq!(events(line), [(at, Event::Queued("a-b".to_owned()))]);
        let line = r#"1795269.000002 [0 lua] "ZREM" "{lock:k}:lh1:queue" "a" "b""#;
        let left = ["a", "b"].map(|owner| (at, Event::Left(owner.to_owned())));
        assert_eq!(events(line), left);
    }

    #[test]
    fn token_counter_that_is_restored_is_not_a_grant() {
        let (mut seen, mut counter) = (Vec::new(), Counter::default());
        let granted = |owner: &str| Event::Granted(owner.to_owned());
        for (how, events) in [
            (r#""1 a" "PX" "172800000""#, &[granted("a")][..]),
            (r#""2 b" "KEEPTTL" "GET""#, &[granted("b")]),
            (r#""3 c" "KEEPTTL""#, &[granted("c")]),
            (r#""4 d" "KEEPTTL" "GET""#, &[granted("d")]),
            (r#""3 c" "KEEPTTL""#, &[]),
            (r#""5 e" "PX" "172800000""#, &[granted("e")]),
        ] {
            let was = seen.len();
            let line = format!(r#"1795269.000002 [0 lua] "SET" "{FENCE}" {how}"#);
            counter.follow(&line, &mut seen);
            if events.is_empty() {
                assert_eq!(seen.len(), was - 1, "{how}");
            } else {
                assert_eq!(
                    seen[was..].iter().map(|it| &it.event).collect::<Vec<_>>(),
                    events.iter().collect::<Vec<_>>()
                );
            }
        }
    }
}
