//! The proxy that only delays.

use std::time::{Duration, Instant};

use leasehold_testkit::proxy::LatencyProxy;
use leasehold_testkit::resp::RawClient;
use leasehold_testkit::servers::RedisServer;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::fake::Outcome;
use crate::proxy::{Failure, is_cut};
use crate::servers::at;

/// The number of chunks, each of one byte.
const CHUNKS: u8 = 20;

async fn through(
    server: &RedisServer,
    delay: Duration,
) -> Result<(LatencyProxy, RawClient), Failure> {
    let proxy = LatencyProxy::start(server.port(), delay)?;
    let client = RawClient::connect(&at(proxy.port())).await?;
    Ok((proxy, client))
}

#[tokio::test]
async fn latency_proxy_delays_each_direction_by_a_fraction_of_a_millisecond() -> Outcome {
    let server = RedisServer::start().await?;
    let delay = Duration::from_micros(300);
    let (_proxy, mut client) = through(&server, delay).await?;
    for _ in 0..100 {
        let begin = Instant::now();
        client.command(["PING"]).await?;
        assert!(begin.elapsed() >= 2 * delay);
    }
    Ok(())
}

#[tokio::test]
async fn latency_proxy_has_several_chunks_in_flight() -> Outcome {
    // A proxy that waits before it reads again joins the chunks that have arrived in the meantime. A busy machine may join
    // some, but not each time.
    let mut joined = Vec::new();
    while joined.len() < 10 {
        let reads = reads_of_chunks().await?;
        assert_eq!(reads.concat(), Vec::from_iter(0..CHUNKS));
        if reads.len() > usize::from(CHUNKS / 2) {
            return Ok(());
        }
        joined.push(reads);
    }
    panic!("joined each time: {joined:?}");
}

/// Sends chunks after each other, and returns what the server reads.
async fn reads_of_chunks() -> Result<Vec<Vec<u8>>, Failure> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let proxy = LatencyProxy::start(listener.local_addr()?.port(), Duration::from_millis(100))?;
    let mut client = TcpStream::connect(at(proxy.port())).await?;
    let (mut server, _) = listener.accept().await?;
    for number in 0..CHUNKS {
        client.write_all(&[number]).await?;
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    drop(client);
    let mut reads = Vec::new();
    loop {
        let mut buffer = [0; 64];
        match server.read(&mut buffer).await? {
            0 => break,
            length => reads.push(buffer[..length].to_vec()),
        }
    }
    Ok(reads)
}

#[tokio::test]
async fn latency_proxy_forwards_more_than_a_chunk() -> Outcome {
    let server = RedisServer::start().await?;
    let (_proxy, mut client) = through(&server, Duration::from_millis(1)).await?;
    let big = "x".repeat(1_000_000);
    client.command(["SET", "big", &big]).await?;
    assert_eq!(client.command(["GET", "big"]).await?.text(), Some(&*big));
    Ok(())
}

#[tokio::test]
async fn latency_proxy_ends_its_connections_when_a_side_ends_or_the_proxy_is_dropped() -> Outcome {
    let server = RedisServer::start().await?;
    let (proxy, mut client) = through(&server, Duration::from_millis(1)).await?;
    client.command(["PING"]).await?;
    let mut other = RawClient::connect(&at(proxy.port())).await?;
    assert!(other.command(["QUIT"]).await?.is_ok());
    assert!(is_cut(&other.answer().await));
    drop(proxy);
    assert!(is_cut(&client.answer().await));
    Ok(())
}
