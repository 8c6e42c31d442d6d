//! Fenced data on a real server: a pipeline executes all or none of its commands, depending on the token, and reports
//! failed commands.

use std::sync::Arc;
use std::time::{Duration, Instant};

use leasehold::backend::Applied;
use leasehold::backend::redis::ReplyTooLarge;
use leasehold::{
    Error, FenceStore, FencedPipelineError, FencingToken, LockManager, MAX_COMMAND_ARGS,
    RedisFenceStore, RedisReply, Stale,
};
use leasehold_testkit::proxy::{Proxy, Which};
use tokio::task::JoinSet;

use crate::single::server::Server;
use crate::single::server_errors::whole;

fn token(number: i64) -> FencingToken {
    FencingToken::try_from(number).unwrap()
}

async fn store(server: &Server) -> RedisFenceStore {
    RedisFenceStore::connect(&server.url()).await.unwrap()
}

/// Executes a pipeline again if the server did not reply within the two seconds that the store gives it, as may happen
/// with a large reply on a busy machine.
async fn patiently(
    execute: impl AsyncFn() -> Result<Vec<RedisReply>, FencedPipelineError>,
) -> Result<Vec<RedisReply>, FencedPipelineError> {
    let begun = Instant::now();
    loop {
        match execute().await {
            Err(FencedPipelineError::Store { source, .. })
                if source.to_string().contains("in time")
                    && begun.elapsed() < Duration::from_secs(300) => {}
            other => return other,
        }
    }
}

async fn value(store: &RedisFenceStore, newest: i64, key: &str) -> Option<String> {
    let read = store.pipeline("r", token(newest)).cmd("GET", [key]);
    let read = read.execute().await.unwrap();
    read[0].text().map(ToOwned::to_owned)
}

#[tokio::test]
async fn a_pipeline_uses_the_current_locks_token_and_sends_nothing_without_it() {
    let server = Server::start().await;
    let store = store(&server).await;
    let locks = LockManager::in_process();
    let guard = locks.lock("r").acquire().await.unwrap();
    let set = async || -> Result<(), Error> {
        let pipeline = store.current_pipeline("r")?;
        pipeline
            .cmd("SET", ["text", "new"])
            .execute()
            .await
            .unwrap();
        Ok(())
    };
    guard.run(async |_| set().await).await.unwrap();
    let newest = guard.token().get();
    assert_eq!(value(&store, newest, "text").await.as_deref(), Some("new"));
    let late = store.pipeline("r", token(newest - 1)).execute().await;
    assert!(matches!(late, Err(FencedPipelineError::Stale(_))));

    let commands = server.scripts().await;
    assert!(matches!(set().await, Err(Error::NoCurrentLock(_))));
    let permit = locks.semaphore("s", 2).acquire().await.unwrap();
    let under_a_permit = permit.run(async |_| set().await).await;
    assert!(matches!(under_a_permit, Err(Error::NoCurrentLock(_))));
    guard.simulate_loss();
    let lost = guard.handle().scope(set()).await;
    assert!(lost.unwrap_err().is_lost());
    assert_eq!(server.scripts().await, commands);
}

#[tokio::test]
async fn each_command_is_executed_and_answered_in_order() {
    let server = Server::start().await;
    let store = store(&server).await;
    let replies = store
        .pipeline("r", token(7))
        .cmd("SET", ["text", "two words"])
        .cmd("GET", ["text"])
        .cmd("GET", ["nothing"])
        .cmd("INCRBY", ["count", "41"])
        .cmd("RPUSH", ["list", "a", "b"])
        .cmd("MGET", ["nothing", "text", "nothing"])
        .cmd("SET", [&b"bytes"[..], &[0, 255]])
        .cmd("GET", ["bytes"])
        .cmd("DBSIZE", [""; 0]);
    let replies = replies.execute().await.unwrap();
    let text = || RedisReply::Bytes(b"two words".to_vec());
    let expected = [
        RedisReply::Status("OK".to_owned()),
        text(),
        RedisReply::Nil,
        RedisReply::Integer(41),
        RedisReply::Integer(2),
        RedisReply::Items(vec![RedisReply::Nil, text(), RedisReply::Nil]),
        RedisReply::Status("OK".to_owned()),
        RedisReply::Bytes(vec![0, 255]),
        // The four written keys, and the last seen token.
        RedisReply::Integer(5),
    ];
    assert_eq!(replies, expected);
    assert!(replies[7].text().is_none() && replies[3].integer() == Some(41));
    let url = format!("{}?protocol=resp3", server.url());
    let other = RedisFenceStore::connect(&url).await.unwrap();
    let read = other.pipeline("r", token(7));
    let read = read.cmd("GET", ["nothing"]).cmd("GET", ["text"]);
    assert_eq!(read.execute().await.unwrap(), [RedisReply::Nil, text()]);
}

#[tokio::test]
async fn a_pipeline_with_a_stale_token_executes_nothing() {
    let server = Server::start().await;
    let store = store(&server).await;
    store.admit("r", token(10)).await.unwrap();
    let write = |number| {
        let write = store.pipeline("r", token(number));
        write.cmd("SET", ["k", &number.to_string()])
    };
    for older in [1, 9] {
        let refused = write(older).execute().await.unwrap_err();
        let (token, current) = (token(older), token(10));
        assert!(
            matches!(&refused, FencedPipelineError::Stale(stale) if *stale == Stale { token, current }),
            "{refused:?}"
        );
    }
    assert_eq!(value(&store, 10, "k").await, None);
    // One holder may write several times, and a newer one stores its token by its write.
    for number in [10, 10, 100] {
        write(number).execute().await.unwrap();
    }
    assert!(store.admit("r", token(99)).await.is_err());
    assert!(write(99).execute().await.is_err());
    assert_eq!(value(&store, 100, "k").await.as_deref(), Some("100"));
    // Each resource has its own token.
    let other = store.pipeline("other", token(1)).cmd("SET", ["k", "1"]);
    other.execute().await.unwrap();
}

/// If the check and the execution were separate, an older write could follow a newer one.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_concurrent_pipelines_no_older_write_follows_a_newer_one() {
    const WRITERS: i64 = 400;
    let server = Server::start().await;
    let stores = [store(&server).await, store(&server).await].map(Arc::new);
    let mut writers = JoinSet::new();
    for number in 1..=WRITERS {
        let store = Arc::clone(&stores[usize::from(fastrand::bool())]);
        writers.spawn(async move {
            let write = store.pipeline("r", token(number));
            let write = write.cmd("RPUSH", ["trail", &number.to_string()]);
            match write.execute().await {
                Ok(_) => true,
                Err(FencedPipelineError::Stale(_)) => false,
                Err(error) => panic!("{error:?}"),
            }
        });
    }
    let written = writers.join_all().await.into_iter().filter(|it| *it);
    let written = written.count();
    let trail = stores[0].pipeline("r", token(WRITERS));
    let trail = trail.cmd("LRANGE", ["trail", "0", "-1"]).execute().await;
    let trail = trail.unwrap();
    let numbers = trail[0].items().iter().map(|it| it.text().unwrap().parse());
    let numbers: Vec<i64> = numbers.map(Result::unwrap).collect();
    assert_eq!(numbers.len(), written);
    assert!(numbers.is_sorted() && numbers.last() == Some(&WRITERS));
}

#[tokio::test]
async fn a_refused_command_ends_the_pipeline_and_the_error_names_it() {
    let server = Server::start().await;
    let store = store(&server).await;
    for (bad, says) in [
        (["LPUSH", "text", "x"], "WRONGTYPE"),
        (["NOSUCH", "x", "y"], "nknown"),
        (["SET", "x", ""], "syntax"),
        (["EVAL", "return 1", "0"], "not allowed"),
    ] {
        let end = if bad[0] == "SET" { vec!["x"] } else { vec![] };
        let refused = store
            .pipeline("r", token(7))
            .cmd("SET", ["text", "before"])
            .cmd("INCR", ["count"])
            .cmd(bad[0], bad[1..].iter().chain(&end))
            .cmd("SET", ["text", "behind"]);
        let refused = refused.execute().await.unwrap_err();
        let FencedPipelineError::Command {
            position,
            name,
            answer,
        } = &refused
        else {
            panic!("{refused:?}");
        };
        assert_eq!((*position, &**name), (2, bad[0]));
        assert!(answer.contains(says), "{answer}");
        assert!(refused.to_string().contains(answer), "{refused}");
    }
    assert_eq!(value(&store, 7, "text").await.as_deref(), Some("before"));
    assert_eq!(value(&store, 7, "count").await.as_deref(), Some("4"));
}

#[tokio::test]
async fn an_invalid_pipeline_is_refused_before_anything_is_sent() {
    let server = Server::start().await;
    let store = store(&server).await;
    let many = vec!["x"; MAX_COMMAND_ARGS];
    for bad in [
        store.pipeline("r", token(7)).cmd("", ["x"]),
        store.pipeline("r", token(7)).cmd("RPUSH", &many),
    ] {
        let error = bad.execute().await.unwrap_err();
        let malformed = matches!(error, FencedPipelineError::Malformed { position: 0, .. });
        assert!(malformed, "{error:?}");
    }
    let most = store.pipeline("r", token(7));
    let most = most.cmd("RPUSH", many[1..].iter().copied());
    let pushed = most.cmd("LLEN", ["x"]).execute().await.unwrap();
    assert_eq!(pushed[1].integer(), Some(MAX_COMMAND_ARGS as i64 - 2));
    assert!(
        store
            .pipeline("r", token(7))
            .execute()
            .await
            .unwrap()
            .is_empty()
    );
    let error = store.pipeline("a}b", token(7)).execute().await.unwrap_err();
    assert!(whole(&error).contains("remove it"), "{}", whole(&error));
    let shown = format!(
        "{:?}",
        store.pipeline("r", token(7)).cmd("AUTH", ["secret"])
    );
    assert!(!shown.contains("secret"), "{shown}");
}

#[tokio::test]
async fn a_full_server_executes_nothing() {
    let server = Server::start().await;
    let store = store(&server).await;
    let set = store.pipeline("r", token(7)).cmd("SET", ["k", "v"]);
    set.execute().await.unwrap();
    let mut full = redis::cmd("CONFIG");
    full.arg("SET").arg("maxmemory").arg(1);
    full.exec_async(&mut server.raw().await).await.unwrap();
    // The token cannot be stored, not even the newest one again.
    for number in [7, 8] {
        let write = store.pipeline("r", token(number));
        let error = write.cmd("DEL", ["k"]).execute().await.unwrap_err();
        assert!(
            matches!(
                error,
                FencedPipelineError::Store {
                    applied: Applied::No,
                    ..
                }
            ),
            "{error:?}"
        );
        assert!(whole(&error).contains("out of memory"), "{}", whole(&error));
    }
    let mut room = redis::cmd("CONFIG");
    room.arg("SET").arg("maxmemory").arg(0);
    room.exec_async(&mut server.raw().await).await.unwrap();
    let held = store.pipeline("r", token(7)).cmd("EXISTS", ["k"]);
    assert_eq!(held.execute().await.unwrap(), [RedisReply::Integer(1)]);
}

#[tokio::test]
async fn a_pipeline_without_a_reply_is_not_sent_again() {
    let server = Server::start().await;
    let proxy = Proxy::start(server.inner().port()).await.unwrap();
    let url = server.inner().url_at(proxy.port());
    let store = RedisFenceStore::connect(&url).await.unwrap();
    let count = || store.pipeline("r", token(7)).cmd("INCR", ["count"]);
    let unknown = |error: FencedPipelineError| {
        let applied = Applied::Unknown;
        matches!(error, FencedPipelineError::Store { applied: it, .. } if it == applied)
    };
    count().execute().await.unwrap();
    proxy.cut_after(Which::named("EVALSHA").times(1));
    assert!(unknown(count().execute().await.unwrap_err()));
    // The command was executed, the next one uses a new connection, and a lost reply costs two seconds.
    assert_eq!(count().execute().await.unwrap()[0].integer(), Some(3));
    proxy.lose_replies(Which::named("EVALSHA").times(1));
    assert!(unknown(count().execute().await.unwrap_err()));
    assert_eq!(count().execute().await.unwrap()[0].integer(), Some(5));
}

#[tokio::test]
async fn a_pipeline_to_a_server_that_is_down_returns_an_error() {
    let server = Server::start().await;
    let store = store(&server).await;
    let applied = async || {
        let write = store.pipeline("r", token(7)).cmd("SET", ["k", "v"]);
        match write.execute().await {
            Err(FencedPipelineError::Store { applied, .. }) => applied,
            other => panic!("{other:?}"),
        }
    };
    server.kill();
    // It is unknown whether the connection broke before or after the command was sent.
    assert_eq!(applied().await, Applied::Unknown);
    assert_eq!(applied().await, Applied::No);
    server.start_again().await;
    assert_eq!(value(&store, 7, "k").await, None);
}

#[tokio::test]
async fn a_large_reply_is_read_and_a_too_large_one_is_an_error() {
    const MIB: usize = 1024 * 1024;
    let server = Server::start().await;
    let store = store(&server).await;
    let write = async |length: usize| {
        let last = (length - 1).to_string();
        let write = patiently(async || {
            let write = store.pipeline("r", token(7));
            write.cmd("SETRANGE", ["k", &*last, "x"]).execute().await
        });
        write.await.unwrap();
    };
    let read = async || {
        patiently(async || {
            let read = store.pipeline("r", token(7)).cmd("GET", ["k"]);
            read.execute().await
        })
        .await
    };
    write(40 * MIB).await;
    let RedisReply::Bytes(large) = read().await.unwrap().remove(0) else {
        panic!("it is no value");
    };
    assert!(large.len() == 40 * MIB && large.ends_with(b"x"));
    write(65 * MIB).await;
    let error = read().await.unwrap_err();
    let FencedPipelineError::Store {
        applied, source, ..
    } = &error
    else {
        panic!("{error:?}");
    };
    assert_eq!(*applied, Applied::Unknown);
    let why = source.source().unwrap().downcast_ref::<ReplyTooLarge>();
    assert_eq!(why.unwrap().limit, 64 * MIB);
    assert_eq!(value(&store, 7, "nothing").await, None, "it goes on");
}
