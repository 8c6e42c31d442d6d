use std::net::SocketAddr;
use std::time::Duration;

use axum::body::Body;
use axum::http::Request;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};

use crate::error::BoxError;
use crate::http::Http;
use crate::ledger::End;
use crate::locking::Locking;
use crate::service::Answer;

pub(crate) const CLIENTS: u32 = 20;

/// How long a client that got nothing waits before it asks again.
const PAUSE: Duration = Duration::from_millis(20);

/// How long a client waits for an answer.
const PATIENCE: Duration = Duration::from_secs(15);

/// Lets all clients in until the time is over. Answers how often they asked.
pub(crate) async fn shop(
    front: SocketAddr,
    item: i64,
    locking: Locking,
    open: Duration,
) -> Result<u64, BoxError> {
    let end = Instant::now() + open;
    let http = Http::new();
    let mut tasks = JoinSet::new();
    for client in 0..CLIENTS {
        let path = locking.purchase(item, &format!("client-{client}"));
        let uri = format!("http://{front}{path}");
        tasks.spawn(shopping(http.clone(), uri, end));
    }
    let mut asked = 0;
    while let Some(client) = tasks.join_next().await {
        asked += client??;
    }
    Ok(asked)
}

/// One client asks again and again.
async fn shopping(http: Http, uri: String, end: Instant) -> Result<u64, BoxError> {
    let mut asked = 0;
    while Instant::now() < end {
        let request = Request::post(&uri).body(Body::empty())?;
        let answer = timeout(PATIENCE, http.ask::<Answer>(request)).await;
        asked += 1;
        // A refusal, or an instance that has gone: whoever wants to buy asks again.
        let sold = matches!(answer, Ok(Ok(Some(Answer { end: End::Sold, .. }))));
        if !sold {
            sleep(PAUSE).await;
        }
    }
    Ok(asked)
}
