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

/// How long a client waits before it retries a failed purchase.
const PAUSE: Duration = Duration::from_millis(20);

/// How long a client may continue after the end of the sale, until a response reports that the item is sold out.
/// Instances may be slow or down.
const GRACE: Duration = Duration::from_secs(30);

/// How long a client waits for a response.
const PATIENCE: Duration = Duration::from_secs(15);

/// Runs all clients until the time is over and the item is sold out. Returns the number of their requests.
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

/// Runs one client, which buys repeatedly.
async fn shopping(http: Http, uri: String, end: Instant) -> Result<u64, BoxError> {
    let (mut asked, mut nothing_left) = (0, false);
    while Instant::now() < end || !nothing_left && Instant::now() < end + GRACE {
        let request = Request::post(&uri).body(Body::empty())?;
        let answer = timeout(PATIENCE, http.ask::<Answer>(request)).await;
        asked += 1;
        // The request was refused, or the instance is down: the client retries.
        let answer = answer.ok().and_then(Result::ok).flatten();
        let came_to = answer.map(|it: Answer| it.end);
        nothing_left |= came_to == Some(End::SoldOut);
        if came_to != Some(End::Sold) {
            sleep(PAUSE).await;
        }
    }
    Ok(asked)
}
