//! An open connection cannot be used for locks.

use leasehold::backend::redis::Redis;
use redis::aio::MultiplexedConnection;

async fn connect(connection: MultiplexedConnection) {
    let _redis = Redis::builder().connect_client(connection).await;
}

fn main() {}
