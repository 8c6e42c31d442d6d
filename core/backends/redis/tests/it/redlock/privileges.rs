//! A user with exactly the documented least privileges.

use crate::documented_privileges::{
    PASSWORD, USER, everything, least, make_user, refused, tries_what_is_dangerous,
};
use crate::redlock::nodes::{Nodes, durable, manager};

#[tokio::test(flavor = "multi_thread")]
async fn the_documented_privileges_of_one_server_are_enough_on_each_node() {
    let nodes = Nodes::start(3).await;
    for server in &nodes.servers {
        make_user(&mut server.client().await.unwrap(), &least(&[])).await;
    }
    let ports = nodes.servers.iter().map(|it| it.port());
    let urls = ports.map(|port| format!("redis://{USER}:{PASSWORD}@127.0.0.1:{port}"));
    let urls: Vec<_> = urls.collect();
    everything(async || manager(durable(urls.clone())).await).await;
    for server in &nodes.servers {
        let mut client = server.client().await.unwrap();
        assert_eq!(refused(&mut client).await, Vec::<String>::new());
        tries_what_is_dangerous(server.port()).await;
    }
}
