//! A user whose password changes, on servers with Sentinels.

use leasehold::LockManager;
use leasehold::backend::redis::Redis;

use crate::credentials::locks_outlive_a_password;
use crate::sentinel::servers::UNBROKEN;

#[tokio::test(flavor = "multi_thread")]
async fn locks_survive_a_password_change_with_sentinels() {
    let pair = UNBROKEN.servers();
    let mut servers = [pair.primary().client().await.unwrap()];
    let url = format!("redis+sentinel://{}/{}", UNBROKEN.hosts(), UNBROKEN.name());
    locks_outlive_a_password(&mut servers, async |provider| {
        let redis = Redis::builder().credentials_provider(provider);
        LockManager::new(redis.connect(&url).await.unwrap())
    })
    .await;
}
