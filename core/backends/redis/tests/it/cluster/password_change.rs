//! A user whose password changes, in a Cluster.

use leasehold::LockManager;
use leasehold::backend::redis::Redis;

use crate::cluster::servers::UNBROKEN;
use crate::credentials::locks_outlive_a_password;

#[tokio::test(flavor = "multi_thread")]
async fn locks_survive_a_password_change_in_a_cluster() {
    let mut servers = Vec::new();
    for number in 0..3 {
        servers.push(UNBROKEN.server(number).client().await.unwrap());
    }
    let url = format!("redis+cluster://{}", UNBROKEN.hosts());
    locks_outlive_a_password(&mut servers, async |provider| {
        let redis = Redis::builder().credentials_provider(provider);
        LockManager::new(redis.connect(&url).await.unwrap())
    })
    .await;
}
