//! Other versions and other settings of the servers.

use std::path::Path;

use super::Job;
use crate::install::{REDIS, Server};

/// A version of a server, or other settings of it, and the tests that run with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Variant {
    /// Its name.
    pub name: &'static str,
    /// The server.
    pub server: Server,
    /// The package that contains it. `None` is the version of `cargo xtask test`, which is that of the Linux
    /// distribution.
    pub package: Option<Package>,
    /// The test binaries that need this server.
    pub binaries: &'static [&'static str],
    /// The arguments that change the settings of the server, in groups.
    pub settings: &'static [&'static [&'static str]],
    /// The tests whose names contain one of these texts run, or all tests if there is none.
    pub tests: &'static [&'static str],
    /// The tests that cannot run with it, with the reason.
    pub without: &'static [(&'static str, &'static str)],
}

/// A package of `PyPI` that contains a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Package {
    /// Its name, number and the hash of its file.
    pub requirement: &'static str,
    /// The path of the program in the package.
    pub program: &'static str,
}

impl Variant {
    /// Returns the command that runs the tests of this variant. `all` is the command that runs all tests of a binary, and
    /// `packaged` is the server's program, if it is from a package.
    #[must_use]
    pub fn tests(&self, packaged: Option<&Path>, all: &Job) -> Job {
        let mut job = all.clone();
        if !self.settings.is_empty() {
            let name = self.server.settings_variable();
            job.env.push((name, self.settings.concat().join("\n")));
        }
        job.args.extend(self.tests.iter().map(|&it| it.to_owned()));
        let skipped = self.without.iter().map(|it| format!("--skip={}", it.0));
        job.args.extend(skipped);
        if let Some(path) = packaged {
            let path = path.to_string_lossy().into_owned();
            job.env.push((self.server.variable.to_owned(), path));
        }
        job
    }
}

pub(crate) const fn redis(
    name: &'static str,
    package: Option<Package>,
    without: &'static [(&'static str, &'static str)],
) -> Variant {
    Variant {
        name,
        server: REDIS,
        package,
        binaries: &["leasehold-redis it"],
        settings: &[],
        tests: &[],
        without,
    }
}

pub(crate) const fn sql(
    name: &'static str,
    server: Server,
    package: Option<Package>,
    tests: &'static [&'static str],
) -> Variant {
    Variant {
        name,
        server,
        package,
        binaries: &["leasehold-sql it", "leasehold-sqlx it"],
        settings: &[],
        tests,
        without: &[],
    }
}
