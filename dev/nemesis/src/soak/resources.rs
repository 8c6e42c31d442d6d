use std::fmt;
use std::fs;
use std::time::Duration;

use leasehold_testkit::resp::RawClient;
use leasehold_testkit::servers::RedisServer;
use stats_alloc::INSTRUMENTED_SYSTEM;
use tokio::runtime::Handle;
use tokio::time::{Instant, sleep};

use crate::BoxError;

/// The counted resources.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Resources {
    /// The number of acquisitions so far.
    pub begun: u64,
    /// The allocated bytes of this process. It is 0 if the program does not use `stats_alloc::INSTRUMENTED_SYSTEM` as
    /// its allocator.
    pub heap: u64,
    /// The resident memory of this process, in bytes.
    pub resident: u64,
    /// The open files and sockets of this process.
    pub files: u64,
    /// The living tasks of the runtime.
    pub tasks: u64,
    /// The memory of the server, in bytes.
    pub server_memory: u64,
    /// The connections to the server, except the one of this count.
    pub connections: u64,
    /// The keys on the server.
    pub keys: Keys,
}

/// The keys on the server.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Keys {
    /// Counters of tokens, which expire about two days after their last use.
    pub counters: u64,
    /// Tombstones of cancelled acquisitions, which expire within a minute.
    pub seals: u64,
    /// Counters and tombstones without a TTL.
    pub endless: Vec<String>,
    /// All other keys.
    pub others: Vec<String>,
}

impl Resources {
    /// Returns whether the number of open connections, files and tasks has not grown.
    pub(super) fn is_as_small_as(&self, then: &Self) -> bool {
        let open = |it: &Self| [it.connections, it.files, it.tasks];
        open(self)
            .iter()
            .zip(open(then))
            .all(|(now, then)| *now <= then)
    }
}

impl Keys {
    async fn read(raw: &mut RawClient) -> Result<Self, BoxError> {
        let mut keys = Self::default();
        for key in raw.command(["KEYS", "*"]).await?.items() {
            let key = key.text().unwrap_or("a key that is no text");
            let is_counter = key.ends_with(":lh1:fence");
            let is_seal = key.contains(":lh1:sealed:");
            keys.counters += u64::from(is_counter);
            keys.seals += u64::from(is_seal);
            if !is_counter && !is_seal {
                keys.others.push(key.to_owned());
            }
        }
        Ok(keys)
    }

    async fn find_endless(&mut self, raw: &mut RawClient) -> Result<(), BoxError> {
        for key in raw.command(["KEYS", "*:lh1:*"]).await?.items() {
            let key = key.text().unwrap_or_default();
            if raw.command(["PTTL", key]).await?.int() == Some(-1) {
                self.endless.push(key.to_owned());
            }
        }
        Ok(())
    }
}

/// Waits until all tasks are idle, for a limited time, and counts.
///
/// `at_rest` returns whether all tasks are idle.
pub(super) async fn take(
    server: &RedisServer,
    begun: u64,
    patience: Duration,
    at_rest: impl Fn(&Resources) -> bool,
) -> Result<Resources, BoxError> {
    let mut raw = server.client().await?;
    let begin = Instant::now();
    loop {
        let mut resources = look(&mut raw, begun).await?;
        resources.keys = Keys::read(&mut raw).await?;
        if (resources.keys.others.is_empty() && at_rest(&resources)) || begin.elapsed() > patience {
            resources.keys.find_endless(&mut raw).await?;
            return Ok(resources);
        }
        sleep(Duration::from_millis(200)).await;
    }
}

/// Counts the current resources, without the names of keys.
pub(super) async fn look(raw: &mut RawClient, begun: u64) -> Result<Resources, BoxError> {
    let info = raw.command(["INFO"]).await?;
    let info = info.text().unwrap_or_default();
    let allocated = INSTRUMENTED_SYSTEM.stats();
    Ok(Resources {
        begun,
        heap: (allocated.bytes_allocated as u64).saturating_sub(allocated.bytes_deallocated as u64),
        resident: resident()?,
        files: fs::read_dir("/proc/self/fd")?.count() as u64,
        tasks: Handle::current().metrics().num_alive_tasks() as u64,
        server_memory: field(info, "used_memory")?,
        connections: field(info, "connected_clients")?.saturating_sub(1),
        keys: Keys::default(),
    })
}

fn field(info: &str, name: &str) -> Result<u64, BoxError> {
    let mut lines = info.lines();
    let value = lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    let value = value.ok_or_else(|| format!("the server's INFO has no {name}"))?;
    Ok(value.trim().parse()?)
}

fn resident() -> Result<u64, BoxError> {
    let status = fs::read_to_string("/proc/self/status")?;
    let mut lines = status.lines();
    let kib = lines.find_map(|line| line.strip_prefix("VmRSS:")?.strip_suffix("kB"));
    let kib = kib.ok_or("/proc/self/status has no VmRSS")?;
    Ok(kib.trim().parse::<u64>()? * 1024)
}

impl fmt::Display for Resources {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Keys {
            counters,
            seals,
            others,
            ..
        } = &self.keys;
        write!(
            f,
            "heap {} KiB, resident {} KiB, files {}, tasks {}; server {} KiB, connections {}; keys {}, besides {counters} \
             counters and {seals} seals",
            self.heap / 1024,
            self.resident / 1024,
            self.files,
            self.tasks,
            self.server_memory / 1024,
            self.connections,
            others.len(),
        )
    }
}
