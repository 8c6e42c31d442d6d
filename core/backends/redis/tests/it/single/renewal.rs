//! Many leases that are renewed in one batch, with the same result as separate renewals.

use std::time::Duration;

use leasehold::backend::redis::Redis;
use leasehold::backend::{Attempt, AttemptAnswer, Backend, BackendError, Claim, Mode, RenewAnswer};
use leasehold::{FencingToken, Key};
use redis::aio::MultiplexedConnection;

use crate::single::server::Server;
use crate::single::server_errors::whole;

/// The two TTLs differ enough to be distinguished.
const TAKEN: Duration = Duration::from_secs(20);
const RENEWED: Duration = Duration::from_secs(60);

const TWO_DAYS: i64 = 1000 * 60 * 60 * 24 * 2;

/// More leases than one batch contains.
const MANY: usize = 100;

async fn backend(server: &Server) -> Redis {
    Redis::connect(&server.url()).await.unwrap()
}

fn named(name: &str) -> Key {
    Key::new("lock:", name).unwrap()
}

async fn take_as(backend: &Redis, name: &str, mode: Mode) -> Claim {
    let attempt = Attempt::new(named(name), TAKEN, false).in_mode(mode);
    let AttemptAnswer::Granted { token, .. } = backend.attempt(&attempt).await.unwrap() else {
        panic!("{name} is taken");
    };
    let mut claim = attempt.claim(token);
    claim.ttl = RENEWED;
    claim
}

async fn take(backend: &Redis, name: &str) -> Claim {
    take_as(backend, name, Mode::Exclusive).await
}

async fn take_many(backend: &Redis) -> Vec<Claim> {
    let mut claims = Vec::new();
    for n in 0..MANY {
        claims.push(take(backend, &format!("many:{n}")).await);
    }
    claims
}

/// Returns a claim of an owner that does not hold a lock.
fn foreign(name: &str, token: FencingToken) -> Claim {
    Attempt::new(named(name), RENEWED, false).claim(token)
}

fn fence(name: &str) -> String {
    format!("{{lock:{name}}}:lh1:fence")
}

async fn ask<T: redis::FromRedisValue>(raw: &mut MultiplexedConnection, words: &[&str]) -> T {
    let mut command = redis::cmd(words[0]);
    command.arg(&words[1..]).query_async(raw).await.unwrap()
}

async fn left(raw: &mut MultiplexedConnection, key: &str) -> i64 {
    ask(raw, &["PTTL", key]).await
}

async fn scripts_called(raw: &mut MultiplexedConnection) -> u32 {
    let stats: String = ask(raw, &["INFO", "commandstats"]).await;
    let calls = stats.split("cmdstat_evalsha:calls=").nth(1).unwrap();
    calls.split(',').next().unwrap().parse().unwrap()
}

fn is_extended(answer: &Result<RenewAnswer, BackendError>) -> bool {
    matches!(answer, Ok(RenewAnswer::Extended { lease }) if *lease == RENEWED)
}

#[tokio::test]
async fn a_hundred_leases_are_renewed_in_four_script_calls() {
    let server = Server::start().await;
    let (backend, mut raw) = (backend(&server).await, server.raw().await);
    let mut claims = take_many(&backend).await;
    for (claim, more) in claims.iter_mut().zip(0..) {
        claim.ttl += Duration::from_secs(60 * more);
    }
    let before = scripts_called(&mut raw).await;
    let answers = backend.renew(&claims).await;
    assert_eq!(scripts_called(&mut raw).await - before, 4);
    assert_eq!(answers.len(), MANY);
    for (claim, answer) in claims.iter().zip(answers) {
        let RenewAnswer::Extended { lease } = answer.unwrap() else {
            panic!("{} is gone", claim.key);
        };
        assert_eq!(lease, claim.ttl);
        let lock = left(&mut raw, claim.key.full()).await;
        let ttl = i64::try_from(claim.ttl.as_millis()).unwrap();
        assert!(lock > ttl - 10_000 && lock <= ttl, "{lock} of {ttl}");
        let fence = left(&mut raw, &fence(claim.key.name())).await;
        assert!(fence > TWO_DAYS - 10_000 && fence <= TWO_DAYS, "{fence}");
    }
}

#[tokio::test]
async fn each_claim_of_a_batch_gets_its_own_reply_in_order() {
    let server = Server::start().await;
    let (backend, mut raw) = (backend(&server).await, server.raw().await);
    let mut claims = Vec::new();
    for n in 0..MANY {
        let name = format!("k{n}");
        let next = |token: FencingToken| FencingToken::try_from(token.get() + 1).unwrap();
        let (claim, extended) = match n % 9 {
            0 => (take(&backend, &name).await, true),
            1 => (take_as(&backend, &name, Mode::Shared).await, true),
            2 => {
                let permits = Mode::Permits { count: 2, of: 3 };
                (take_as(&backend, &name, permits).await, true)
            }
            3 => {
                let held = take(&backend, &name).await;
                (foreign(&name, held.token), false)
            }
            4 => {
                let mut stale = take(&backend, &name).await;
                stale.token = next(stale.token);
                (stale, false)
            }
            5 => {
                let released = take(&backend, &name).await;
                backend.release(&released).await.unwrap();
                (released, false)
            }
            6 => {
                // The lease expired, and another owner held and released the lock. The renewal must not revive the
                // first lease.
                let held = take(&backend, &name).await;
                let _gone: i64 = ask(&mut raw, &["DEL", held.key.full()]).await;
                let other = take(&backend, &name).await;
                let owner = held.owner.reveal();
                let _back: String = ask(&mut raw, &["SET", other.key.full(), &owner]).await;
                (held, false)
            }
            7 => {
                let held = take_as(&backend, &name, Mode::Shared).await;
                let mut other = foreign(&name, held.token);
                other.mode = Mode::Shared;
                (other, false)
            }
            _ => {
                // The counter was lost, and the renewal writes it again.
                let held = take(&backend, &name).await;
                let _gone: i64 = ask(&mut raw, &["DEL", &fence(&name)]).await;
                (held, true)
            }
        };
        claims.push((claim, extended));
    }
    fastrand::shuffle(&mut claims);
    let (claims, expected): (Vec<_>, Vec<_>) = claims.into_iter().unzip();
    let answers = backend.renew(&claims).await;
    assert!(answers.iter().all(Result::is_ok), "{answers:?}");
    let extended: Vec<_> = answers.iter().map(is_extended).collect();
    assert_eq!(extended, expected);
    for (claim, extended) in claims.iter().zip(expected) {
        let (lock, fence) = (claim.key.full(), fence(claim.key.name()));
        let lasts = left(&mut raw, lock).await;
        assert_eq!(lasts > 30_000, extended, "{lock}: {lasts}");
        if extended && claim.mode == Mode::Exclusive {
            let record: String = ask(&mut raw, &["GET", &fence]).await;
            assert_eq!(record, format!("{} {}", claim.token, claim.owner.reveal()));
        }
    }
}

#[tokio::test]
async fn a_refused_claim_gets_the_reason_and_the_others_are_renewed() {
    let server = Server::start().await;
    let (backend, mut raw) = (backend(&server).await, server.raw().await);
    let claims = take_many(&backend).await;
    let spoiled = [3, 40];
    let lock = claims[spoiled[0]].key.full().to_owned();
    for key in [lock, fence(claims[spoiled[1]].key.name())] {
        let _gone: i64 = ask(&mut raw, &["DEL", &key]).await;
        let _data: i64 = ask(&mut raw, &["RPUSH", &key, "data"]).await;
    }
    let answers = backend.renew(&claims).await;
    assert_eq!(answers.len(), MANY);
    for (place, answer) in answers.iter().enumerate() {
        if spoiled.contains(&place) {
            let error = answer.as_ref().unwrap_err();
            assert!(!error.is_temporary(), "{error:?}");
            assert!(whole(error).contains("prefix"), "{}", whole(error));
        } else {
            assert!(is_extended(answer), "{place}: {answer:?}");
        }
    }
    // The second lock was not extended either, because its fence could not be read.
    let held = left(&mut raw, claims[spoiled[1]].key.full()).await;
    assert!(held > 0 && held <= 20_000, "{held}");
}

#[tokio::test]
async fn a_server_without_memory_renews_all_leases() {
    let server = Server::start().await;
    let (backend, mut raw) = (backend(&server).await, server.raw().await);
    let mut claims = take_many(&backend).await;
    // The first lock is released, and the counters of the next locks must be written again.
    let released = claims.remove(0);
    backend.release(&released).await.unwrap();
    for claim in &claims[..40] {
        let _gone: i64 = ask(&mut raw, &["DEL", &fence(claim.key.name())]).await;
    }
    let _full: String = ask(&mut raw, &["CONFIG", "SET", "maxmemory", "1"]).await;
    let refused: Result<(), _> = redis::cmd("SET")
        .arg("x")
        .arg("y")
        .exec_async(&mut raw)
        .await;
    assert_eq!(refused.unwrap_err().code(), Some("OOM"));
    claims.insert(0, released);
    let answers = backend.renew(&claims).await;
    assert!(
        matches!(answers[0], Ok(RenewAnswer::Gone)),
        "{:?}",
        answers[0]
    );
    assert!(
        answers.len() == MANY && answers[1..].iter().all(is_extended),
        "{answers:?}"
    );
}

#[tokio::test]
async fn without_a_server_each_claim_gets_an_error() {
    let server = Server::start().await;
    let backend = backend(&server).await;
    let mut claims = take_many(&backend).await;
    claims.push(take_as(&backend, "shared", Mode::Shared).await);
    server.kill();
    for answer in backend.renew(&claims).await {
        answer.unwrap_err();
    }
    server.start_empty().await;
    let answers = backend.renew(&claims).await;
    assert_eq!(answers.len(), claims.len());
    assert!(
        answers.iter().all(|it| matches!(it, Ok(RenewAnswer::Gone))),
        "{answers:?}"
    );
}

#[tokio::test]
async fn a_cluster_node_with_a_plain_url_renews_leases_one_by_one() {
    let server = Server::of_a_cluster().await;
    let backend = backend(&server).await;
    let claims = take_many(&backend).await;
    let answers = backend.renew(&claims).await;
    assert!(answers.iter().all(is_extended), "{answers:?}");
}
