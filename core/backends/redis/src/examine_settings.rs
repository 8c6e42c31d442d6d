//! Examines the settings of the servers.

use std::collections::HashMap;
use std::time::Duration;

use redis::{Cmd, FromRedisValue, Value, cmd};

use super::protocol::reply::{self, info_field};
use super::topology::Topology;
use leasehold_core::backend::support::clock::micros_of_day;
use leasehold_core::backend::{BackendError, Finding};

const EXCLUSION: &str = "exclusion";
const LOST_DATA: &str = "exclusion, tokens (T3)";
const SPLIT_BRAIN: &str = "exclusion, tokens (T3, T4)";
const CLOCKS: &str = "tokens (T3, T4)";
const LIVENESS: &str = "liveness";

/// The settings that `INFO` does not contain.
const SETTINGS: [&str; 4] = [
    "appendfsync",
    "min-replicas-to-write",
    "maxclients",
    "timeout",
];

/// A smaller difference may be a delay of the network.
const LARGE_CLOCK_OFFSET: Duration = Duration::from_secs(1);

/// A server with a shorter timeout closes connections that the locks still use.
const SHORT_IDLE_TIMEOUT: u64 = 60;

/// A server that answers commands, or a number that no server of the topology has.
pub(crate) trait ExaminedServer: Sync {
    /// Executes a command. Returns `None` if the server does not exist.
    fn call(
        &self,
        command: &Cmd,
    ) -> impl Future<Output = Result<Option<Value>, BackendError>> + Send;
}

/// A server of a topology.
struct NumberedServer<'a> {
    servers: &'a Topology,
    number: usize,
}

impl ExaminedServer for NumberedServer<'_> {
    async fn call(&self, command: &Cmd) -> Result<Option<Value>, BackendError> {
        self.servers.call_server(self.number, command).await
    }
}

/// Examines each server of a topology.
pub(super) async fn examine(servers: &Topology) -> Result<Vec<Finding>, BackendError> {
    let mut findings = Vec::new();
    for number in 0.. {
        let server = NumberedServer { servers, number };
        let Some(mut of_server) = examine_server(&server).await? else {
            break;
        };
        if !servers.is_one() {
            of_server.push(slots(&server).await?);
            add_server_name(&mut of_server, &format!("server {}", number + 1));
        }
        findings.extend(of_server);
    }
    if let Some(sentinels) = servers.one().and_then(|it| it.sentinels()) {
        findings.push(sentinels.examine().await);
    }
    Ok(findings)
}

/// Adds the name of their server to the findings.
pub(crate) fn add_server_name(findings: &mut [Finding], name: &str) {
    for finding in findings {
        finding.found = format!("{name}: {}", finding.found);
    }
}

/// Examines a server. Returns `None` if the server does not exist.
pub(crate) async fn examine_server(
    server: &impl ExaminedServer,
) -> Result<Option<Vec<Finding>>, BackendError> {
    let Some(info) = server.call(&cmd("INFO")).await? else {
        return Ok(None);
    };
    let info: String = reply::read(info)?;
    let mut findings = of_info(&info);
    match settings(server).await {
        Ok(settings) => findings.extend(of_settings(&settings, &info)),
        Err(refused) => findings.push(Finding::warning(
            "settings",
            EXCLUSION,
            format!("the settings cannot be read: {refused}"),
            "check with a user that has the permission +config|get; the locks do not need it",
        )),
    }
    findings.push(clock(server).await?);
    Ok(Some(findings))
}

/// Returns the settings by their names.
async fn settings(server: &impl ExaminedServer) -> Result<HashMap<String, String>, BackendError> {
    let mut all = HashMap::new();
    // Servers before 7.0 accept one name at a time.
    for name in SETTINGS {
        let mut get = cmd("CONFIG");
        get.arg("GET").arg(name);
        let found: HashMap<String, String> = ask(server, &get).await?;
        all.extend(found);
    }
    Ok(all)
}

async fn ask<T: FromRedisValue>(
    server: &impl ExaminedServer,
    command: &Cmd,
) -> Result<T, BackendError> {
    reply::read(server.call(command).await?.unwrap_or(Value::Nil))
}

/// Returns what `INFO` shows.
fn of_info(info: &str) -> Vec<Finding> {
    let field = |name| info_field(info, name).unwrap_or_default();
    let number = |name| field(name).parse::<u64>().unwrap_or_default();
    let server = match info_field(info, "valkey_version") {
        Some(version) => format!("Valkey {version}"),
        None => format!("Redis {}", field("redis_version")),
    };
    let role = match field("role") {
        "master" => Finding::good("role", EXCLUSION, "the server is a primary"),
        role => Finding::failure(
            "role",
            EXCLUSION,
            format!("the role of the server is `{role}`"),
            "connect to the primary",
        ),
    };
    vec![
        Finding::good("version", LIVENESS, server),
        role,
        eviction(field("maxmemory_policy"), number("maxmemory")),
        memory(number("used_memory"), number("maxmemory")),
    ]
}

fn eviction(policy: &str, limit: u64) -> Finding {
    let found = format!("maxmemory-policy is `{policy}`");
    let remedy = "set maxmemory-policy to noeviction, and give the locks a server of their own";
    match (policy, limit) {
        ("noeviction", _) => Finding::good("eviction", LOST_DATA, found),
        (_, 0) => {
            let found = format!("{found}, without a limit of the memory");
            Finding::warning("eviction", LOST_DATA, found, remedy)
        }
        _ => Finding::failure("eviction", LOST_DATA, found, remedy),
    }
}

fn memory(used: u64, limit: u64) -> Finding {
    let found = format!(
        "{} MB used of {}",
        used / 1_000_000,
        match limit {
            0 => "an unlimited amount".to_owned(),
            limit => format!("{} MB", limit / 1_000_000),
        }
    );
    Finding::good("memory", LIVENESS, found).warning_if(
        limit > 0 && used > limit / 10 * 9,
        "a full server grants no locks: raise maxmemory, or free memory",
    )
}

/// Returns what the settings show, together with `INFO`.
fn of_settings(settings: &HashMap<String, String>, info: &str) -> Vec<Finding> {
    let setting = |name: &str| settings.get(name).map_or("", String::as_str);
    let field = |name| info_field(info, name).unwrap_or_default();
    let number = |text: &str| text.parse::<u64>().unwrap_or_default();
    vec![
        persistence(field("aof_enabled") == "1", setting("appendfsync")),
        replicas(
            number(field("connected_slaves")),
            number(setting("min-replicas-to-write")),
        ),
        clients(
            number(field("connected_clients")),
            number(setting("maxclients")),
        ),
        idle_timeout(number(setting("timeout"))),
    ]
}

fn persistence(has_file: bool, sync: &str) -> Finding {
    let remedy =
        "set appendonly to yes, and appendfsync to always, or fence the writes under the locks";
    match (has_file, sync) {
        (true, "always") => Finding::good("persistence", LOST_DATA, "each write is on the disk"),
        (true, _) => Finding::warning(
            "persistence",
            LOST_DATA,
            format!("a power failure loses the last writes (appendfsync is `{sync}`)"),
            remedy,
        ),
        (false, _) => Finding::warning(
            "persistence",
            LOST_DATA,
            "a restart loses the locks (appendonly is `no`)",
            remedy,
        ),
    }
}

fn replicas(connected: u64, required: u64) -> Finding {
    match (connected, required) {
        (0, 0) => Finding::good("replicas", SPLIT_BRAIN, "none"),
        (connected, 0) => Finding::warning(
            "replicas",
            SPLIT_BRAIN,
            format!("{connected} connected, and the primary also writes without them"),
            "set min-replicas-to-write to 1, so that an old primary grants no locks after a failover, and use \
             RedisBuilder::synced",
        ),
        (connected, required) if connected < required => Finding::failure(
            "replicas",
            LIVENESS,
            format!("{connected} connected of the {required} that a write needs"),
            "connect the replicas, or lower min-replicas-to-write",
        ),
        (connected, required) => Finding::good(
            "replicas",
            SPLIT_BRAIN,
            format!("{connected} connected, and a write needs {required}"),
        ),
    }
}

fn clients(connected: u64, limit: u64) -> Finding {
    let found = format!("{connected} connected of {limit}");
    Finding::good("clients", LIVENESS, found).warning_if(
        limit > 0 && connected > limit / 5 * 4,
        "a server without a free connection refuses clients: raise maxclients",
    )
}

fn idle_timeout(seconds: u64) -> Finding {
    match seconds {
        0 => Finding::good("idle timeout", LIVENESS, "none"),
        1..SHORT_IDLE_TIMEOUT => Finding::warning(
            "idle timeout",
            LIVENESS,
            format!("the server closes a connection after {seconds} s without a command"),
            "set timeout to 0, or to a minute at least: a closed connection delays the next lock",
        ),
        _ => Finding::good("idle timeout", LIVENESS, format!("{seconds} s")),
    }
}

/// Returns whether the server notifies waiters, from the result of a message to their channel.
pub(super) fn notifications<T>(published: Result<T, BackendError>) -> Finding {
    match published {
        Ok(_) => Finding::good("notifications", LIVENESS, "the server notifies waiters"),
        Err(refused) => Finding::warning(
            "notifications",
            LIVENESS,
            format!("the server does not notify waiters, so they poll: {refused}"),
            "allow the user the channels leasehold:inbox:*",
        ),
    }
}

/// Compares the server's clock with that of this machine.
async fn clock(server: &impl ExaminedServer) -> Result<Finding, BackendError> {
    let before = Duration::from_micros(micros_of_day());
    let (seconds, micros): (u64, u64) = ask(server, &cmd("TIME")).await?;
    let theirs = Duration::from_secs(seconds) + Duration::from_micros(micros);
    // The server has read its clock between these two times.
    let after = Duration::from_micros(micros_of_day());
    let offset = before
        .saturating_sub(theirs)
        .max(theirs.saturating_sub(after));
    let found = format!("{} ms from that of this machine", offset.as_millis());
    Ok(Finding::good("clock", CLOCKS, found).warning_if(
        offset > LARGE_CLOCK_OFFSET,
        "synchronize the clocks, at least those of a primary and its replicas: leases and tokens follow them after a \
         failover",
    ))
}

/// Returns whether all slots of a Cluster are served.
async fn slots(server: &impl ExaminedServer) -> Result<Finding, BackendError> {
    let mut command = cmd("CLUSTER");
    command.arg("INFO");
    let info: String = ask(server, &command).await?;
    let served = info_field(&info, "cluster_slots_ok").unwrap_or_default();
    let state = info_field(&info, "cluster_state").unwrap_or_default();
    let found = format!("{served} of 16384 are served, and the state is `{state}`");
    Ok(match (state, served) {
        ("ok", "16384") => Finding::good("slots", LIVENESS, found),
        _ => Finding::failure(
            "slots",
            LIVENESS,
            found,
            "add the missing slots, or start their masters: the locks in other slots cannot be acquired",
        ),
    })
}
