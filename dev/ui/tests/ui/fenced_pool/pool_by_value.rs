//! A fenced pool is an executor by reference, like a pool of sqlx.

use leasehold_sqlx::{Error, FencedPool};
use sqlx::Postgres;

async fn pay(pool: FencedPool<Postgres>) -> Result<(), Error> {
    let pay = sqlx::query("UPDATE orders SET state = 'paid'");
    pay.execute(pool).await?;
    Ok(())
}

fn main() {}
