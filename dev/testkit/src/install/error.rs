//! The errors of finding and installing servers.

use std::path::PathBuf;

use super::version::Version;

/// The reason why a server cannot be used. Each error contains a remedy.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InstallError {
    /// The program was not found in any of the searched places.
    #[error(
        "there is no `{program}` on this machine: run `cargo xtask test`, which installs it \
         (`cargo xtask servers` does only that), or name one in {variable}"
    )]
    NotFound {
        /// The name of the program.
        program: &'static str,
        /// The environment variable that can name the program.
        variable: &'static str,
    },

    /// The environment variable names a program that does not exist.
    #[error("{variable} is {}, which is no file: correct or unset it", .path.display())]
    NamedInVain {
        /// The variable.
        variable: &'static str,
        /// The value of the variable.
        path: PathBuf,
    },

    /// The program cannot be executed.
    #[error("`{} --version` does not run: {why}; install it again", .path.display())]
    Broken {
        /// The program.
        path: PathBuf,
        /// The error.
        why: String,
    },

    /// The program is too old.
    #[error(
        "{} is {found}, and the tests need {}.{} or later: install a newer one and name it in {variable}",
        .path.display(), .least.0, .least.1
    )]
    TooOld {
        /// The program.
        path: PathBuf,
        /// The version of the program.
        found: Version,
        /// The required version.
        least: (u32, u32),
        /// The environment variable that can name another program.
        variable: &'static str,
    },

    /// The installation failed.
    #[error(
        "`{program}` is missing and could not be installed: {why}\n\
         install it by hand, or name one in {variable}"
    )]
    NotInstalled {
        /// The program.
        program: &'static str,
        /// The environment variable that can name the program.
        variable: &'static str,
        /// The error.
        why: String,
    },
}
