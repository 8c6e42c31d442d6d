//! Random faults.

use std::time::Duration;

use leasehold_testkit::proxy::{ChaosPlan, Proxy, Stats};
use leasehold_testkit::resp::RespError;
use leasehold_testkit::servers::RedisServer;

use crate::fake::Outcome;
use crate::proxy::{Failure, NO_ANSWER, client, pair};

const PATIENCE: Duration = Duration::from_secs(60);

/// Clients notice all of these faults immediately.
const CUTS: ChaosPlan = ChaosPlan {
    delay: 0.2,
    longest_delay: Duration::from_millis(3),
    lose_reply: 0.0,
    cut_before: 0.05,
    cut_after: 0.05,
    orphan: 0.05,
};

/// Returns the results of a client that reconnects after each failure.
async fn fates(proxy: &Proxy, requests: u64, patience: Duration) -> Result<String, Failure> {
    let mut fates = String::new();
    let mut through = client(proxy).await?;
    for _ in 0..requests {
        through.set_patience(patience);
        let fate = match through.command(["INCR", "key"]).await {
            Ok(_) => '.',
            Err(RespError::Late(_)) => 'l',
            Err(RespError::Closed | RespError::Broken(_)) => 'c',
            Err(error) => return Err(error.into()),
        };
        fates.push(fate);
        if fate != '.' {
            through = client(proxy).await?;
        }
    }
    Ok(fates)
}

/// Returns how many requests were executed, after the faults have ended and all requests have arrived.
async fn done(server: &RedisServer, proxy: &Proxy) -> Result<usize, Failure> {
    proxy.pass();
    proxy.cut();
    proxy
        .until("all are gone", |stats: &Stats| stats.open == 0)
        .await?;
    let done = server.client().await?.command(["GET", "key"]).await?;
    Ok(usize::try_from(done.int().unwrap_or_default())?)
}

#[tokio::test]
async fn same_seed_repeats_the_same_cuts() -> Outcome {
    let mut all = Vec::new();
    for seed in [7, 7, 8] {
        let (server, proxy) = pair().await?;
        proxy.chaos(seed, CUTS);
        let fates = fates(&proxy, 200, PATIENCE).await?;
        assert!(!fates.contains('l'), "{fates}");
        let done = done(&server, &proxy).await?;
        let answered = fates.matches('.').count();
        assert!(done > answered, "no request was done without an answer");
        let lost = usize::try_from(proxy.stats().lost_requests)?;
        assert!(lost > 0, "every request was done");
        assert_eq!(done + lost, 200);
        all.push((fates, done));
    }
    assert_eq!(all[0], all[1]);
    assert_ne!(all[0], all[2]);
    Ok(())
}

#[tokio::test]
async fn chaos_proxy_loses_replies_of_executed_requests() -> Outcome {
    let (server, proxy) = pair().await?;
    let plan = ChaosPlan {
        lose_reply: 0.1,
        ..ChaosPlan::default()
    };
    proxy.chaos(1, plan);
    let fates = fates(&proxy, 50, NO_ANSWER).await?;
    assert!(fates.contains('.') && fates.contains('l'), "{fates}");
    assert_eq!(done(&server, &proxy).await?, 50);
    Ok(())
}

#[tokio::test]
async fn chaos_plan_with_zero_probabilities_causes_no_faults() -> Outcome {
    let (_server, proxy) = pair().await?;
    proxy.chaos(1, ChaosPlan::default());
    let fates = fates(&proxy, 100, PATIENCE).await?;
    assert_eq!(fates, ".".repeat(100));
    Ok(())
}
