//! A committed transaction has no claim.

use leasehold_sqlx::{Error, FencedPool};
use sqlx::Postgres;

async fn pay(pool: &FencedPool<Postgres>) -> Result<(), Error> {
    let mut tx = pool.begin().await?;
    tx.commit().await?;
    let pay = sqlx::query("UPDATE orders SET state = 'paid'");
    pay.execute(&mut *tx).await?;
    Ok(())
}

fn main() {}
