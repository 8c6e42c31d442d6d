//! Users with exactly the rights that the documentation calls the least, of the servers and of the Sentinels.

use leasehold::LockManager;

use crate::documented::{
    OF_LOCKS, PASSWORD, USER, everything, least, make_user, named, refused, tries_what_is_dangerous,
};
use crate::servers::UNBROKEN;

#[tokio::test(flavor = "multi_thread")]
async fn the_least_rights_are_enough_for_every_operation() {
    let rights = least(&["With Sentinels"]);
    let pair = UNBROKEN.servers();
    let mut primary = pair.primary().client().await.unwrap();
    make_user(&mut primary, &rights).await;
    for sentinel in UNBROKEN.sentinels() {
        let mut client = sentinel.client().await.unwrap();
        make_user(&mut client, &named(OF_LOCKS, "a user of the Sentinels")).await;
    }
    let url = format!(
        "redis+sentinel://{USER}:{PASSWORD}@{}/{}?sentinel_username={USER}&sentinel_password={PASSWORD}",
        UNBROKEN.hosts(),
        UNBROKEN.name()
    );
    everything(async || LockManager::connect(&url).await.unwrap()).await;
    assert_eq!(refused(&mut primary).await, Vec::<String>::new());
    for sentinel in UNBROKEN.sentinels() {
        let mut client = sentinel.client().await.unwrap();
        assert_eq!(refused(&mut client).await, Vec::<String>::new());
    }
    tries_what_is_dangerous(pair.primary().port()).await;
}
