use std::net::SocketAddr;
use std::time::Duration;

use axum::body::Body;
use axum::http::{Request, StatusCode};
use tokio::task::JoinHandle;
use tokio::time::sleep;

use crate::clients;
use crate::deployment::{Deployment, ITEM, STOCK};
use crate::error::BoxError;
use crate::locking::Locking;
use crate::progress;
use crate::service::LONGEST_STALL;
use crate::shelf::Count;

/// An instance is killed when this many items are sold.
const KILLED_AT: i64 = STOCK / 3;

type Late = Result<StatusCode, BoxError>;

/// The result of a sale.
#[derive(Debug)]
pub(crate) struct Sale {
    pub(crate) locking: Locking,
    pub(crate) asked: u64,
    pub(crate) count: Count,
    /// The status of a purchase whose holder stalled for longer than its lease, if the instances shared the lock.
    pub(crate) late: Option<StatusCode>,
}

impl Sale {
    /// Restocks the shop, and runs all clients until the time is over.
    pub(crate) async fn hold(
        shop: &Deployment,
        front: SocketAddr,
        locking: Locking,
        open: Duration,
        kill: bool,
    ) -> Result<Self, BoxError> {
        progress::sale_opens(locking);
        shop.tables.stock_up(ITEM, STOCK).await?;
        let late = match locking.is_shared() {
            true => Some(stalls(shop, locking).await?),
            false => None,
        };
        let progress = progress::show(&shop.tables, open);
        let killing = async {
            match kill {
                true => kill_midway(shop).await,
                false => Ok(()),
            }
        };
        let shopping = clients::shop(front, ITEM, locking, open);
        let (asked, (), ()) = tokio::try_join!(shopping, progress, killing)?;
        let late = match late {
            Some(purchase) => Some(purchase.await??),
            None => None,
        };
        Ok(Self {
            locking,
            asked,
            late,
            count: shop.tables.count(ITEM).await?,
        })
    }

    pub(crate) fn is_right(&self) -> bool {
        let Count { stock, sold } = self.count;
        sold == STOCK && stock == 0
    }
}

/// Starts a purchase on the second instance, which stalls until the item is sold out and then writes. Returns when it
/// holds the lock.
async fn stalls(shop: &Deployment, locking: Locking) -> Result<JoinHandle<Late>, BoxError> {
    let [_, backend] = &shop.front.backends;
    let address = backend.address().ok_or("the instance is down")?;
    let path = locking.late_purchase(ITEM);
    let most = LONGEST_STALL.as_millis();
    let uri = format!("http://{address}{path}?most={most}");
    let request = Request::post(uri).body(Body::empty())?;
    let http = shop.front.http.clone();
    let purchase = tokio::spawn(async move { Ok(http.send(request).await?.status()) });
    let key = format!("stock:{ITEM}");
    while shop.locks.inspect(&key).await?.holders == 0 && !purchase.is_finished() {
        sleep(Duration::from_millis(5)).await;
    }
    Ok(purchase)
}

async fn kill_midway(shop: &Deployment) -> Result<(), BoxError> {
    while shop.tables.count(ITEM).await?.sold < KILLED_AT {
        sleep(Duration::from_millis(5)).await;
    }
    let [victim, _] = &shop.front.backends;
    if victim.kill()? {
        let sold = shop.tables.count(ITEM).await?.sold;
        progress::killed(victim.name, sold);
    }
    Ok(())
}
