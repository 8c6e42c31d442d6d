//! The arguments of the command line.

use std::ffi::OsString;
use std::num::NonZeroU32;
use std::time::Duration;

use clap::{Parser, Subcommand, ValueEnum};
use leasehold::{DEFAULT_PREFIX, LockManager};

use crate::exit_code;

/// Runs a command under a distributed lock, and shows and releases locks.
#[derive(Debug, Parser)]
#[command(name = "leasehold", version)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Acquires a lock, runs a command, and releases the lock
    Run(RunArgs),
    /// Shows the holders of a lock
    Inspect(KeyArgs),
    /// Lists the locks that are held
    List(ListArgs),
    /// Shows the locks that are held, and updates the list
    Watch(WatchArgs),
    /// Releases a lock that another process holds
    Release(ReleaseArgs),
    /// Checks the lock backend before production
    Doctor(DoctorArgs),
    /// Runs the command of `run`, and ends it before the lease ends
    #[command(hide = true)]
    Supervise(SuperviseArgs),
}

/// How to reach the locks.
#[derive(Debug, clap::Args)]
pub(crate) struct Connection {
    /// The lock backend, such as `redis://host`, `redis+sentinel://a,b,c/name`, `redis+cluster://a,b,c`,
    /// `redlock://a,b,c`, `zookeeper://a,b,c/folder`, `sqlite:locks.db`, `postgres://host/database`. Other users can see the arguments of a process, so put a URL with
    /// a password into the environment
    #[arg(long, env = "LEASEHOLD_URL", hide_env_values = true)]
    url: String,
    /// The prefix of all keys
    #[arg(long, env = "LEASEHOLD_PREFIX", default_value = DEFAULT_PREFIX)]
    prefix: String,
}

impl Connection {
    /// Returns a key with the prefix, as the backend stores it.
    pub(crate) fn full_key(&self, key: &str) -> String {
        format!("{}{key}", self.prefix)
    }

    /// Returns the same backend with keys as it stores them.
    pub(crate) fn without_prefix(&self) -> Self {
        Self {
            url: self.url.clone(),
            prefix: String::new(),
        }
    }

    /// Connects a manager.
    pub(crate) async fn connect(&self) -> Result<LockManager, leasehold::Error> {
        self.connect_within(Duration::ZERO, None).await
    }

    /// Connects a manager, and retries for `limit` while the backend cannot be reached. Without a label, the manager has
    /// the default label.
    pub(crate) async fn connect_within(
        &self,
        limit: Duration,
        label: Option<&str>,
    ) -> Result<LockManager, leasehold::Error> {
        let mut builder = LockManager::builder()
            .prefix(&self.prefix)
            // Hundreds of processes may wait on one database server.
            .max_connections(NonZeroU32::MIN)
            .connect_retry_timeout(limit);
        if let Some(label) = label {
            builder = builder.label(label);
        }
        builder.connect(&self.url).await
    }
}

/// Acquires a lock, runs a command, and releases the lock.
///
/// The command gets the variables `LEASEHOLD_KEY` and `LEASEHOLD_TOKEN`, the fencing token, but not `LEASEHOLD_URL`, which
/// may contain a password. Its signals are forwarded. The lock is released when the command and all processes that it has
/// started have ended. Processes that are left when the command ends get SIGTERM, and SIGKILL after 5 s.
#[derive(Debug, clap::Args)]
#[command(after_help = exit_code::TABLE, after_long_help = after_help())]
pub(crate) struct RunArgs {
    #[command(flatten)]
    pub(crate) connection: Connection,
    /// The key of the lock
    #[arg(long)]
    pub(crate) key: String,
    /// How long to wait if the lock is busy or the lock backend cannot be reached, such as `5s` or `1m 30s`; `0s` does not
    /// wait [default: no limit for a busy lock, and 10 s for the backend]
    #[arg(long, value_parser = humantime::parse_duration)]
    pub(crate) wait: Option<Duration>,
    /// How long the lock stays taken if it cannot be renewed; at least 1 s
    #[arg(long, default_value = "30s", value_parser = ttl)]
    pub(crate) ttl: Duration,
    /// How long the lock stays taken at least, even if the command ends before
    #[arg(long, value_parser = humantime::parse_duration)]
    pub(crate) hold_at_least: Option<Duration>,
    /// How `inspect` and `list` name the holder: at most 64 ASCII characters without spaces [default: host name and
    /// process id]
    #[arg(long)]
    pub(crate) label: Option<String>,
    /// What happens to the command if the lock is lost
    #[arg(long, value_enum, default_value_t = OnLoss::Kill)]
    pub(crate) on_loss: OnLoss,
    /// Exit with 0 if the lock is busy. Without --wait, do not wait
    #[arg(long, conflicts_with = "conflict_exit_code")]
    pub(crate) skip: bool,
    /// The exit code if the lock is busy for the whole wait
    #[arg(short = 'E', long, value_name = "CODE", default_value_t = exit_code::BUSY)]
    pub(crate) conflict_exit_code: u8,
    /// Keep the command in the process group of the terminal, so that it can read from the terminal and gets Ctrl-C and
    /// Ctrl-Z. Without this option, it has its own process group
    #[arg(long)]
    pub(crate) foreground: bool,
    /// The command and its arguments
    #[arg(required = true, trailing_var_arg = true)]
    pub(crate) command: Vec<OsString>,
}

const TIMELINE: &str = "\
If the lease cannot be renewed, or if leasehold is stopped or killed:
  after 1/3 of the TTL   leasehold renews the lease, and retries until the lease ends
  after 2/3 of the TTL   all processes of COMMAND get SIGTERM
  after 9/10 of the TTL  the processes that are left get SIGKILL
  after the TTL          another process can acquire the lock
If leasehold is killed, SIGTERM is sent immediately. If the backend reports that the lock has another holder or was
released by force, SIGKILL is sent immediately. Processes of another user, as under sudo, cannot be killed. If both
processes of leasehold are stopped or killed at the same time, COMMAND runs on: let resources check LEASEHOLD_TOKEN.";

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum OnLoss {
    /// End the command and all its processes before another process can acquire the lock
    Kill,
    /// Let the command continue, and report the loss when it ends
    Continue,
}

#[derive(Debug, clap::Args)]
pub(crate) struct KeyArgs {
    #[command(flatten)]
    pub(crate) connection: Connection,
    /// The key of the lock
    pub(crate) key: String,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Lists the locks that are held by all clients of the backend, sorted by key.
///
/// HOLDERS is the number of holders, or of permits in use. HELD FOR is the time since the only holder acquired the lock,
/// by the clocks of the backend and of this machine. EXPIRES IN is the remaining time of the longest lease.
///
/// On Redis, the list takes one pass over all keys of the server, in short commands.
#[derive(Debug, clap::Args)]
pub(crate) struct ListArgs {
    #[command(flatten)]
    pub(crate) connection: Connection,
    /// The beginning of the keys, such as `order:` [default: all keys]
    #[arg(default_value = "", hide_default_value = true)]
    pub(crate) key_prefix: String,
    /// Print JSON: one line for each lock, in the order of the backend
    #[arg(long)]
    pub(crate) json: bool,
}

/// Shows the locks that are held, sorted by key, and updates the list until Ctrl-C.
///
/// With --json, each update is one line with an array of the locks.
#[derive(Debug, clap::Args)]
pub(crate) struct WatchArgs {
    #[command(flatten)]
    pub(crate) list: ListArgs,
    /// The pause between two lists; at least 100 ms
    #[arg(long, default_value = "2s", value_parser = interval)]
    pub(crate) interval: Duration,
}

/// Releases a lock that another process holds.
///
/// The holder detects the loss with its next renewal. Until then, two processes may work under the lock.
#[derive(Debug, clap::Args)]
pub(crate) struct ReleaseArgs {
    #[command(flatten)]
    pub(crate) lock: KeyArgs,
    /// Required, because the holder may still be working
    #[arg(long, required = true)]
    _force: bool,
    /// Take the lock, or the permits, from the holder with this id only, which `inspect` shows
    #[arg(long, value_name = "ID")]
    pub(crate) holder: Option<String>,
}

/// Checks the lock backend before production.
///
/// Tries each operation under a key of its own, reads the settings of the servers, and prints what it found: `ok`,
/// `warning` if a guarantee is weaker than it could be, and `failure` if the locks do not work or can be lost. A warning and
/// a failure have a second line with the guarantee and the remedy. Changes no setting.
///
/// The exit code is 1 after a failure, 125 if leasehold cannot connect, and 0 otherwise.
#[derive(Debug, clap::Args)]
pub(crate) struct DoctorArgs {
    #[command(flatten)]
    pub(crate) connection: Connection,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct SuperviseArgs {
    /// The process group for the command; without it, the command gets its own
    #[arg(long)]
    pub(crate) group: Option<i32>,
    #[arg(long, value_enum)]
    pub(crate) on_loss: OnLoss,
    #[arg(required = true, trailing_var_arg = true)]
    pub(crate) command: Vec<OsString>,
}

fn after_help() -> String {
    format!("{}\n\n{TIMELINE}", exit_code::TABLE)
}

fn ttl(text: &str) -> Result<Duration, String> {
    let ttl = humantime::parse_duration(text).map_err(|error| error.to_string())?;
    if ttl < Duration::from_secs(1) {
        // The supervisor needs time to end the command.
        return Err("it is too short; give at least 1s".to_owned());
    }
    Ok(ttl)
}

fn interval(text: &str) -> Result<Duration, String> {
    let interval = humantime::parse_duration(text).map_err(|error| error.to_string())?;
    if interval < Duration::from_millis(100) {
        return Err("it is too short; give at least 100ms".to_owned());
    }
    Ok(interval)
}
