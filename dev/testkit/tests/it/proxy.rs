//! The proxy as a network: it forwards, delays, cuts and refuses.

use std::sync::Arc;
use std::time::{Duration, Instant};

use leasehold_testkit::proxy::{Direction, Proxy, Stats, Traffic};
use leasehold_testkit::resp::{RawClient, RespError};
use leasehold_testkit::servers::RedisServer;

use crate::fake::Outcome;
use crate::servers::at;

pub(crate) type Failure = Box<dyn std::error::Error>;

/// The timeout for expected events.
const SOON: Duration = Duration::from_secs(60);

/// If nothing has arrived after this time, nothing will arrive.
pub(crate) const NO_ANSWER: Duration = Duration::from_millis(60);

pub(crate) async fn pair() -> Result<(RedisServer, Proxy), Failure> {
    let server = RedisServer::start().await?;
    let proxy = Proxy::start(server.port()).await?;
    Ok((server, proxy))
}

pub(crate) async fn client(proxy: &Proxy) -> Result<RawClient, RespError> {
    RawClient::connect(&at(proxy.port())).await
}

/// Returns whether the client gets no answer. If there are words, sends them as a request first.
pub(crate) async fn in_vain<const N: usize>(
    client: &mut RawClient,
    words: [&str; N],
) -> Result<bool, RespError> {
    if N > 0 {
        client.send(words).await?;
    }
    client.set_patience(NO_ANSWER);
    let answer = client.answer().await;
    client.set_patience(SOON);
    Ok(matches!(answer, Err(RespError::Late(_))))
}

pub(crate) fn is_cut<T>(answer: &Result<T, RespError>) -> bool {
    matches!(answer, Err(RespError::Closed | RespError::Broken(_)))
}

#[tokio::test]
async fn new_proxy_forwards_everything() -> Outcome {
    let (server, proxy) = pair().await?;
    let mut through = client(&proxy).await?;
    let big = "x".repeat(1_000_000);
    through.command(["SET", "big", &big]).await?;
    assert_eq!(through.command(["GET", "big"]).await?.text(), Some(&*big));
    // Send all requests before reading a reply.
    for number in 0..1000 {
        through.send(["ECHO", &number.to_string()]).await?;
    }
    for number in 0..1000 {
        assert_eq!(through.answer().await?.int(), Some(number));
    }
    let stats = proxy.stats();
    assert_eq!((stats.connections, stats.open), (1, 1));
    assert_eq!((stats.requests, stats.replies), (1002, 1002));
    assert!(stats.bytes_to_server > 1_000_000 && stats.bytes_to_client > 1_000_000);
    assert_eq!(
        server.url_at(proxy.port()),
        format!("redis://{}", at(proxy.port()))
    );
    drop(through);
    proxy
        .until("the client has left", |stats| stats.open == 0)
        .await?;
    Ok(())
}

#[tokio::test]
async fn proxy_delays_each_direction() -> Outcome {
    let (_server, proxy) = pair().await?;
    let mut client = client(&proxy).await?;
    let delay = Duration::from_millis(30);
    for (directions, least) in [
        (&[Direction::ToServer][..], delay),
        (&[Direction::ToClient], delay),
        (&[Direction::ToServer, Direction::ToClient], 2 * delay),
    ] {
        proxy.pass();
        for &direction in directions {
            proxy.set(direction, Traffic::Delay(delay));
        }
        let begin = Instant::now();
        client.command(["PING"]).await?;
        assert!(
            begin.elapsed() >= least,
            "{:?} < {least:?}",
            begin.elapsed()
        );
    }
    Ok(())
}

#[tokio::test]
async fn proxy_drops_one_direction() -> Outcome {
    for direction in [Direction::ToServer, Direction::ToClient] {
        let (server, proxy) = pair().await?;
        let mut through = client(&proxy).await?;
        proxy.set(direction, Traffic::Drop);
        assert!(in_vain(&mut through, ["SET", "key", "value"]).await?);
        let lost = |stats: &Stats| stats.lost_requests + stats.lost_replies == 1;
        proxy.until("it is lost", lost).await?;
        let size = server.client().await?.command(["DBSIZE"]).await?;
        let arrived = i64::from(direction == Direction::ToClient);
        assert_eq!(size.int(), Some(arrived), "{direction:?}");

        // A gap in a stream stays, and a new stream has none.
        proxy.pass();
        assert!(in_vain(&mut through, ["PING"]).await?);
        client(&proxy).await?.command(["PING"]).await?;
    }
    Ok(())
}

#[tokio::test]
async fn cut_closes_all_connections() -> Outcome {
    let (_server, proxy) = pair().await?;
    let (mut one, mut two) = (client(&proxy).await?, client(&proxy).await?);
    one.command(["PING"]).await?;
    two.command(["PING"]).await?;
    proxy.cut();
    assert!(is_cut(&one.command(["PING"]).await));
    assert!(is_cut(&two.command(["PING"]).await));
    client(&proxy).await?.command(["PING"]).await?;
    proxy
        .until("the others are gone", |stats| stats.open <= 1)
        .await?;
    Ok(())
}

#[tokio::test]
async fn refuse_and_accept_affect_only_new_connections() -> Outcome {
    let (_server, proxy) = pair().await?;
    let mut old = client(&proxy).await?;
    old.command(["PING"]).await?;
    for _ in 0..10 {
        proxy.refuse().await?;
        let refused = client(&proxy).await;
        assert!(
            matches!(refused, Err(RespError::Connect { .. })),
            "{refused:?}"
        );
        old.command(["PING"]).await?;
        proxy.accept().await?;
        client(&proxy).await?.command(["PING"]).await?;
    }
    Ok(())
}

/// Until it executes its program, a new child process has all open files of this process, including the listener.
#[tokio::test]
async fn proxy_refuses_connections_while_child_processes_start() -> Outcome {
    let (_server, proxy) = pair().await?;
    // The threads end with this value, even if the test fails.
    let here = Arc::new(());
    let starting: Vec<_> = (0..2)
        .map(|_| {
            let here = Arc::downgrade(&here);
            std::thread::spawn(move || {
                while here.strong_count() > 0 {
                    std::process::Command::new("true").status()?;
                }
                std::io::Result::Ok(())
            })
        })
        .collect();
    let mut accepted = 0;
    for _ in 0..500 {
        proxy.refuse().await?;
        accepted += u32::from(client(&proxy).await.is_ok());
        proxy.accept().await?;
    }
    drop(here);
    for thread in starting {
        thread.join().map_err(|_| "a thread panicked")??;
    }
    assert_eq!(accepted, 0, "of 500");
    Ok(())
}

#[tokio::test]
async fn proxy_closes_its_connections_when_the_server_is_killed() -> Outcome {
    let (server, proxy) = pair().await?;
    let mut through = client(&proxy).await?;
    through.command(["PING"]).await?;
    server.kill();
    assert!(is_cut(&through.command(["PING"]).await));
    let mut through = client(&proxy).await?;
    assert!(is_cut(&through.command(["PING"]).await));
    server.restart().await?;
    client(&proxy).await?.command(["PING"]).await?;
    Ok(())
}

#[tokio::test]
async fn dropped_proxy_closes_all_connections() -> Outcome {
    let (_server, proxy) = pair().await?;
    let mut through = client(&proxy).await?;
    through.command(["PING"]).await?;
    let port = proxy.port();
    drop(proxy);
    assert!(is_cut(&through.command(["PING"]).await));
    assert!(RawClient::connect(&at(port)).await.is_err());
    Ok(())
}

#[tokio::test]
async fn byte_proxy_forwards_and_holds_raw_bytes() -> Outcome {
    let server = RedisServer::start().await?;
    let proxy = Proxy::start_bytes(server.port()).await?;
    let mut through = client(&proxy).await?;
    through.command(["SET", "key", "value"]).await?;
    proxy.set(Direction::ToServer, Traffic::Hold);
    through.send(["DEL", "key"]).await?;
    proxy.until("it is held", |stats| stats.held > 0).await?;
    assert_eq!(
        server.client().await?.command(["DBSIZE"]).await?.int(),
        Some(1)
    );
    proxy.deliver_held().await?;
    assert_eq!(through.answer().await?.int(), Some(1));
    Ok(())
}
