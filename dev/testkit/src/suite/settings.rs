//! Settings of servers that are not the defaults, and the tests that run with each.

use super::variant::{Variant, redis, sql};
use crate::install::{MARIADB, POSTGRES};

/// Why a test of a limit does not run.
const READS_LOCK: &str = "at this level the reads of the test lock the rows that it writes";
const NO_LIMIT: &str = "at this level the limit that the test documents does not exist";
const LOST_COMMITS: &str =
    "with `synchronous_commit = off` a crash loses the last commits, as documented";
const OWN_SETTING: &str = "the test expects the default of this setting";
const OWN_CLIENT: &str = "the test has a client of its own that is idle for longer than that";
const OTHER_SERVER: &str = "the test uses another server";
const OWN_STATEMENTS: &str = "the test has statements of its own that this setting refuses";

/// Each setting alone, with all tests of its server.
pub const ALL: [Variant; 15] = [
    postgres(
        "Postgres, serializable",
        &["-c", "default_transaction_isolation=serializable"],
    ),
    postgres(
        "Postgres, repeatable read",
        &["-c", "default_transaction_isolation=repeatable read"],
    ),
    Variant {
        without: &[
            ("on_postgres_each_sick_setting_is_found", OWN_SETTING),
            (
                "on_postgres_begin_refuses_older_tokens_and_obeys_lock_timeout",
                OWN_SETTING,
            ),
        ],
        ..postgres(
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
        )
    },
    Variant {
        without: &[(
            "on_postgres_fenced_statements_have_the_effect_of_plain_ones",
            OWN_STATEMENTS,
        )],
        ..postgres(
            "Postgres, old literals",
            &[
                "-c",
                "standard_conforming_strings=off",
                "-c",
                "escape_string_warning=off",
                "-c",
                "bytea_output=escape",
            ],
        )
    },
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
    Variant {
        without: &[("holders_and_waiters_survive_a_restart", LOST_COMMITS)],
        ..postgres(
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
        )
    },
    Variant {
        without: &[
            ("subquery_on_an_old_snapshot", READS_LOCK),
            ("written_rows_are_counted", READS_LOCK),
        ],
        ..mariadb(
            "MariaDB, serializable",
            &["--transaction-isolation=SERIALIZABLE"],
        )
    },
    Variant {
        without: &[("subquery_on_an_old_snapshot", NO_LIMIT)],
        ..mariadb(
            "MariaDB, read committed",
            &["--transaction-isolation=READ-COMMITTED"],
        )
    },
    Variant {
        without: &[(
            "on_mariadb_fenced_statements_have_the_effect_of_plain_ones",
            OWN_STATEMENTS,
        )],
        ..mariadb(
            "MariaDB, ANSI",
            &["--sql-mode=ANSI,NO_BACKSLASH_ESCAPES,STRICT_ALL_TABLES,NO_ZERO_DATE"],
        )
    },
    Variant {
        without: &[
            ("fence::", OWN_STATEMENTS),
            ("races::", OWN_STATEMENTS),
            ("statements::", OWN_STATEMENTS),
        ],
        ..mariadb("MariaDB, safe updates", &["--sql-safe-updates"])
    },
    mariadb(
        "MariaDB, compact rows and latin1",
        &[
            "--innodb-default-row-format=compact",
            "--character-set-server=latin1",
            "--collation-server=latin1_swedish_ci",
            "--default-time-zone=+13:00",
        ],
    ),
    Variant {
        without: &[(
            "on_mariadb_begin_refuses_older_tokens_and_obeys_lock_timeout",
            OWN_SETTING,
        )],
        ..mariadb(
            "MariaDB, short waits",
            &[
                "--innodb-lock-wait-timeout=1",
                "--innodb-rollback-on-timeout=ON",
            ],
        )
    },
    Variant {
        without: &[(
            "a_server_that_loses_data_in_a_restart_is_a_warning",
            OWN_SETTING,
        )],
        ..single(
            "Redis, append-only file",
            &["--appendonly", "yes", "--appendfsync", "always"],
        )
    },
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
    Variant {
        without: &[
            ("a_healthy_server_has_only_good_findings", OWN_SETTING),
            (
                "a_list_of_many_locks_has_no_slow_command_and_small_pages",
                OWN_CLIENT,
            ),
            ("waiting_for_replicas_needs_one_more_privilege", OWN_CLIENT),
        ],
        ..single(
            "Redis, idle clients are closed",
            &["--timeout", "2", "--tcp-keepalive", "1"],
        )
    },
];

/// Several settings at once, for one server of each kind. They find the same faults in seconds, so `cargo xtask test` runs
/// them; [`ALL`] then shows which setting it is.
pub const TOGETHER: [Variant; 3] = [
    Variant {
        tests: &["backend::postgres::plain", "fence::"],
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
            &[
                "-c",
                "statement_timeout=20s",
                "-c",
                "lock_timeout=10s",
                "-c",
                "idle_in_transaction_session_timeout=30s",
                "-c",
                "bytea_output=escape",
                "-c",
                "datestyle=German",
                "-c",
                "intervalstyle=sql_standard",
                "-c",
                "timezone=America/St_Johns",
                "-c",
                "extra_float_digits=-15",
                "-c",
                "plan_cache_mode=force_generic_plan",
                "-c",
                "enable_indexscan=off",
                "-c",
                "enable_bitmapscan=off",
                "-c",
                "synchronous_commit=off",
            ],
        )
    },
    Variant {
        tests: &["backend::mariadb::plain", "fence::"],
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
            &[
                "--transaction-isolation=READ-COMMITTED",
                "--sql-mode=ANSI,NO_BACKSLASH_ESCAPES,STRICT_ALL_TABLES,NO_ZERO_DATE",
                "--innodb-default-row-format=compact",
                "--character-set-server=latin1",
                "--collation-server=latin1_swedish_ci",
                "--default-time-zone=+13:00",
                "--innodb-lock-wait-timeout=1",
                "--innodb-rollback-on-timeout=ON",
            ],
        )
    },
    Variant {
        tests: &["single::suite::redis", "single::fence", "single::pipeline"],
        ..single(
            "Redis, settings together",
            &[
                "--appendonly",
                "yes",
                "--appendfsync",
                "always",
                "--hz",
                "1",
                "--io-threads",
                "4",
                "--lazyfree-lazy-user-del",
                "yes",
                "--timeout",
                "2",
                "--tcp-keepalive",
                "1",
            ],
        )
    },
];

const fn postgres(name: &'static str, settings: &'static [&'static str]) -> Variant {
    Variant {
        settings,
        ..sql(name, POSTGRES, None, &["postgres"])
    }
}

const fn mariadb(name: &'static str, settings: &'static [&'static str]) -> Variant {
    Variant {
        settings,
        ..sql(name, MARIADB, None, &["mariadb"])
    }
}

const fn single(name: &'static str, settings: &'static [&'static str]) -> Variant {
    Variant {
        settings,
        tests: &["single::"],
        ..redis(name, None, &[])
    }
}
