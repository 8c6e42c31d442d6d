//! The servers of the tests.

/// A server program, and how to install it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Server {
    /// The common name.
    pub name: &'static str,
    /// The name of the program.
    pub program: &'static str,
    /// The environment variable that names another program.
    pub variable: &'static str,
    /// The oldest supported version.
    pub least: (u32, u32),
    /// The Debian package of the program.
    pub package: &'static str,
    /// Further packages that are needed to set it up.
    pub tools: &'static [&'static str],
    /// A folder that contains a folder per version. It is searched if the program is not in `PATH`.
    pub versions: Option<&'static str>,
    /// The service of this package, which must not run.
    pub service: Option<&'static str>,
    /// The class that prints the version, if the program is a Java archive. It is then searched in the folder of
    /// archives.
    pub version_class: Option<&'static str>,
}

/// The folder of Java archives.
pub(super) const ARCHIVES: &str = "usr/share/java";

impl Server {
    /// Returns the environment variable that adds arguments to each server of a test, separated by newlines.
    pub(crate) fn settings_variable(&self) -> String {
        format!("{}_SETTINGS", self.variable)
    }

    /// Returns the arguments that the environment adds.
    #[cfg(feature = "servers")]
    pub(crate) fn added_settings(&self) -> Vec<String> {
        let settings = std::env::var(self.settings_variable()).unwrap_or_default();
        settings.lines().map(str::to_owned).collect()
    }

    /// Returns all packages to install.
    pub(super) fn packages(&self) -> Vec<&'static str> {
        let tools = self.tools.iter().copied();
        std::iter::once(self.package).chain(tools).collect()
    }
}

/// Redis.
pub const REDIS: Server = Server {
    name: "Redis",
    program: "redis-server",
    variable: "LEASEHOLD_REDIS_SERVER",
    least: (6, 2),
    package: "redis-server",
    tools: &[],
    versions: None,
    service: Some("redis-server"),
    version_class: None,
};

/// Postgres. Its other programs are in the same folder.
pub const POSTGRES: Server = Server {
    name: "Postgres",
    program: "postgres",
    variable: "LEASEHOLD_POSTGRES",
    least: (13, 0),
    package: "postgresql",
    tools: &[],
    versions: Some("usr/lib/postgresql"),
    service: Some("postgresql"),
    version_class: None,
};

/// `PgBouncer`, a connection pooler for Postgres.
pub const PGBOUNCER: Server = Server {
    name: "PgBouncer",
    program: "pgbouncer",
    variable: "LEASEHOLD_PGBOUNCER",
    least: (1, 16),
    package: "pgbouncer",
    tools: &[],
    versions: None,
    service: Some("pgbouncer"),
    version_class: None,
};

/// `MariaDB`. The packages do not contain a daemon.
pub const MARIADB: Server = Server {
    name: "MariaDB",
    program: "mariadbd",
    variable: "LEASEHOLD_MARIADBD",
    least: (10, 6),
    package: "mariadb-server-core",
    tools: &["mariadb-client-core"],
    versions: None,
    service: None,
    version_class: None,
};

/// Java, which runs `ZooKeeper`.
pub const JAVA: Server = Server {
    name: "Java",
    program: "java",
    variable: "LEASEHOLD_JAVA",
    least: (11, 0),
    package: "default-jre-headless",
    tools: &[],
    versions: Some("usr/lib/jvm"),
    service: None,
    version_class: None,
};

/// `ZooKeeper`: an archive that [`JAVA`] runs. The package of the library does not contain a daemon.
pub const ZOOKEEPER: Server = Server {
    name: "ZooKeeper",
    program: "zookeeper.jar",
    variable: "LEASEHOLD_ZOOKEEPER",
    least: (3, 6),
    package: "libzookeeper-java",
    tools: &[],
    versions: None,
    service: None,
    version_class: Some("org.apache.zookeeper.version.VersionInfoMain"),
};

/// `chromedriver`, whose package also contains Chromium.
pub const CHROMEDRIVER: Server = Server {
    name: "ChromeDriver",
    program: "chromedriver",
    variable: "LEASEHOLD_CHROMEDRIVER",
    least: (112, 0),
    package: "chromium-driver",
    tools: &[],
    versions: None,
    service: None,
    version_class: None,
};

/// All servers of the tests.
pub const SERVERS: [Server; 7] = [
    REDIS,
    POSTGRES,
    PGBOUNCER,
    MARIADB,
    JAVA,
    ZOOKEEPER,
    CHROMEDRIVER,
];
