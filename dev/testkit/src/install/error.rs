//! Why there is no server.

use std::path::PathBuf;

use super::version::Version;

/// Why a server cannot be used. Each says what to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InstallError {
    /// It is in none of the places we look at.
    #[error(
        "there is no `{program}` on this machine: run `cargo xtask test`, which installs it \
         (`cargo xtask test --only servers` does only that), or name one in {variable}"
    )]
    NotFound {
        /// The program looked for.
        program: &'static str,
        /// The variable which may name it.
        variable: &'static str,
    },

    /// The environment names a program which is not there.
    #[error("{variable} is {}, which is no file: correct or unset it", .path.display())]
    NamedInVain {
        /// The variable.
        variable: &'static str,
        /// What it says.
        path: PathBuf,
    },

    /// What was found does not run.
    #[error("`{} --version` does not run: {why}; install it again", .path.display())]
    Broken {
        /// The program.
        path: PathBuf,
        /// What happened.
        why: String,
    },

    /// What was found is not new enough.
    #[error(
        "{} is {found}, and the tests need {}.{} or later: install a newer one and name it in {variable}",
        .path.display(), .least.0, .least.1
    )]
    TooOld {
        /// The program.
        path: PathBuf,
        /// What it says of itself.
        found: Version,
        /// What is needed.
        least: (u32, u32),
        /// The variable which may name another.
        variable: &'static str,
    },

    /// Installing it did not work.
    #[error(
        "`{program}` is missing and could not be installed: {why}\n\
         install it by hand, or name one in {variable}"
    )]
    NotInstalled {
        /// The program.
        program: &'static str,
        /// The variable which may name it.
        variable: &'static str,
        /// What went wrong.
        why: String,
    },
}
