use leasehold_sqlx::{Error, Fence, FencedExt};
use sqlx::mysql::{MySql, MySqlPool};

async fn pay(pool: &MySqlPool, fence: &Fence) -> Result<(), Error> {
    let pay = sqlx::query::<MySql>("UPDATE orders SET state = 'paid' WHERE id = ?").bind(42);
    pay.fenced(fence).execute(pool).await?;
    Ok(())
}

async fn built(pool: &MySqlPool, fence: &Fence) -> Result<(), Error> {
    let mut builder = sqlx::QueryBuilder::<MySql>::new("UPDATE orders SET state = ");
    builder.push_bind("paid").fenced(fence).execute(pool).await?;
    Ok(())
}

fn main() {}
