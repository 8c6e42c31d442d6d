//! Users with exactly the documented least privileges, on the servers and on the Sentinels.

use leasehold::{FenceStore, FencingToken, LockManager, RedisFenceStore};

use crate::documented_privileges::{
    OF_LOCKS, PASSWORD, USER, everything, least, make_user, named, refused, tries_what_is_dangerous,
};
use crate::sentinel::servers::UNBROKEN;

const OF_FENCES: &str = include_str!("../../../src/fence/mod.rs");

#[tokio::test(flavor = "multi_thread")]
async fn the_documented_privileges_are_enough_for_every_operation() {
    let pair = UNBROKEN.servers();
    let mut primary = pair.primary().client().await.unwrap();
    for sentinel in UNBROKEN.sentinels() {
        let mut client = sentinel.client().await.unwrap();
        make_user(&mut client, &named(OF_LOCKS, "a user of the Sentinels")).await;
    }
    let url = format!(
        "redis+sentinel://{USER}:{PASSWORD}@{}/{}?sentinel_username={USER}&sentinel_password={PASSWORD}",
        UNBROKEN.hosts(),
        UNBROKEN.name()
    );
    let fence_rights = ["default prefix", "With Sentinels"].map(|of| named(OF_FENCES, of));
    make_user(&mut primary, &fence_rights.concat()).await;
    let fences = RedisFenceStore::connect(&url).await.unwrap();
    let token = FencingToken::try_from(7).unwrap();
    fences.admit("r", token).await.unwrap();
    fences.pipeline("r", token).execute().await.unwrap();

    make_user(&mut primary, &least(&["With Sentinels"])).await;
    everything(async || LockManager::connect(&url).await.unwrap()).await;
    assert_eq!(refused(&mut primary).await, Vec::<String>::new());
    for sentinel in UNBROKEN.sentinels() {
        let mut client = sentinel.client().await.unwrap();
        assert_eq!(refused(&mut client).await, Vec::<String>::new());
    }
    tries_what_is_dangerous(pair.primary().port()).await;
}
