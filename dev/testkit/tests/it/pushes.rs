//! Push messages.

use leasehold_testkit::proxy::{Proxy, Stats, Which};
use leasehold_testkit::resp::{RawClient, Value};
use leasehold_testkit::servers::RedisServer;

use crate::fake::Outcome;
use crate::proxy::{Failure, client, in_vain, pair};

/// Returns a client that has subscribed, in RESP3.
async fn subscriber(proxy: &Proxy) -> Result<RawClient, Failure> {
    let mut client = client(proxy).await?;
    client.command(["HELLO", "3"]).await?;
    client.send(["SUBSCRIBE", "one", "two"]).await?;
    for channel in ["one", "two"] {
        assert_eq!(client.push().await?.items()[1].text(), Some(channel));
    }
    Ok(client)
}

async fn publish(server: &RedisServer, number: i64) -> Outcome {
    let mut publisher = server.client().await?;
    for text in 0..number {
        publisher
            .command(["PUBLISH", "one", &text.to_string()])
            .await?;
    }
    Ok(())
}

async fn next(client: &mut RawClient) -> Result<Option<i64>, Failure> {
    Ok(client.push().await?.items().get(2).and_then(Value::int))
}

#[tokio::test]
async fn lose_pushes_drops_every_second_push_and_no_reply() -> Outcome {
    let (server, proxy) = pair().await?;
    let mut client = subscriber(&proxy).await?;
    proxy.lose_pushes(2);
    publish(&server, 6).await?;
    for text in [0, 2, 4] {
        assert_eq!(next(&mut client).await?, Some(text));
        assert_eq!(client.command(["ECHO", "7"]).await?.int(), Some(7));
    }
    let all = |stats: &Stats| stats.pushes == 6;
    assert_eq!(proxy.until("all have come", all).await?.lost_pushes, 3);

    proxy.lose_pushes(1);
    publish(&server, 2).await?;
    proxy
        .until("they have come", |stats| stats.pushes == 8)
        .await?;
    proxy.lose_pushes(0);
    publish(&server, 1).await?;
    assert_eq!(next(&mut client).await?, Some(0));
    Ok(())
}

#[tokio::test]
async fn pushes_are_not_counted_as_replies() -> Outcome {
    let (server, proxy) = pair().await?;
    let mut client = subscriber(&proxy).await?;
    proxy.lose_replies(Which::mentioning("lost"));
    publish(&server, 2).await?;
    proxy
        .until("they have come", |stats| stats.pushes == 2)
        .await?;
    assert_eq!(client.command(["ECHO", "7"]).await?.int(), Some(7));
    assert!(in_vain(&mut client, ["ECHO", "lost"]).await?);
    assert_eq!(next(&mut client).await?, Some(0));
    assert_eq!(next(&mut client).await?, Some(1));
    Ok(())
}

#[tokio::test]
async fn resp2_messages_count_as_pushes() -> Outcome {
    let (server, proxy) = pair().await?;
    let mut client = client(&proxy).await?;
    client.command(["SUBSCRIBE", "one"]).await?;
    proxy.lose_pushes(2);
    publish(&server, 3).await?;
    for text in [0, 2] {
        assert_eq!(client.answer().await?.items()[2].int(), Some(text));
    }
    client.command(["UNSUBSCRIBE"]).await?;
    // Replies are matched with their requests again.
    proxy.cut_after(Which::named("INCR").times(1));
    client.command(["PING"]).await?;
    assert!(client.command(["INCR", "key"]).await.is_err());
    Ok(())
}
