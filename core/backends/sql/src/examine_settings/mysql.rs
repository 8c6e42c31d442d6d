//! The settings of `MariaDB` and `MySQL`.

use std::collections::HashMap;

use leasehold_core::check::Finding;
use sqlx::{MySqlConnection, Row, raw_sql};

use super::{LIVENESS, LOST_DATA, Settings, connections, idle_transactions, writes};

const VARIABLES: &str = "SHOW GLOBAL VARIABLES WHERE Variable_name IN ('version', 'autocommit', 'read_only', \
     'sql_safe_updates', 'innodb_flush_log_at_trx_commit', 'wsrep_on', 'wait_timeout', 'max_connections', \
     'idle_transaction_timeout', 'idle_write_transaction_timeout', 'init_connect')";
const STATUS: &str =
    "SHOW GLOBAL STATUS WHERE Variable_name IN ('Threads_connected', 'Slaves_connected')";
const TABLE: &str = "SHOW TABLE STATUS WHERE Name = 'leasehold_locks'";

pub(crate) async fn examine(connection: &mut MySqlConnection) -> Result<Vec<Finding>, sqlx::Error> {
    let mut settings = HashMap::new();
    for statement in [VARIABLES, STATUS] {
        for row in raw_sql(statement).fetch_all(&mut *connection).await? {
            // Some servers return the text as bytes.
            let name: String = row.try_get_unchecked(0)?;
            settings.insert(name, row.try_get_unchecked(1)?);
        }
    }
    let mut findings = of_settings(&Settings(settings));
    if let Some(row) = raw_sql(TABLE).fetch_optional(connection).await? {
        let format: Option<String> = row.try_get_unchecked("Row_format")?;
        let engine: Option<String> = row.try_get_unchecked("Engine")?;
        let found = format!(
            "{} rows of {}",
            format.unwrap_or_default(),
            engine.unwrap_or_default()
        );
        findings.push(Finding::good("table", LIVENESS, found));
    }
    Ok(findings)
}

fn of_settings(settings: &Settings) -> Vec<Finding> {
    let is_on = |name| matches!(settings.get(name), "ON" | "1");
    vec![
        Finding::good("version", LIVENESS, settings.get("version")),
        writes(is_on("read_only")),
        session(settings),
        durability(settings),
        replicas(is_on("wsrep_on"), settings.number("Slaves_connected")),
        connections(
            settings.number("Threads_connected"),
            settings.number("max_connections"),
        ),
        idle_connections(settings.number("wait_timeout")),
        idle_transactions(
            "idle_transaction_timeout",
            settings.get("idle_transaction_timeout"),
        ),
    ]
}

/// Returns what the server sets in each session. The sessions of `connect` have their own values.
fn session(settings: &Settings) -> Finding {
    let connects_without = settings
        .get("init_connect")
        .to_lowercase()
        .contains("autocommit");
    let mut unusual = Vec::new();
    if settings.get("autocommit") == "OFF" || connects_without {
        unusual.push("autocommit is off");
    }
    if settings.get("sql_safe_updates") == "ON" {
        unusual.push("sql_safe_updates is on");
    }
    match unusual.is_empty() {
        true => Finding::good("sessions", LIVENESS, "autocommit is on"),
        false => Finding::warning(
            "sessions",
            LIVENESS,
            unusual.join(", "),
            "connect by URL, which sets its own values, or set them in `after_connect` of your pool",
        ),
    }
}

fn durability(settings: &Settings) -> Finding {
    match settings.get("innodb_flush_log_at_trx_commit") {
        "1" => Finding::good("durability", LOST_DATA, "each commit is on the disk"),
        value => Finding::warning(
            "durability",
            LOST_DATA,
            format!("innodb_flush_log_at_trx_commit is {value}, so a crash loses the last grants"),
            "set innodb_flush_log_at_trx_commit to 1, or fence the writes under the locks",
        ),
    }
}

fn replicas(is_galera: bool, connected: u64) -> Finding {
    if is_galera {
        return Finding::warning(
            "replicas",
            LOST_DATA,
            "the server is a node of a Galera cluster (wsrep_on)",
            "let all clients write to one node: the clocks of the nodes end leases and make tokens",
        );
    }
    match connected {
        0 => Finding::good("replicas", LOST_DATA, "none"),
        connected => Finding::warning(
            "replicas",
            LOST_DATA,
            format!("{connected} connected, and a failover may lose the last grants"),
            "use semi-synchronous replication, or fence the writes under the locks",
        ),
    }
}

fn idle_connections(seconds: u64) -> Finding {
    let found = format!("the server closes them after {seconds} s (wait_timeout)");
    match seconds {
        1..60 => Finding::warning(
            "idle connections",
            LIVENESS,
            found,
            "set wait_timeout to a minute at least: a closed connection delays the next lock",
        ),
        _ => Finding::good("idle connections", LIVENESS, found),
    }
}

#[cfg(test)]
mod tests {
    use leasehold_core::check::Verdict;

    use super::*;

    #[test]
    fn node_of_galera_is_a_warning() {
        let settings = [("wsrep_on", "ON"), ("innodb_flush_log_at_trx_commit", "1")];
        let settings = settings.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let findings = of_settings(&Settings(settings.into()));
        let replicas = findings.iter().find(|it| it.name == "replicas").unwrap();
        assert_eq!(replicas.verdict, Verdict::Warning);
        assert!(replicas.found.contains("Galera"), "{replicas:?}");
    }
}
