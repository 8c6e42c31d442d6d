use std::fmt;
use std::fs;
use std::time::Duration;

use leasehold_testkit::resp::RawClient;
use leasehold_testkit::servers::RedisServer;
use stats_alloc::INSTRUMENTED_SYSTEM;
use tokio::runtime::Handle;
use tokio::time::{Instant, sleep};

use crate::BoxError;

/// What there is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Resources {
    /// How many acquisitions have been begun until now.
    pub begun: u64,
    /// Bytes that this process has allocated and not freed; 0 if the program has not
    /// `stats_alloc::INSTRUMENTED_SYSTEM` for an allocator.
    pub heap: u64,
    /// Bytes of this process that are in memory.
    pub resident: u64,
    /// Open files and sockets of this process.
    pub files: u64,
    /// Tasks of the runtime that are alive.
    pub tasks: u64,
    /// Bytes that the server uses.
    pub server_memory: u64,
    /// Connections to the server, this count's own excluded.
    pub connections: u64,
    /// Keys on the server.
    pub keys: Keys,
}

/// Keys on the server.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Keys {
    /// Counters of tokens, which end about two days after their last use.
    pub counters: u64,
    /// Ids of cancelled acquisitions, which end within a minute.
    pub seals: u64,
    /// Those of the above that do not end by themselves.
    pub endless: Vec<String>,
    /// All others.
    pub others: Vec<String>,
}

impl Resources {
    /// Whether no more is open, or under way, than there was then.
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

/// Lets what is under way end, for at most so long, and counts.
///
/// `at_rest` says whether there is nothing more to wait for.
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

/// What there is at this moment, but for the names of keys.
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
