use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Path, Query, State};
use axum::routing::{MethodRouter, get, post};
use axum::{Json, Router};
use leasehold_tower::{LockLayer, key};
use serde::{Deserialize, Serialize};

use crate::error::ShopError;
use crate::ledger::{self, End};
use crate::locking::Locking;
use crate::shop::{LEASE, Shop};

/// The longest duration of a purchase that a request may set, in milliseconds.
const MOST_THINKING: u64 = 5_000;

/// The longest stall that a request may set.
pub(crate) const LONGEST_STALL: Duration = Duration::from_secs(30);

/// The routes of an instance.
pub(crate) fn router(shop: Arc<Shop>) -> Router {
    // A buyer can only buy one item at a time. A second click gets a 409, even from another instance.
    let per_buyer =
        LockLayer::new(shop.locks.clone(), key::path("buyer:{buyer}").raw("buyer")).ttl(LEASE);
    let path = |it: Locking| it.purchase("{item}", "{buyer}");
    let (nothing, each) = (Locking::Nothing, Locking::EachInstance);
    let (unfenced, leasehold) = (Locking::Unfenced, Locking::Leasehold);
    Router::new()
        .route(&path(leasehold), buy(leasehold).layer(per_buyer.clone()))
        .route(&path(unfenced), buy(unfenced).layer(per_buyer))
        .route(&path(each), buy(each))
        .route(&path(nothing), buy(nothing))
        .route(&leasehold.late_purchase("{item}"), stall(leasehold))
        .route(&unfenced.late_purchase("{item}"), stall(unfenced))
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

/// The stall of a late holder.
#[derive(Debug, Deserialize)]
struct Stall {
    /// How long it stalls at most, in milliseconds. By default four leases.
    most: Option<u64>,
}

impl Pace {
    fn thinking(&self) -> Duration {
        let think = self.think.unwrap_or_else(|| fastrand::u64(40..120));
        Duration::from_millis(think.min(MOST_THINKING))
    }
}

type Answered = Result<Json<Answer>, ShopError>;

fn buy(locking: Locking) -> MethodRouter<Arc<Shop>> {
    type Purchase = Path<(i64, String)>;
    post(
        async move |State(shop): State<Arc<Shop>>,
                    Path((item, _buyer)): Purchase,
                    Query(pace): Query<Pace>| {
            answer(&shop, shop.buy(locking, item, pace.thinking()).await)
        },
    )
}

fn stall(locking: Locking) -> MethodRouter<Arc<Shop>> {
    post(
        async move |State(shop): State<Arc<Shop>>,
                    Path(item): Path<i64>,
                    Query(stall): Query<Stall>| {
            let most = stall.most.map_or(4 * LEASE, Duration::from_millis);
            let most = most.min(LONGEST_STALL);
            answer(&shop, shop.sell_late(locking, item, most).await)
        },
    )
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
