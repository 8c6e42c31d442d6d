//! A transaction begins when its builder is awaited.

#![deny(unused_must_use)]

use leasehold_sqlx::FencedPool;
use sqlx::Postgres;

fn pay(pool: &FencedPool<Postgres>) {
    pool.begin();
}

fn main() {}
