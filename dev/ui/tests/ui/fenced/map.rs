use leasehold_sqlx::{Error, Fence, FencedExt};
use sqlx::postgres::{PgPool, Postgres};

// `query!` and `query_as!` with RETURNING make the same type.
async fn paid(pool: &PgPool, fence: &Fence) -> Result<i64, Error> {
    let pay = sqlx::query::<Postgres>("UPDATE orders SET state = 'paid' RETURNING id");
    pay.map(|_| 42).fenced(fence).fetch_one(pool).await
}

fn main() {}
