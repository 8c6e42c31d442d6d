//! Requests that are executed although their clients get no reply.

use leasehold_testkit::proxy::Which;

use crate::fake::Outcome;
use crate::proxy::{client, in_vain, is_cut, pair};

#[tokio::test]
async fn lose_replies_drops_the_reply_of_an_executed_request() -> Outcome {
    let (server, proxy) = pair().await?;
    let mut through = client(&proxy).await?;
    through.command(["PING"]).await?;
    proxy.lose_replies(Which::next(1));
    assert!(in_vain(&mut through, ["INCR", "key"]).await?);
    // The next reply is not mistaken for the lost one.
    assert!(in_vain(&mut through, ["INCR", "key"]).await?);
    let stats = proxy.until("both are lost", |stats| stats.lost_replies == 2);
    assert_eq!(stats.await?.requests, 3);
    let value = server.client().await?.command(["GET", "key"]).await?;
    assert_eq!(value.int(), Some(2));

    let mut again = client(&proxy).await?;
    assert_eq!(again.command(["INCR", "key"]).await?.int(), Some(3));
    Ok(())
}

#[tokio::test]
async fn replies_before_the_lost_one_arrive() -> Outcome {
    let (_server, proxy) = pair().await?;
    let mut through = client(&proxy).await?;
    proxy.lose_replies(Which::mentioning("lost").times(1));
    for word in ["one", "two", "lost", "four"] {
        through.send(["ECHO", word]).await?;
    }
    assert_eq!(through.answer().await?.text(), Some("one"));
    assert_eq!(through.answer().await?.text(), Some("two"));
    assert!(in_vain(&mut through, []).await?);
    Ok(())
}

#[tokio::test]
async fn all_replies_to_a_command_are_lost_until_pass_is_called() -> Outcome {
    let (_server, proxy) = pair().await?;
    proxy.lose_replies(Which::named("incr"));
    for _ in 0..3 {
        let mut through = client(&proxy).await?;
        through.command(["GET", "key"]).await?;
        assert!(in_vain(&mut through, ["INCR", "key"]).await?);
    }
    proxy.pass();
    let mut through = client(&proxy).await?;
    assert_eq!(through.command(["INCR", "key"]).await?.int(), Some(4));
    Ok(())
}

#[tokio::test]
async fn cut_after_closes_the_connection_instead_of_a_reply() -> Outcome {
    let (server, proxy) = pair().await?;
    proxy.cut_after(Which::named("INCR").times(1));
    let (mut through, mut other) = (client(&proxy).await?, client(&proxy).await?);
    other.command(["PING"]).await?;
    through.command(["PING"]).await?;
    assert!(is_cut(&through.command(["INCR", "key"]).await));
    let value = server.client().await?.command(["GET", "key"]).await?;
    assert_eq!(value.int(), Some(1));
    assert_eq!(other.command(["INCR", "key"]).await?.int(), Some(2));
    Ok(())
}

#[tokio::test]
async fn cut_before_closes_the_connection_instead_of_a_request() -> Outcome {
    let (server, proxy) = pair().await?;
    proxy.cut_before(Which::named("INCR").times(1));
    let mut through = client(&proxy).await?;
    through.command(["SET", "before", "1"]).await?;
    assert!(is_cut(&through.command(["INCR", "key"]).await));
    proxy
        .until("its connection is gone", |stats| stats.open == 0)
        .await?;
    let mut direct = server.client().await?;
    assert_eq!(direct.command(["EXISTS", "before"]).await?.int(), Some(1));
    assert_eq!(direct.command(["EXISTS", "key"]).await?.int(), Some(0));
    Ok(())
}
