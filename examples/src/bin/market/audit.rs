//! Checks after each cell that nothing is lost or duplicated.

use std::fmt;

use leasehold_examples::BoxError;
use redis::AsyncCommands;
use redis::aio::MultiplexedConnection;

use crate::keys::Keys;
use crate::player::{FUNDS, Side, Task};
use crate::score::Score;

/// The error for a wrong sum.
#[derive(Debug, thiserror::Error)]
#[error("the books do not balance: {what} is {found}, expected {expected}")]
pub(crate) struct Unbalanced {
    what: String,
    found: i64,
    expected: i64,
}

fn check(what: impl fmt::Display, found: i64, expected: i64) -> Result<(), Unbalanced> {
    match found == expected {
        true => Ok(()),
        false => Err(Unbalanced {
            what: what.to_string(),
            found,
            expected,
        }),
    }
}

/// Counts items and money, and compares them with the scores of the players.
pub(crate) async fn balance(
    redis: &mut MultiplexedConnection,
    players: &[(Task, Score)],
) -> Result<(), BoxError> {
    let Some((task, _)) = players.first() else {
        return Ok(());
    };
    let keys = Keys::new(&task.prefix);
    let all = Score::sum(players.iter().map(|(_, score)| score));
    let on_the_market: i64 = redis.zcard(keys.market()).await?;
    let listed = all.listed - all.bought;
    check("what is for sale", on_the_market, listed)?;
    let mut money = 0_i64;
    for (task, score) in players {
        let name = task.player();
        let items: i64 = redis.scard(keys.inventory(&name)).await?;
        let funds: i64 = redis.hget(keys.purse(&name), "funds").await?;
        money += funds;
        match task.side {
            Side::Seller => {
                let kept = score.stocked - score.listed;
                check(format!("the inventory of {name}"), items, kept)?;
            }
            Side::Buyer => {
                check(format!("the inventory of {name}"), items, score.bought)?;
                check(format!("the purse of {name}"), funds, FUNDS - score.spent)?;
            }
        }
    }
    let count = i64::try_from(players.len())?;
    check("all the money", money, FUNDS * count)?;
    Ok(())
}

/// Removes the keys of a cell.
pub(crate) async fn sweep(redis: &mut MultiplexedConnection, keys: &Keys) -> Result<(), BoxError> {
    let mut cursor = 0_u64;
    loop {
        let mut scan = redis::cmd("SCAN");
        scan.arg(cursor)
            .arg("MATCH")
            .arg(keys.all())
            .arg("COUNT")
            .arg(1000);
        let (next, found): (u64, Vec<String>) = scan.query_async(redis).await?;
        if !found.is_empty() {
            let () = redis.unlink(found).await?;
        }
        if next == 0 {
            return Ok(());
        }
        cursor = next;
    }
}
