//! Examines the settings of the database.

#[cfg(feature = "mysql")]
pub(super) mod mysql;
#[cfg(feature = "postgres")]
pub(super) mod postgres;
#[cfg(feature = "sqlite")]
pub(super) mod sqlite;

use std::collections::HashMap;

#[cfg(any(feature = "mysql", feature = "postgres"))]
use leasehold_core::check::Finding;

const EXCLUSION: &str = "exclusion";
const LOST_DATA: &str = "exclusion, tokens (T4)";
const LIVENESS: &str = "liveness";

/// The settings of a database by their names.
struct Settings(HashMap<String, String>);

impl Settings {
    /// Returns a value, or an empty text.
    fn get(&self, name: &str) -> &str {
        self.0.get(name).map_or("", String::as_str)
    }

    /// Returns a number, or 0.
    fn number(&self, name: &str) -> u64 {
        self.get(name).parse().unwrap_or_default()
    }
}

/// Returns whether the server takes writes.
#[cfg(any(feature = "mysql", feature = "postgres"))]
fn writes(is_read_only: bool) -> Finding {
    match is_read_only {
        true => Finding::failure(
            "writes",
            LIVENESS,
            "the server takes none: it is a replica, or read-only by a setting",
            "let the URL name the primary",
        ),
        false => Finding::good("writes", LIVENESS, "the server is a primary"),
    }
}

/// Returns how many of the server's connections are in use.
#[cfg(any(feature = "mysql", feature = "postgres"))]
fn connections(used: u64, limit: u64) -> Finding {
    let found = format!("{used} of {limit} in use");
    Finding::good("connections", LIVENESS, found).warning_if(
        limit > 0 && used > limit / 5 * 4,
        "a server without a free connection delays renewals: raise max_connections, or use smaller pools; a process needs one \
         connection, and on Postgres two more while it waits; `leasehold run` needs one",
    )
}

/// Returns whether the server ends idle transactions. `setting` names the setting, and `value` is zero without a limit.
#[cfg(any(feature = "mysql", feature = "postgres"))]
fn idle_transactions(setting: &str, value: &str) -> Finding {
    match value {
        "" | "0" => Finding::warning(
            "idle transactions",
            "liveness of fenced transactions",
            "a holder that is stopped inside of a transaction keeps its rows locked, beyond its lease",
            format!("set {setting} to about the TTL"),
        ),
        value => Finding::good(
            "idle transactions",
            "liveness of fenced transactions",
            format!("{setting} is {value}"),
        ),
    }
}
