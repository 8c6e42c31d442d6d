//! A user whose password changes, on the nodes of a Redlock.

use crate::credentials::locks_outlive_a_password;
use crate::redlock::nodes::{Nodes, durable, manager};

#[tokio::test(flavor = "multi_thread")]
async fn locks_survive_a_password_change_on_several_nodes() {
    let nodes = Nodes::start(3).await;
    let mut servers = Vec::new();
    for server in &nodes.servers {
        servers.push(server.client().await.unwrap());
    }
    locks_outlive_a_password(&mut servers, async |provider| {
        manager(durable(nodes.urls()).credentials_provider(provider)).await
    })
    .await;
}
