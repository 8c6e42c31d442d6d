//! The servers there are tests for.

/// A server program, and where it comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Server {
    /// What people call it.
    pub name: &'static str,
    /// Its program.
    pub program: &'static str,
    /// The environment variable which names the program to use instead.
    pub variable: &'static str,
    /// The oldest version that will do.
    pub least: (u32, u32),
    /// The Debian package it is in.
    pub package: &'static str,
    /// Further packages it cannot be set up without.
    pub tools: &'static [&'static str],
    /// A folder with a folder per version, where it is if it is not in `PATH`.
    pub versions: Option<&'static str>,
    /// The service this package would start, which we keep from running.
    pub service: Option<&'static str>,
    /// The class that prints its version, if it is an archive for Java and not a program by itself. It is looked for
    /// where archives are, then.
    pub version_class: Option<&'static str>,
}

/// Where archives for Java are.
pub(super) const ARCHIVES: &str = "usr/share/java";

impl Server {
    /// Every package to install.
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

/// Postgres. Its other programs are beside it.
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

/// `MariaDB`. The packages have no daemon.
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

/// What runs `ZooKeeper`.
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

/// `ZooKeeper`: an archive that [`JAVA`] runs. The package of the library has no daemon.
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

/// What drives a Chromium, which comes with it.
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

/// Every server the tests need.
pub const SERVERS: [Server; 6] = [REDIS, POSTGRES, MARIADB, JAVA, ZOOKEEPER, CHROMEDRIVER];
