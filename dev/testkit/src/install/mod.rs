//! Finds the servers for the tests, and installs missing ones.
//!
//! `cargo xtask test` does this while it builds the tests, and `cargo xtask servers` does only this. Each server is a row of [`SERVERS`]. A program is
//! searched in this order:
//!
//! 1. the path in an environment variable, such as `LEASEHOLD_REDIS_SERVER` for Redis;
//! 2. the folders in `PATH`;
//! 3. the folder of the newest version, such as `/usr/lib/postgresql/15/bin`;
//! 4. `target/servers` in this workspace.
//!
//! A missing program is installed from the packages of Debian and its derivatives. If the user is root, the packages
//! are installed without starting their daemons. Otherwise they are unpacked into `target/servers`, and nothing else
//! changes.

mod apt;
mod daemon;
mod error;
mod find;
mod program;
mod server;
mod shell;
mod unpack;
mod version;

pub use error::InstallError;
pub use find::{Places, find};
pub use program::Program;
pub use server::{
    CHROMEDRIVER, JAVA, MARIADB, PGBOUNCER, POSTGRES, REDIS, SERVERS, Server, ZOOKEEPER,
};
pub use version::Version;

/// Finds or installs every server of [`SERVERS`]. Returns a description of each:
/// `Redis 7.0.15 (/usr/bin/redis-server)`.
///
/// # Errors
///
/// Returns [`InstallError`] for the first server that cannot be found or installed, or that is too old.
pub fn ensure() -> Result<Vec<String>, InstallError> {
    SERVERS.iter().map(ensure_one).collect()
}

fn ensure_one(server: &Server) -> Result<String, InstallError> {
    let places = Places::of(server);
    let (program, how) = match find(server, &places) {
        Err(InstallError::NotFound { .. }) => {
            let how = apt::install(server, &places.unpacked)?;
            (find(server, &places)?, how)
        }
        found => (found?, ""),
    };
    let version = program.checked(server)?;
    Ok(format!(
        "{} {version} ({}){how}",
        server.name,
        program.path.display()
    ))
}
