//! Data under locks that break: does a fence keep it whole, and who loses without one?
//!
//! Several processes change the same data, each under a lock that all of them share, while a nemesis stops and kills
//! processes, cuts links, kills servers, fails over and moves clocks. Each holder does the same work four times: to a
//! counter and a list that it reads, thinks about and writes, and to a trail that it appends its token to; both with a
//! fence, and both without one, which is the *control*. The control must lose updates in the same moments, or the run
//! would prove nothing.
//!
//! The binary `matrix` does that for each deployment of locks and each fault, on all kinds of data at once, and prints
//! a table. The binary `soak` runs acquisitions of every kind for an hour and says what grew. The binary `client` is one
//! of several processes in tests of what holds across processes.
//!
//! | module | holds |
//! |---|---|
//! | [`fault`] | what the nemesis can do |
//! | [`deployment`] | where locks come from: servers, and how each fault is done to them |
//! | [`data`] | what is changed: rows in databases, values in Redis, with and without a fence |
//! | [`worker`] | one process that locks and changes data |
//! | [`workers`] | the processes of a cell, and what is done to them |
//! | [`record`] | what a process notes of its changes |
//! | [`judge`] | whether that was allowed |
//! | [`cell`] | one deployment and one fault, from start to verdict |
//! | [`plan`] | which cells are run |
//! | [`report`] | the table |
//! | [`run`] | all of them |
//! | [`clients`] | processes that lock as tests tell them |
//! | [`monitor`] | what the server did for one key, in its own order |
//! | [`soak`] | many acquisitions beside faults, and what grows |

pub mod cell;
pub mod clients;
pub mod data;
pub mod deployment;
pub mod fault;
pub mod judge;
pub mod monitor;
pub mod plan;
pub mod record;
pub mod report;
pub mod run;
pub mod soak;
pub mod worker;
pub mod workers;

/// Whatever ends a run early.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;
