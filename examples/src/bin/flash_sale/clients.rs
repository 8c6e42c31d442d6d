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

/// How long a client stays when the time is over and it was not told yet that nothing is left: instances may be slow,
/// or dead.
const GRACE: Duration = Duration::from_secs(30);

/// How long a client waits for an answer.
const PATIENCE: Duration = Duration::from_secs(15);

/// Lets all clients in until the time is over and nothing is left. Answers how often they asked.
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
    let (mut asked, mut nothing_left) = (0, false);
    while Instant::now() < end || !nothing_left && Instant::now() < end + GRACE {
        let request = Request::post(&uri).body(Body::empty())?;
        let answer = timeout(PATIENCE, http.ask::<Answer>(request)).await;
        asked += 1;
        // A refusal, or an instance that has gone: whoever wants to buy asks again.
        let answer = answer.ok().and_then(Result::ok).flatten();
        let came_to = answer.map(|it: Answer| it.end);
        nothing_left |= came_to == Some(End::SoldOut);
        if came_to != Some(End::Sold) {
            sleep(PAUSE).await;
        }
    }
    Ok(asked)
}
