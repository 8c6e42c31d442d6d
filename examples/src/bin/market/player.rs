//! A process that sells or buys as fast as possible.

use std::time::Duration;

use leasehold::LockManager;
use leasehold::backend::redis::Redis;
use leasehold_examples::{BoxError, connection};
use redis::AsyncCommands;
use tokio::time::{Instant, sleep};

use crate::cell::{Method, Pace};
use crate::keys::{Keys, item};
use crate::score::Score;
use crate::trade::{Deal, Stall};

/// The first line of a player, printed when it is ready to begin.
pub(crate) const READY: &str = "ready";
/// The beginning of the last line of a player.
pub(crate) const DONE: &str = "done ";

/// More than a player can spend.
pub(crate) const FUNDS: i64 = 1_000_000_000;
const HIGHEST_PRICE: i64 = 100;
/// How many items a seller adds to its inventory in one step.
const LOAD: i64 = 1000;
/// How often a player prints its score.
const NEWS: Duration = Duration::from_millis(200);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    Seller,
    Buyer,
}

impl Side {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Seller => "seller",
            Self::Buyer => "buyer",
        }
    }

    pub(crate) fn named(name: &str) -> Option<Self> {
        [Self::Seller, Self::Buyer]
            .into_iter()
            .find(|side| side.name() == name)
    }
}

/// The task of a player.
#[derive(Debug, Clone)]
pub(crate) struct Task {
    pub(crate) url: String,
    pub(crate) prefix: String,
    pub(crate) method: Method,
    pub(crate) side: Side,
    pub(crate) number: u32,
    pub(crate) pace: Pace,
}

impl Task {
    pub(crate) fn player(&self) -> String {
        format!("{}{}", self.side.name(), self.number)
    }
}

/// Runs a player.
pub(crate) async fn play(task: &Task) -> Result<(), BoxError> {
    let keys = Keys::new(&task.prefix);
    let backend = Redis::connect(&task.url).await?;
    let mut stall = Stall {
        player: task.player(),
        locks: LockManager::builder().prefix(keys.locks()).build(backend)?,
        redis: connection(&task.url).await?,
        method: task.method,
        decision: task.pace.decision,
        end: Instant::now(),
        keys,
    };
    let purse = stall.keys.purse(&stall.player);
    let () = stall.redis.hset(purse, "funds", FUNDS).await?;

    println!("{READY}");
    // Blocking is fine, because the process does nothing else.
    std::io::stdin().read_line(&mut String::new())?;
    stall.end = Instant::now() + task.pace.length;
    let (mut score, mut said) = (Score::default(), Instant::now());
    while Instant::now() < stall.end {
        match task.side {
            Side::Seller => sell(&mut stall, &mut score).await?,
            Side::Buyer => buy(&mut stall, &mut score).await?,
        }
        if said.elapsed() >= NEWS {
            println!("{}", score.line());
            said = Instant::now();
        }
    }
    println!("{DONE}{}", score.line());
    stall.locks.shutdown().await?;
    Ok(())
}

async fn sell(stall: &mut Stall, score: &mut Score) -> Result<(), BoxError> {
    let next = score.listed;
    if next == score.stocked {
        let items: Vec<String> = (next..next + LOAD)
            .map(|it| item(&stall.player, it))
            .collect();
        let inventory = stall.keys.inventory(&stall.player);
        let () = stall.redis.sadd(inventory, items).await?;
        score.stocked += LOAD;
    }
    let price = fastrand::i64(1..=HIGHEST_PRICE);
    let (deal, retries) = stall.list(&item(&stall.player, next), price).await?;
    score.retries += retries;
    match deal {
        Deal::Done(_) => score.listed += 1,
        Deal::Spoilt => {}
        Deal::Gone => return Err("an item disappeared from its seller's inventory".into()),
    }
    Ok(())
}

async fn buy(stall: &mut Stall, score: &mut Score) -> Result<(), BoxError> {
    let offer: Option<String> = stall.redis.zrandmember(stall.keys.market(), None).await?;
    let Some(item) = offer else {
        sleep(Duration::from_millis(1)).await;
        return Ok(());
    };
    let begin = Instant::now();
    let (deal, retries) = stall.purchase(&item).await?;
    score.waited += begin.elapsed();
    score.retries += retries;
    match deal {
        Deal::Done(price) => {
            score.bought += 1;
            score.spent += price;
        }
        Deal::Gone => score.gone += 1,
        Deal::Spoilt => {}
    }
    Ok(())
}
