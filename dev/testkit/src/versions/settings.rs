//! Settings of servers that are not the defaults, and the tests that run with each.

use super::list::{Version, redis, sql};
use crate::install::{MARIADB, POSTGRES};

/// All settings.
pub const ALL: [Version; 15] = [
    postgres(
        "Postgres, serializable",
        &["-c", "default_transaction_isolation=serializable"],
    ),
    postgres(
        "Postgres, repeatable read",
        &["-c", "default_transaction_isolation=repeatable read"],
    ),
    postgres(
        "Postgres, timeouts",
        &[
            "-c",
            "statement_timeout=20s",
            "-c",
            "lock_timeout=10s",
            "-c",
            "idle_in_transaction_session_timeout=30s",
            "-c",
            "idle_session_timeout=30s",
        ],
    ),
    postgres(
        "Postgres, old literals",
        &[
            "-c",
            "standard_conforming_strings=off",
            "-c",
            "escape_string_warning=off",
            "-c",
            "bytea_output=escape",
        ],
    ),
    postgres(
        "Postgres, other formats",
        &[
            "-c",
            "datestyle=German",
            "-c",
            "intervalstyle=sql_standard",
            "-c",
            "timezone=America/St_Johns",
            "-c",
            "extra_float_digits=-15",
        ],
    ),
    postgres(
        "Postgres, other plans",
        &[
            "-c",
            "plan_cache_mode=force_generic_plan",
            "-c",
            "enable_indexscan=off",
            "-c",
            "enable_bitmapscan=off",
            "-c",
            "synchronous_commit=off",
        ],
    ),
    mariadb(
        "MariaDB, serializable",
        &["--transaction-isolation=SERIALIZABLE"],
    ),
    mariadb(
        "MariaDB, read committed",
        &["--transaction-isolation=READ-COMMITTED"],
    ),
    mariadb(
        "MariaDB, ANSI",
        &["--sql-mode=ANSI,NO_BACKSLASH_ESCAPES,STRICT_ALL_TABLES,NO_ZERO_DATE"],
    ),
    mariadb("MariaDB, safe updates", &["--sql-safe-updates"]),
    mariadb(
        "MariaDB, compact rows and latin1",
        &[
            "--innodb-default-row-format=compact",
            "--character-set-server=latin1",
            "--collation-server=latin1_swedish_ci",
            "--default-time-zone=+13:00",
        ],
    ),
    mariadb(
        "MariaDB, short waits",
        &[
            "--innodb-lock-wait-timeout=1",
            "--innodb-rollback-on-timeout=ON",
        ],
    ),
    single(
        "Redis, append-only file",
        &["--appendonly", "yes", "--appendfsync", "always"],
    ),
    single(
        "Redis, slow expiry and threads",
        &[
            "--hz",
            "1",
            "--io-threads",
            "4",
            "--lazyfree-lazy-user-del",
            "yes",
        ],
    ),
    single(
        "Redis, idle clients are closed",
        &["--timeout", "2", "--tcp-keepalive", "1"],
    ),
];

const fn postgres(name: &'static str, settings: &'static [&'static str]) -> Version {
    Version {
        settings,
        ..sql(name, POSTGRES, None, "postgres")
    }
}

const fn mariadb(name: &'static str, settings: &'static [&'static str]) -> Version {
    Version {
        settings,
        ..sql(name, MARIADB, None, "mariadb")
    }
}

const fn single(name: &'static str, settings: &'static [&'static str]) -> Version {
    Version {
        settings,
        tests: "single::",
        ..redis(name, None, &[])
    }
}
