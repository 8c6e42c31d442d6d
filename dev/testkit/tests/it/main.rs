//! The test run and the structure checks, tested themselves.

mod circles;
mod cli;
mod counts;
mod fake;
mod floors;
mod paths;
mod perform;
mod readme;
mod single;
mod steps;
mod workspace;
