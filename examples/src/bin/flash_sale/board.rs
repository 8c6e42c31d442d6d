//! Polls the current state for the page.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::Request;
use leasehold::FencingToken;
use serde::Serialize;
use tokio::sync::watch;
use tokio::time::{Instant, MissedTickBehavior, interval, timeout};

use crate::deployment::{Deployment, ITEM};
use crate::error::BoxError;
use crate::front::{Backend, Front};
use crate::ledger::State;
use crate::locking::Locking;
use crate::shelf::Count;

/// The polling interval.
const LOOK: Duration = Duration::from_millis(80);

/// How long an instance may take to return its state.
const PATIENCE: Duration = Duration::from_millis(500);

/// The state at one moment.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Status {
    #[serde(flatten)]
    count: Count,
    lock: Lock,
    instances: Vec<Instance>,
    sale: Option<Running>,
}

/// The state of the stock's lock.
#[derive(Debug, Clone, Serialize)]
struct Lock {
    held: bool,
    token: Option<i64>,
    waiting: usize,
}

#[derive(Debug, Clone, Serialize)]
struct Instance {
    name: &'static str,
    pid: Option<u32>,
    up: bool,
    #[serde(flatten)]
    state: State,
}

/// The open sale.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Open {
    pub(crate) locking: Locking,
    pub(crate) until: Instant,
}

#[derive(Debug, Clone, Serialize)]
struct Running {
    locking: &'static str,
    seconds_left: f32,
}

/// Polls the state and publishes it, as long as there are subscribers.
pub(crate) async fn keep(
    shop: Arc<Deployment>,
    sale: watch::Receiver<Option<Open>>,
    status: watch::Sender<Option<Status>>,
) -> BoxError {
    let mut looks = interval(LOOK);
    looks.set_missed_tick_behavior(MissedTickBehavior::Skip);
    loop {
        looks.tick().await;
        let open = *sale.borrow();
        match look(&shop, open).await {
            Ok(seen) => drop(status.send_replace(Some(seen))),
            Err(error) => return error,
        }
    }
}

async fn look(shop: &Deployment, sale: Option<Open>) -> Result<Status, BoxError> {
    let front = &shop.front;
    let [a, b] = &front.backends;
    let key = format!("stock:{ITEM}");
    let (count, lock, a, b) = tokio::join!(
        shop.tables.count(ITEM),
        shop.locks.inspect(&key),
        instance(front, a),
        instance(front, b),
    );
    let lock = lock?;
    Ok(Status {
        count: count?,
        lock: Lock {
            held: lock.holders > 0,
            token: lock.token.map(FencingToken::get),
            waiting: lock.waiting,
        },
        instances: vec![a, b],
        sale: sale.map(|it| Running {
            locking: it.locking.word(),
            seconds_left: (it.until.saturating_duration_since(Instant::now())).as_secs_f32(),
        }),
    })
}

async fn instance(front: &Front, backend: &Backend) -> Instance {
    let state = match backend.address() {
        Some(at) => match Request::get(format!("http://{at}/state")).body(Body::empty()) {
            Ok(request) => timeout(PATIENCE, front.http.ask(request)).await.ok(),
            Err(_) => None,
        },
        None => None,
    };
    // An instance that does not respond may be busy. The front finds out whether it is down.
    let state = state.and_then(Result::ok).flatten();
    Instance {
        name: backend.name,
        pid: backend.pid(),
        up: backend.address().is_some(),
        state: state.unwrap_or_default(),
    }
}
