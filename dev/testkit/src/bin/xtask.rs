//! `cargo xtask`: see [`leasehold_testkit::cli`].

use std::process::ExitCode;

fn main() -> ExitCode {
    leasehold_testkit::cli::main(std::env::args().skip(1))
}
