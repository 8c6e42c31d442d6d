//! Lists of the locks that a majority holds.

use leasehold::backend::Backend;
use leasehold::{Error, LockGuard, LockManager};

use crate::documented_privileges::{PASSWORD, USER, least, make_user};
use crate::redlock::nodes::{Nodes, durable, eventually, manager};

async fn listed(locks: &LockManager) -> Result<Vec<String>, Error> {
    let (mut list, mut keys) = (locks.list(""), Vec::new());
    while let Some(lock) = list.next().await? {
        assert_eq!(lock.state.holders, 1, "{lock:?}");
        keys.push(lock.key);
    }
    keys.sort_unstable();
    Ok(keys)
}

async fn hold(locks: &LockManager, keys: &[String]) -> Vec<LockGuard> {
    let mut held = Vec::new();
    for key in keys {
        held.push(locks.lock(key).acquire().await.unwrap());
    }
    held
}

fn keys(group: &str, count: usize) -> Vec<String> {
    let mut keys: Vec<String> = (0..count).map(|n| format!("{group}{n}")).collect();
    keys.sort_unstable();
    keys
}

#[tokio::test]
async fn each_lock_of_a_majority_is_listed_once() {
    let nodes = Nodes::start(3).await;
    let locks = nodes.locks().await;
    // A node that was late while connecting would not have all of the locks.
    drop(nodes.held_everywhere(&locks, "warm").await);
    nodes.are_empty("warm").await;
    let of_others = nodes.occupy(0, 600_000).await && nodes.occupy(1, 600_000).await;
    assert!(of_others);
    let (on_three, on_two) = (keys("a", 10), keys("b", 10));
    let all = [on_three.clone(), on_two.clone()].concat();
    let _a = hold(&locks, &on_three).await;
    assert_eq!(listed(&locks).await.unwrap(), on_three);

    nodes.servers[0].kill();
    let _b = hold(&locks, &on_two).await;
    assert_eq!(listed(&locks).await.unwrap(), all);

    // This node has lost its locks.
    nodes.servers[0].restart().await.unwrap();
    let new = nodes.locks().await;
    eventually("the new client has reached all nodes", async || {
        listed(&new).await.is_ok_and(|keys| keys == all)
    })
    .await;

    nodes.servers[2].kill();
    let none: [&str; 0] = [];
    assert_eq!(listed(&nodes.locks().await).await.unwrap(), none);

    nodes.servers[1].kill();
    let error = listed(&locks).await.unwrap_err();
    assert!(matches!(error, Error::Backend { .. }), "{error:?}");
}

#[tokio::test]
async fn a_node_that_fails_during_a_list_is_skipped() {
    let nodes = Nodes::start(3).await;
    let redlock = durable(nodes.urls()).connect().await.unwrap();
    let locks = nodes.locks().await;
    let all = keys("k", 300);
    let _held = hold(&locks, &all).await;
    let (mut listed, mut cursor, mut pages) = (Vec::new(), None, 0);
    loop {
        let page = redlock.list("lock:", cursor.as_ref()).await.unwrap();
        listed.extend(page.locks.into_iter().map(|(key, _state)| key));
        pages += 1;
        if pages == 2 {
            nodes.servers[0].kill();
        }
        cursor = page.next;
        if cursor.is_none() {
            break;
        }
    }
    listed.sort_unstable();
    let expected: Vec<_> = all.iter().map(|key| format!("lock:{key}")).collect();
    assert_eq!(listed, expected);
    assert!(pages > 4, "{pages} pages");
}

#[tokio::test]
async fn a_key_of_another_type_is_not_in_the_list() {
    let nodes = Nodes::start(3).await;
    let locks = nodes.locks().await;
    let _held = hold(&locks, &keys("k", 1)).await;
    for (place, command) in ["SET lock:x 1", "HSET lock:x a 1", "HSET lock:x a 1"]
        .into_iter()
        .enumerate()
    {
        let mut words = command.split(' ');
        let mut write = redis::cmd(words.next().unwrap());
        write.arg(words.collect::<Vec<_>>());
        let () = write
            .query_async(&mut nodes.raw(place).await)
            .await
            .unwrap();
    }
    assert_eq!(listed(&locks).await.unwrap(), ["k0"]);
    let error = locks.inspect("x").await.unwrap_err();
    assert!(matches!(error, Error::Backend { .. }), "{error:?}");
}

#[tokio::test]
async fn a_list_needs_the_documented_permissions() {
    let nodes = Nodes::start(3).await;
    let ports = nodes.servers.iter().map(|it| it.port());
    let urls = ports.map(|port| format!("redis://{USER}:{PASSWORD}@127.0.0.1:{port}"));
    let urls: Vec<_> = urls.collect();
    let too_few = least(&[]);
    let enough = least(&["LockManager::list) the user also needs"]);
    let without_strlen = [&too_few[..], &["+scan"]].concat();
    for (rights, is_allowed) in [(too_few, false), (without_strlen, false), (enough, true)] {
        for server in &nodes.servers {
            make_user(&mut server.client().await.unwrap(), &rights).await;
        }
        let locks = manager(durable(urls.clone())).await;
        let held = locks.lock("k").acquire().await.unwrap();
        match listed(&locks).await {
            Ok(keys) => assert!(is_allowed && keys == ["k"], "{keys:?}"),
            Err(error) => assert!(!is_allowed && !error.is_temporary(), "{error:?}"),
        }
        held.release().await.unwrap();
    }
}
