use std::time::Duration;

use leasehold::LockManager;
use tokio::time::sleep;

use crate::BoxError;
use crate::branch::Branch;
use crate::buyers::{self, BUYERS};
use crate::report;
use crate::shop::Shop;

/// When a branch is killed: while there is still something to sell.
const KILLED_AFTER: Duration = Duration::from_millis(150);

/// How a sale went.
#[derive(Debug)]
pub(crate) struct Sale {
    pub(crate) name: &'static str,
    pub(crate) asked: u64,
    pub(crate) sold: i64,
    pub(crate) stock: i64,
}

/// Where the buyers are.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Place<'a> {
    Here,
    /// In two processes, whose lock is at `url`.
    TwoProcesses {
        url: &'a str,
        kill: bool,
    },
}

impl Sale {
    /// Opens a new shop, and lets all buyers in until the time is over.
    pub(crate) async fn hold(
        name: &'static str,
        locked: bool,
        place: Place<'_>,
    ) -> Result<Self, BoxError> {
        report::sale_opens(name);
        let folder = tempfile::tempdir()?;
        let database = folder.path().join("shop.sqlite");
        let database = database.to_string_lossy();
        let shop = Shop::open(&database).await?;
        shop.stock_up().await?;
        let progress = tokio::spawn(report::progress(shop.clone()));
        let asked = match place {
            Place::Here => {
                let locks = locked.then(LockManager::in_process);
                buyers::shop(BUYERS, &shop, locks.as_ref()).await?
            }
            Place::TwoProcesses { url, kill } => {
                let branch = Branch::new(&database, locked.then_some(url));
                two_processes(&branch, kill && locked).await?
            }
        };
        progress.await??;
        Ok(Self {
            name,
            asked,
            sold: shop.sold().await?,
            stock: shop.stock().await?,
        })
    }
}

async fn two_processes(branch: &Branch, kill: bool) -> Result<u64, BoxError> {
    let (mut one, other) = (branch.start()?, branch.start()?);
    if kill {
        sleep(KILLED_AFTER).await;
        one.start_kill()?;
        report::killed();
    }
    let (one, other) = tokio::join!(Branch::asked(one), Branch::asked(other));
    Ok(one? + other?)
}
