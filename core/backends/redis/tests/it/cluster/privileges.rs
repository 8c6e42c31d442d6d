//! A user with exactly the documented least privileges.

use leasehold::LockManager;

use crate::cluster::servers::UNBROKEN;
use crate::documented_privileges::{
    PASSWORD, USER, everything, least, make_user, refused, tries_what_is_dangerous,
};

#[tokio::test(flavor = "multi_thread")]
async fn the_documented_privileges_are_enough_for_every_operation() {
    let rights = least(&["In a Cluster"]);
    let mut masters = Vec::new();
    for number in 0..3 {
        let mut client = UNBROKEN.server(number).client().await.unwrap();
        make_user(&mut client, &rights).await;
        masters.push(client);
    }
    let url = format!("redis+cluster://{USER}:{PASSWORD}@{}", UNBROKEN.hosts());
    everything(async || LockManager::connect(&url).await.unwrap()).await;
    for (number, master) in masters.iter_mut().enumerate() {
        assert_eq!(refused(master).await, Vec::<String>::new());
        tries_what_is_dangerous(UNBROKEN.server(number).port()).await;
    }
}
