//! The settings of Postgres.

use leasehold_core::check::Finding;
use sqlx::{PgConnection, Row, raw_sql};

use super::{EXCLUSION, LIVENESS, LOST_DATA, Settings, connections, idle_transactions, writes};

const SETTINGS: &str = "SELECT name, setting FROM pg_settings WHERE name IN ('server_version', 'transaction_read_only', \
     'synchronous_commit', 'synchronous_standby_names', 'statement_timeout', 'idle_session_timeout', 'max_connections', \
     'fsync', 'idle_in_transaction_session_timeout') \
     UNION ALL SELECT 'connections', COUNT(*)::TEXT FROM pg_stat_activity WHERE backend_type = 'client backend' \
     UNION ALL SELECT 'role_connections', COUNT(*)::TEXT FROM pg_stat_activity WHERE usename = current_user \
     UNION ALL SELECT 'standbys', COUNT(*)::TEXT FROM pg_stat_replication \
     UNION ALL SELECT 'role_limit', rolconnlimit::TEXT FROM pg_roles WHERE rolname = current_user \
     UNION ALL SELECT 'can_notify', has_function_privilege('pg_notify(text, text)', 'EXECUTE')::TEXT \
     UNION ALL SELECT 'table', (SELECT n.nspname || '.' || c.relname FROM pg_class AS c \
         JOIN pg_namespace AS n ON n.oid = c.relnamespace WHERE c.oid = to_regclass('leasehold_locks'))";

/// The shortest time that statements of the locks should have, in milliseconds.
const SHORT_TIMEOUT: u64 = 2_000;

pub(crate) async fn examine(connection: &mut PgConnection) -> Result<Vec<Finding>, sqlx::Error> {
    let rows = raw_sql(SETTINGS).fetch_all(connection).await?;
    let pairs = rows.iter().map(|row| {
        let value: Option<String> = row.try_get(1)?;
        Ok((row.try_get(0)?, value.unwrap_or_default()))
    });
    let settings = Settings(pairs.collect::<Result<_, sqlx::Error>>()?);
    Ok(of_settings(&settings))
}

fn of_settings(settings: &Settings) -> Vec<Finding> {
    // The limit is -1 if the role has none.
    let (used, limit) = match settings.get("role_limit").parse() {
        Ok(limit) => (settings.number("role_connections"), limit),
        Err(_) => (
            settings.number("connections"),
            settings.number("max_connections"),
        ),
    };
    vec![
        Finding::good(
            "version",
            LIVENESS,
            format!("Postgres {}", settings.get("server_version")),
        ),
        Finding::good("table", EXCLUSION, settings.get("table")),
        writes(settings.get("transaction_read_only") == "on"),
        durability(settings),
        replicas(settings),
        notifications(settings.get("can_notify") == "true"),
        connections(used, limit),
        timeout("statement_timeout", settings),
        timeout("idle_session_timeout", settings),
        idle_transactions(
            "idle_in_transaction_session_timeout",
            settings.get("idle_in_transaction_session_timeout"),
        ),
    ]
}

fn durability(settings: &Settings) -> Finding {
    let remedy = "a crash of the server loses the last grants: set fsync and synchronous_commit to on, or fence the writes \
                  under the locks";
    match (settings.get("fsync"), settings.get("synchronous_commit")) {
        ("off", _) => Finding::warning("durability", LOST_DATA, "fsync is off", remedy),
        (_, "off") => {
            Finding::warning("durability", LOST_DATA, "synchronous_commit is off", remedy)
        }
        _ => Finding::good("durability", LOST_DATA, "each commit is on the disk"),
    }
}

fn replicas(settings: &Settings) -> Finding {
    let connected = settings.number("standbys");
    let is_synchronous = !settings.get("synchronous_standby_names").is_empty()
        && !matches!(settings.get("synchronous_commit"), "local" | "off");
    match (connected, is_synchronous) {
        (0, _) => Finding::good("replicas", LOST_DATA, "none"),
        (connected, true) => Finding::good(
            "replicas",
            LOST_DATA,
            format!("{connected} connected, and each commit waits for one"),
        ),
        (connected, false) => Finding::warning(
            "replicas",
            LOST_DATA,
            format!("{connected} connected, and a failover loses the last grants"),
            "set synchronous_standby_names, or fence the writes under the locks",
        ),
    }
}

fn notifications(can_notify: bool) -> Finding {
    match can_notify {
        true => Finding::good("notifications", LIVENESS, "the role may notify waiters"),
        false => Finding::warning(
            "notifications",
            LIVENESS,
            "the role may not notify waiters, so waiters in other processes poll",
            "GRANT EXECUTE ON FUNCTION pg_notify(text, text) TO the role",
        ),
    }
}

/// Returns whether a timeout in milliseconds ends statements or connections of the locks.
fn timeout(name: &'static str, settings: &Settings) -> Finding {
    match settings.number(name) {
        0 => Finding::good(name, LIVENESS, "none"),
        short if short < SHORT_TIMEOUT => Finding::warning(
            name,
            LIVENESS,
            format!("{short} ms"),
            format!(
                "set it to {SHORT_TIMEOUT} ms at least for the role of the locks: ALTER ROLE … SET {name}"
            ),
        ),
        long => Finding::good(name, LIVENESS, format!("{long} ms")),
    }
}
