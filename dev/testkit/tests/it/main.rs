//! The test run, the structure checks, and what integration tests stand on,
//! tested themselves.

mod binaries;
mod chaos;
mod circles;
mod cli;
mod clock;
mod counts;
mod fake;
mod floors;
mod frames;
mod guarantees;
mod history;
mod holding;
mod install;
mod links;
mod losing;
mod paths;
mod perform;
mod processes;
mod proxy;
mod public_api;
mod pushes;
mod readme;
mod servers;
mod single;
mod steps;
mod tls;
mod topologies;
mod workspace;
mod zookeeper;
