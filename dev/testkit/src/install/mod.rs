//! The servers the tests need: finding them, and installing what is missing.
//!
//! `cargo xtask test` does this first, in its step `servers`. Each server is a
//! row of [`SERVERS`]. A program is looked for in this order:
//!
//! 1. what an environment variable names, `LEASEHOLD_REDIS_SERVER` for Redis;
//! 2. the folders of `PATH`;
//! 3. the newest of the folders per version, `/usr/lib/postgresql/15/bin`;
//! 4. `target/servers` of this workspace.
//!
//! If it is nowhere, it comes from the packages of Debian and its relatives.
//! Root installs them, without letting the package start its daemon. Anybody
//! else gets them unpacked into `target/servers`, and nothing outside of it
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
pub use server::{CHROMEDRIVER, JAVA, MARIADB, POSTGRES, REDIS, SERVERS, Server, ZOOKEEPER};
pub use version::Version;

/// Finds or installs every server of [`SERVERS`], and answers what there is
/// now: `Redis 7.0.15 (/usr/bin/redis-server)`.
///
/// # Errors
///
/// [`InstallError`] for the first which can neither be found nor installed, or
/// which is too old.
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
