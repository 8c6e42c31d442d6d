use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Path, Query, State};
use axum::routing::{get, post};
use axum::{Json, Router};
use leasehold_tower::{LockLayer, key};
use serde::{Deserialize, Serialize};

use crate::error::ShopError;
use crate::ledger::{self, End};
use crate::shop::{LEASE, Shop};

/// The longest duration of a purchase that a request may set, in milliseconds.
const MOST_THINKING: u64 = 5_000;

/// The routes of an instance.
pub(crate) fn router(shop: Arc<Shop>) -> Router {
    // A buyer can only buy one item at a time. A second click gets a 409, even from another instance.
    let per_buyer =
        LockLayer::new(shop.locks.clone(), key::path("buyer:{buyer}").raw("buyer")).ttl(LEASE);
    Router::new()
        .route(
            "/leasehold/items/{item}/buy/{buyer}",
            post(buy).layer(per_buyer),
        )
        .route("/leasehold/items/{item}/stall", post(stall))
        .route("/instance-lock/items/{item}/buy/{buyer}", post(buy_in_turn))
        .route("/unlocked/items/{item}/buy/{buyer}", post(buy_unlocked))
        .route("/state", get(state))
        .with_state(shop)
}

/// The response to a purchase.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Answer {
    pub(crate) end: End,
    /// The name of the instance.
    pub(crate) instance: String,
}

/// The duration of a purchase.
#[derive(Debug, Deserialize)]
struct Pace {
    /// The duration in milliseconds. By default 40 to 120.
    think: Option<u64>,
}

impl Pace {
    fn thinking(&self) -> Duration {
        let think = self.think.unwrap_or_else(|| fastrand::u64(40..120));
        Duration::from_millis(think.min(MOST_THINKING))
    }
}

type Answered = Result<Json<Answer>, ShopError>;

async fn buy(
    State(shop): State<Arc<Shop>>,
    Path((item, _buyer)): Path<(i64, String)>,
    Query(pace): Query<Pace>,
) -> Answered {
    answer(&shop, shop.sell(item, pace.thinking()).await)
}

async fn buy_in_turn(
    State(shop): State<Arc<Shop>>,
    Path((item, _buyer)): Path<(i64, String)>,
    Query(pace): Query<Pace>,
) -> Answered {
    answer(&shop, shop.sell_in_turn(item, pace.thinking()).await)
}

async fn buy_unlocked(
    State(shop): State<Arc<Shop>>,
    Path((item, _buyer)): Path<(i64, String)>,
    Query(pace): Query<Pace>,
) -> Answered {
    answer(&shop, shop.sell_unlocked(item, pace.thinking()).await)
}

async fn stall(State(shop): State<Arc<Shop>>, Path(item): Path<i64>) -> Answered {
    answer(&shop, shop.sell_late(item, 4 * LEASE).await)
}

async fn state(State(shop): State<Arc<Shop>>) -> Json<ledger::State> {
    Json(shop.ledger.look())
}

fn answer(shop: &Shop, sold: Result<End, ShopError>) -> Answered {
    Ok(Json(Answer {
        end: sold?,
        instance: shop.name.clone(),
    }))
}
