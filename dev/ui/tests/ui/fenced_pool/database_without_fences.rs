//! Only the supported databases can be fenced.

use leasehold_sqlx::FencedPool;
use sqlx::{Database, Pool};

fn fenced<DB: Database>(pool: Pool<DB>) {
    let _pool = FencedPool::new(pool);
}

fn main() {}
