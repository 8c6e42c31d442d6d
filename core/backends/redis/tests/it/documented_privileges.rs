//! A user with the documented least privileges, and all operations that this user must be able to do.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

use std::future::IntoFuture as _;
use std::pin::pin;
use std::time::Duration;

use futures_util::future::join_all;
use futures_util::poll;
use leasehold::LockManager;
use leasehold_testkit::resp::{RawClient, RespError};
use tokio::time::{sleep, timeout};

/// The name of the user, and its password.
pub(crate) const USER: &str = "locker";
pub(crate) const PASSWORD: &str = "secret";

/// A notified waiter acquires the lock much earlier, and a waiter that polls may acquire it later.
const WOKEN: Duration = Duration::from_secs(9);

pub(crate) const OF_LOCKS: &str = include_str!("../../src/lib.rs");

/// Returns the privileges that locks need on every server, and those that the documentation lists after each text of
/// `also`.
pub(crate) fn least(also: &[&str]) -> Vec<&'static str> {
    let block = section(OF_LOCKS).split("```").nth(1).unwrap();
    let mut rights = words(block.strip_prefix("text").unwrap());
    rights.extend(also.iter().flat_map(|behind| named(OF_LOCKS, behind)));
    rights
}

/// Returns the privileges that the documentation of a file lists after `behind`.
pub(crate) fn named(file: &'static str, behind: &str) -> Vec<&'static str> {
    let (_, rest) = section(file).split_once(behind).unwrap();
    words(rest.split('`').nth(1).unwrap())
}

fn section(file: &'static str) -> &'static str {
    file.split_once("/// # Permissions\n").unwrap().1
}

fn words(text: &'static str) -> Vec<&'static str> {
    text.split_whitespace().filter(|it| *it != "///").collect()
}

/// Creates the user with only these privileges.
pub(crate) async fn make_user(server: &mut RawClient, rights: &[&str]) {
    let password = format!(">{PASSWORD}");
    let user = ["ACL", "SETUSER", USER, "reset", "on", &password];
    let made = server.command([&user[..], rights].concat()).await;
    assert!(made.unwrap().is_ok());
}

/// Returns the commands that the server has refused for the user. Omits the refused command that sets the name of the
/// library, because its refusal changes nothing. Version 6.2 logs only the commands, not their subcommands.
pub(crate) async fn refused(server: &mut RawClient) -> Vec<String> {
    let log = server.command(["ACL", "LOG"]).await.unwrap();
    let said = log.items().iter().map(|entry| {
        let fields = entry.items().iter();
        let fields: Vec<_> = fields.filter_map(|it| it.text()).collect();
        fields.join(" ")
    });
    let names_a_library =
        |it: &str| it.contains("client|setinfo") || it.contains("object client username");
    said.filter(|it| it.contains(USER) && !names_a_library(it))
        .collect()
}

/// Executes all operations on locks with two managers. If shared locks are not supported, executes only those on
/// exclusive locks.
pub(crate) async fn everything(connect: impl AsyncFn() -> LockManager) {
    let (here, there) = (connect().await, connect().await);
    let can = here.capabilities();
    for key in ["k", "{42}:k"] {
        exclusive(&here, &there, key).await;
        if can.shared {
            shared(&here, &there, key).await;
        }
        if can.permits {
            let permits = || here.semaphore(format!("{key}:permits"), 3);
            let two = permits().acquire_many(2).await.unwrap();
            two.renew().await.unwrap();
            assert!(permits().try_acquire_many(2).await.unwrap().is_none());
            two.release().await.unwrap();
        }
        if can.once {
            let key = format!("{key}:once");
            let (first, second) = (here.once(&key), there.once(&key));
            let body = async |_| {
                sleep(Duration::from_millis(50)).await;
                Ok::<_, leasehold::Error>(7)
            };
            let both = tokio::join!(first.run(body), second.run(body));
            assert_eq!((both.0.unwrap(), both.1.unwrap()), (7, 7));
            assert!(here.once(&key).forget().await.unwrap());
        }
        if can.handover {
            let given = here.lock(key).acquire().await.unwrap();
            let ticket = given.hand_over().await.unwrap();
            let taken = there.accept(&ticket).await.unwrap();
            taken.release().await.unwrap();
        }
        let both = here.lock_all([format!("{key}:1"), format!("{key}:2")]);
        both.acquire().await.unwrap().release().await.unwrap();
    }
    // This number of requests is sent in batches.
    let many = join_all((0..40).map(|n| here.lock(format!("many:{n}")).acquire()));
    let many = many.await.into_iter().map(|it| it.unwrap().release());
    assert!(join_all(many).await.iter().all(Result::is_ok));
    here.shutdown().await.unwrap();
    there.shutdown().await.unwrap();
}

async fn exclusive(here: &LockManager, there: &LockManager, key: &str) {
    let guard = here.lock(key).acquire().await.unwrap();
    guard.renew().await.unwrap();
    // Drop one acquire while its request is sent, and one while it waits.
    {
        let mut dropped = pin!(there.lock(key).acquire().into_future());
        assert!(poll!(&mut dropped).is_pending());
    }
    let impatient = there.lock(key).wait(Duration::from_millis(50));
    assert!(impatient.acquire().await.is_err());
    let next = tokio::spawn(there.lock(key).acquire().into_future());
    waiting(here, key, 1).await;
    guard.release().await.unwrap();
    let next = timeout(WOKEN, next).await.expect("nobody wakes it");
    let next = next.unwrap().unwrap();
    assert!(here.force_release(key).await.unwrap());
    assert!(next.renew().await.is_err());
}

async fn shared(here: &LockManager, there: &LockManager, key: &str) {
    let writer = here.lock(key).acquire().await.unwrap();
    let other = tokio::spawn(there.rw_lock(key).read().acquire().into_future());
    waiting(here, key, 1).await;
    let reader = writer.downgrade().await.unwrap();
    let other = timeout(WOKEN, other).await.expect("nobody wakes it");
    let other = other.unwrap().unwrap();
    reader.renew().await.unwrap();
    reader.release().await.unwrap();
    other.release().await.unwrap();
}

async fn waiting(locks: &LockManager, key: &str, count: usize) {
    while locks.inspect(key).await.unwrap().waiting != count {
        sleep(Duration::from_millis(5)).await;
    }
}

/// Commands that affect other users of the server, or read their data.
const DANGEROUS: [&str; 66] = [
    "CLIENT PAUSE 1",
    "CLIENT UNPAUSE",
    "CLIENT KILL ID 1",
    "CLIENT LIST",
    "CLIENT INFO",
    "CLIENT TRACKING ON BCAST",
    "CLIENT NO-EVICT ON",
    "CLIENT REPLY ON",
    "CLIENT UNBLOCK 1",
    "CLIENT SETNAME a",
    "KEYS *",
    "SCAN 0",
    "RANDOMKEY",
    "DBSIZE",
    "FLUSHALL",
    "FLUSHDB",
    "SWAPDB 0 1",
    "CONFIG GET *",
    "CONFIG SET maxmemory 1mb",
    "CONFIG REWRITE",
    "CONFIG RESETSTAT",
    "MONITOR",
    "SHUTDOWN NOSAVE",
    "SAVE",
    "BGSAVE",
    "BGREWRITEAOF",
    "REPLICAOF NO ONE",
    "SLAVEOF NO ONE",
    "FAILOVER ABORT",
    "PSYNC ? -1",
    "SYNC",
    "SCRIPT FLUSH",
    "SCRIPT KILL",
    "SCRIPT EXISTS a",
    "EVAL return 0",
    "FUNCTION LIST",
    "FUNCTION FLUSH",
    "FUNCTION KILL",
    "FCALL f 0",
    "ACL LIST",
    "ACL SETUSER a",
    "ACL DELUSER a",
    "ACL LOG",
    "MODULE LIST",
    "MIGRATE h 1 lock:k 0 1",
    "RESTORE lock:k 0 a",
    "DUMP lock:k",
    "RENAME lock:k lock:l",
    "COPY lock:k lock:l",
    "MOVE lock:k 1",
    "OBJECT FREQ lock:k",
    "SORT lock:k",
    "UNLINK lock:k",
    "PERSIST lock:k",
    "BLPOP lock:k 0",
    "SLOWLOG GET",
    "LATENCY RESET",
    "MEMORY PURGE",
    "COMMAND LIST",
    "PSUBSCRIBE *",
    "PUBSUB CHANNELS",
    "CLUSTER RESET",
    "CLUSTER NODES",
    "CLUSTER FORGET a",
    "CLUSTER FAILOVER",
    "WAITAOF 0 0 0",
];

/// Commands for keys and channels of other programs.
const OF_OTHERS: [&str; 4] = [
    "GET session:42",
    "SET session:42 1",
    "GET {session:42}:lh1:fence",
    "PUBLISH news 1",
];

/// Executes the commands that the user may not use, on the server at `port`.
pub(crate) async fn tries_what_is_dangerous(port: u16) {
    let mut user = RawClient::connect(&format!("127.0.0.1:{port}"))
        .await
        .unwrap();
    user.command(["AUTH", USER, PASSWORD]).await.unwrap();
    for command in DANGEROUS.into_iter().chain(OF_OTHERS) {
        match user.command(command.split(' ')).await {
            Err(RespError::Refused(why)) if why.starts_with("NOPERM") => {}
            // This version of the server does not have the command.
            Err(RespError::Refused(why)) if why.contains("unknown command") => {}
            other => panic!("`{command}`: {other:?}"),
        }
    }
}
