//! A mapping can be invalid.

use leasehold_sqlx::FencedPool;
use sqlx::{PgPool, Postgres};

fn fenced(pool: PgPool) -> FencedPool<Postgres> {
    FencedPool::new(pool).map_table("orders", "order:*")
}

fn main() {}
