use tokio::io::{AsyncBufReadExt, BufReader, stdin};

use super::orders::{Order, Reply};
use crate::clock;
use crate::contestant::{AnyContestant, Contestant, Field, Once, Visitor, Way};
use crate::{Account, BoxError};

/// Runs a worker process until its input ends.
pub(crate) async fn work(
    way: &str,
    field: &Field,
    account: Option<&dyn Account>,
) -> Result<(), BoxError> {
    let way = Way::named(way).ok_or_else(|| format!("{way:?} is no way to lock"))?;
    let any_contestant = way.enter(field).await?;
    answer(&Reply::Ready)?;
    let mut lines = BufReader::new(stdin()).lines();
    while let Some(line) = lines.next_line().await? {
        let order = serde_json::from_str(&line)?;
        answer(&follow(&any_contestant, order, account).await?)?;
    }
    Ok(())
}

async fn follow(
    any_contestant: &AnyContestant,
    order: Order,
    account: Option<&dyn Account>,
) -> Result<Reply, BoxError> {
    Ok(match order {
        Order::Rush(rush) => {
            let before = clock::cpu();
            let turns = any_contestant.receive(&rush).await?;
            let cpu = clock::cpu().saturating_sub(before);
            Reply::Rushed { turns, cpu }
        }
        Order::Warm { key } => {
            any_contestant.receive(&Once { key }).await?;
            Reply::Warm
        }
        Order::Wait { key, tasks } => {
            any_contestant.receive(&Patient { key, tasks }).await;
            Reply::Waiting
        }
        Order::Account => {
            let account = account.ok_or("this program counts nothing; `counted` does")?;
            let (heap, passes) = (account.heap(), account.passes());
            Reply::Account { heap, passes }
        }
    })
}

/// Separate tasks, as in a service, which wait for a lock and then hold it until the process ends.
struct Patient {
    key: String,
    tasks: u32,
}

impl Visitor for Patient {
    type Output = ();

    async fn visit<C: Contestant>(&self, contestant: &C) {
        for _ in 0..self.tasks {
            let (contestant, key) = (contestant.clone(), self.key.clone());
            tokio::spawn(async move {
                let _held = contestant.acquire(&key).await?;
                std::future::pending::<Result<(), BoxError>>().await
            });
        }
    }
}

fn answer(reply: &Reply) -> Result<(), BoxError> {
    println!("{}", serde_json::to_string(reply)?);
    Ok(())
}
