//! Requests that arrive late.

use leasehold_testkit::proxy::{Direction, Stats, Traffic, Which};

use crate::fake::Outcome;
use crate::proxy::{client, in_vain, is_cut, pair};

#[tokio::test]
async fn held_request_arrives_after_its_client_has_disconnected() -> Outcome {
    let (server, proxy) = pair().await?;
    let mut direct = server.client().await?;
    for cut in [false, true] {
        proxy.hold_requests(Which::named("SET").times(1));
        let mut through = client(&proxy).await?;
        through.send(["SET", "key", "late"]).await?;
        proxy.until("it is held", |stats| stats.held == 1).await?;
        if cut {
            proxy.cut();
            assert!(is_cut(&through.answer().await));
        }
        drop(through);
        // Another connection is not held, although it sends the same request.
        client(&proxy)
            .await?
            .command(["SET", "other", "now"])
            .await?;
        assert_eq!(direct.command(["EXISTS", "key"]).await?.int(), Some(0));

        proxy.deliver_held().await?;
        assert_eq!(
            direct.command(["GETDEL", "key"]).await?.text(),
            Some("late")
        );
        proxy.until("all are gone", |stats| stats.open == 0).await?;
    }
    Ok(())
}

#[tokio::test]
async fn requests_after_a_held_request_are_held() -> Outcome {
    let (server, proxy) = pair().await?;
    proxy.hold_requests(Which::mentioning("first"));
    let mut through = client(&proxy).await?;
    through.send(["SET", "before", "1"]).await?;
    through.send(["SET", "first", "1"]).await?;
    through.send(["SET", "second", "1"]).await?;
    proxy
        .until("both are held", |stats| stats.held == 2)
        .await?;
    assert!(through.answer().await?.is_ok());
    assert!(in_vain(&mut through, []).await?);
    assert_eq!(
        server.client().await?.command(["DBSIZE"]).await?.int(),
        Some(1)
    );

    proxy.deliver_held().await?;
    assert!(through.answer().await?.is_ok());
    assert!(through.answer().await?.is_ok());
    // Later requests are not held.
    assert!(through.command(["SET", "first", "1"]).await?.is_ok());
    Ok(())
}

#[tokio::test]
async fn held_requests_can_be_discarded() -> Outcome {
    let (server, proxy) = pair().await?;
    proxy.hold_requests(Which::every());
    let mut through = client(&proxy).await?;
    through.send(["SET", "key", "1"]).await?;
    proxy.until("it is held", |stats| stats.held == 1).await?;
    proxy.discard_held();
    let lost = |stats: &Stats| stats.lost_requests == 1;
    proxy
        .until("it is lost", |stats| lost(stats) && stats.held == 0)
        .await?;
    assert!(in_vain(&mut through, ["PING"]).await?);
    assert_eq!(
        server.client().await?.command(["DBSIZE"]).await?.int(),
        Some(0)
    );
    client(&proxy).await?.command(["PING"]).await?;
    Ok(())
}

#[tokio::test]
async fn replies_can_be_held() -> Outcome {
    let (server, proxy) = pair().await?;
    let mut through = client(&proxy).await?;
    through.command(["PING"]).await?;
    proxy.set(Direction::ToClient, Traffic::Hold);
    through.send(["INCR", "key"]).await?;
    proxy.until("it is held", |stats| stats.held == 1).await?;
    assert_eq!(
        server.client().await?.command(["GET", "key"]).await?.int(),
        Some(1)
    );
    proxy.deliver_held().await?;
    assert_eq!(through.answer().await?.int(), Some(1));
    assert_eq!(through.command(["INCR", "key"]).await?.int(), Some(2));
    Ok(())
}

#[tokio::test]
async fn held_request_to_a_dead_server_closes_the_connection() -> Outcome {
    let (server, proxy) = pair().await?;
    proxy.hold_requests(Which::every());
    let mut through = client(&proxy).await?;
    through.send(["INCR", "key"]).await?;
    proxy.until("it is held", |stats| stats.held == 1).await?;
    server.kill();
    proxy.deliver_held().await?;
    assert!(is_cut(&through.answer().await));
    Ok(())
}

#[tokio::test]
async fn request_delivered_to_a_paused_server_runs_after_its_resume() -> Outcome {
    let (server, proxy) = pair().await?;
    proxy.hold_requests(Which::every());
    let mut through = client(&proxy).await?;
    through.send(["INCR", "key"]).await?;
    proxy.until("it is held", |stats| stats.held == 1).await?;
    server.pause()?;
    proxy.cut();
    let woken = async {
        let delivering = |stats: &Stats| stats.delivering == 1;
        proxy.until("it is under way", delivering).await?;
        Ok::<_, Box<dyn std::error::Error>>(server.resume()?)
    };
    let (delivered, woken) = tokio::join!(proxy.deliver_held(), woken);
    delivered?;
    woken?;
    assert_eq!(
        server.client().await?.command(["GET", "key"]).await?.int(),
        Some(1)
    );
    Ok(())
}
