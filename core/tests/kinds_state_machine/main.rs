//! Random histories of one key, in the in-process backend and with the real scripts on a real server. See
//! [`leasehold_histories`].

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod embedded;
mod on_redis;

use leasehold_histories::{Once, Permits, ReadWrite, histories};

use self::embedded::Embedded;
use self::on_redis::OnRedis;

histories! {
    10_000, 200;
    readers_and_writers_in_process: ReadWrite, Embedded;
    readers_and_writers_on_a_server: ReadWrite, OnRedis;
    permits_in_process: Permits, Embedded;
    permits_on_a_server: Permits, OnRedis;
    outcomes_in_process: Once, Embedded;
    outcomes_on_a_server: Once, OnRedis;
}
