//! Settings of servers that are not the defaults, and the tests that run with each.

use super::variant::{Variant, redis, sql};
use crate::install::{MARIADB, POSTGRES};

/// Why a test of a limit does not run.
const READS_LOCK: &str = "at this level the reads of the test lock the rows that it writes";
const NO_LIMIT: &str = "at this level the limit that the test documents does not exist";
const LOST_COMMITS: &str =
    "with `synchronous_commit = off` a crash loses the last commits, as documented";
const OWN_SETTING: &str = "the test expects the default of this setting";
const JUMPS: &str = "the clock of the server jumps, so the server counts each client as idle";
const OTHER_SERVER: &str = "the test uses another server";
const OWN_STATEMENTS: &str = "the test has statements of its own that this setting refuses";

const TIME_LIMITS: &[&str] = &[
    "-c",
    "statement_timeout=20s",
    "-c",
    "lock_timeout=10s",
    "-c",
    "idle_in_transaction_session_timeout=30s",
];
const IDLE_SESSIONS: &[&str] = &["-c", "idle_session_timeout=30s"];
const LITERALS: &[&str] = &[
    "-c",
    "standard_conforming_strings=off",
    "-c",
    "escape_string_warning=off",
];
const BYTES: &[&str] = &["-c", "bytea_output=escape"];
const FORMATS: &[&str] = &[
    "-c",
    "datestyle=German",
    "-c",
    "intervalstyle=sql_standard",
    "-c",
    "timezone=America/St_Johns",
    "-c",
    "extra_float_digits=-15",
];
const PLANS: &[&str] = &[
    "-c",
    "plan_cache_mode=force_generic_plan",
    "-c",
    "enable_indexscan=off",
    "-c",
    "enable_bitmapscan=off",
    "-c",
    "synchronous_commit=off",
];
const READ_COMMITTED: &[&str] = &["--transaction-isolation=READ-COMMITTED"];
const ANSI: &[&str] = &["--sql-mode=ANSI,NO_BACKSLASH_ESCAPES,STRICT_ALL_TABLES,NO_ZERO_DATE"];
const COMPACT_ROWS: &[&str] = &[
    "--innodb-default-row-format=compact",
    "--character-set-server=latin1",
    "--collation-server=latin1_swedish_ci",
    "--default-time-zone=+13:00",
];
const SHORT_WAITS: &[&str] = &[
    "--innodb-lock-wait-timeout=1",
    "--innodb-rollback-on-timeout=ON",
];
const APPEND_ONLY: &[&str] = &["--appendonly", "yes", "--appendfsync", "always"];
const SLOW_EXPIRY: &[&str] = &[
    "--hz",
    "1",
    "--io-threads",
    "4",
    "--lazyfree-lazy-user-del",
    "yes",
];
const IDLE_CLIENTS: &[&str] = &["--timeout", "2", "--tcp-keepalive", "1"];

/// Each setting alone, with all tests of its server.
pub const ALL: [Variant; 15] = [
    postgres(
        "Postgres, serializable",
        &[&["-c", "default_transaction_isolation=serializable"]],
    ),
    postgres(
        "Postgres, repeatable read",
        &[&["-c", "default_transaction_isolation=repeatable read"]],
    ),
    Variant {
        without: &[
            ("on_postgres_each_sick_setting_is_found", OWN_SETTING),
            (
                "on_postgres_begin_refuses_older_tokens_and_obeys_lock_timeout",
                OWN_SETTING,
            ),
        ],
        ..postgres("Postgres, timeouts", &[TIME_LIMITS, IDLE_SESSIONS])
    },
    Variant {
        without: &[(
            "on_postgres_fenced_statements_have_the_effect_of_plain_ones",
            OWN_STATEMENTS,
        )],
        ..postgres("Postgres, old literals", &[LITERALS, BYTES])
    },
    postgres("Postgres, other formats", &[FORMATS]),
    Variant {
        without: &[("holders_and_waiters_survive_a_restart", LOST_COMMITS)],
        ..postgres("Postgres, other plans", &[PLANS])
    },
    Variant {
        without: &[
            ("subquery_on_an_old_snapshot", READS_LOCK),
            ("written_rows_are_counted", READS_LOCK),
        ],
        ..mariadb(
            "MariaDB, serializable",
            &[&["--transaction-isolation=SERIALIZABLE"]],
        )
    },
    Variant {
        without: &[("subquery_on_an_old_snapshot", NO_LIMIT)],
        ..mariadb("MariaDB, read committed", &[READ_COMMITTED])
    },
    Variant {
        without: &[(
            "on_mariadb_fenced_statements_have_the_effect_of_plain_ones",
            OWN_STATEMENTS,
        )],
        ..mariadb("MariaDB, ANSI", &[ANSI])
    },
    Variant {
        without: &[
            ("fence::", OWN_STATEMENTS),
            ("races::", OWN_STATEMENTS),
            ("statements::", OWN_STATEMENTS),
        ],
        ..mariadb("MariaDB, safe updates", &[&["--sql-safe-updates"]])
    },
    mariadb("MariaDB, compact rows and latin1", &[COMPACT_ROWS]),
    Variant {
        without: &[(
            "on_mariadb_begin_refuses_older_tokens_and_obeys_lock_timeout",
            OWN_SETTING,
        )],
        ..mariadb("MariaDB, short waits", &[SHORT_WAITS])
    },
    Variant {
        without: &[(
            "a_server_that_loses_data_in_a_restart_is_a_warning",
            OWN_SETTING,
        )],
        ..single("Redis, append-only file", &[APPEND_ONLY])
    },
    single("Redis, slow expiry and threads", &[SLOW_EXPIRY]),
    Variant {
        without: &[
            ("a_healthy_server_has_only_good_findings", OWN_SETTING),
            ("a_server_time_of_2_to_the_53_is_not_used_as_a_token", JUMPS),
        ],
        ..single("Redis, idle clients are closed", &[IDLE_CLIENTS])
    },
];

/// One variant for each server, with many settings at once. `cargo xtask test` runs these variants, because each takes only
/// seconds.
/// If one of them fails, [`ALL`] shows which setting is the cause.
pub const TOGETHER: [Variant; 3] = [
    Variant {
        tests: &["postgres::plain", "fence::"],
        without: &[
            ("mariadb", OTHER_SERVER),
            ("sqlite", OTHER_SERVER),
            (
                "on_postgres_begin_refuses_older_tokens_and_obeys_lock_timeout",
                OWN_SETTING,
            ),
        ],
        ..postgres(
            "Postgres, settings together",
            &[TIME_LIMITS, BYTES, FORMATS, PLANS],
        )
    },
    Variant {
        tests: &["mariadb::plain", "fence::"],
        without: &[
            ("postgres", OTHER_SERVER),
            ("sqlite", OTHER_SERVER),
            ("subquery_on_an_old_snapshot", NO_LIMIT),
            (
                "on_mariadb_begin_refuses_older_tokens_and_obeys_lock_timeout",
                OWN_SETTING,
            ),
        ],
        ..mariadb(
            "MariaDB, settings together",
            &[READ_COMMITTED, ANSI, COMPACT_ROWS, SHORT_WAITS],
        )
    },
    Variant {
        tests: &["single::suite::redis", "single::fence", "single::pipeline"],
        ..single(
            "Redis, settings together",
            &[APPEND_ONLY, SLOW_EXPIRY, IDLE_CLIENTS],
        )
    },
];

const fn postgres(name: &'static str, settings: &'static [&'static [&'static str]]) -> Variant {
    Variant {
        settings,
        ..sql(name, POSTGRES, None, &["postgres"])
    }
}

const fn mariadb(name: &'static str, settings: &'static [&'static [&'static str]]) -> Variant {
    Variant {
        settings,
        ..sql(name, MARIADB, None, &["mariadb"])
    }
}

const fn single(name: &'static str, settings: &'static [&'static [&'static str]]) -> Variant {
    Variant {
        settings,
        tests: &["single::"],
        ..redis(name, None, &[])
    }
}
