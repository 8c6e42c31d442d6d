//! Other programs that lock a majority with their own ids.

use std::iter;

use crate::redlock::nodes::Nodes;

/// Returns an id as many programs generate it: bytes that are not text.
fn id() -> Vec<u8> {
    let random = iter::repeat_with(|| fastrand::u8(..));
    iter::once(0xff).chain(random).take(20).collect()
}

impl Nodes {
    async fn occupy_as(&self, place: usize, id: &[u8]) {
        let mut set = redis::cmd("SET");
        set.arg("lock:k").arg(id).arg("PX").arg(60_000);
        set.exec_async(&mut self.raw(place).await).await.unwrap();
    }
}

#[tokio::test]
async fn a_holder_whose_id_is_not_utf8_excludes_us_and_is_shown() {
    for count in [1, 5] {
        let nodes = Nodes::start(count).await;
        let locks = nodes.locks().await;
        let id = id();
        for place in 0..count {
            nodes.occupy_as(place, &id).await;
        }
        assert!(locks.lock("k").try_acquire().await.unwrap().is_none());
        let seen = locks.inspect("k").await.unwrap();
        let shown = String::from_utf8_lossy(&id);
        assert_eq!((seen.owner.as_deref(), seen.holders), (Some(&*shown), 1));
        assert!(seen.expires_in.is_some() && seen.token.is_none());
    }
}

#[tokio::test]
async fn two_ids_with_the_same_lossy_text_are_not_one_holder() {
    let nodes = Nodes::start(3).await;
    let locks = nodes.locks().await;
    let alike = [b"\xfe", b"\xff"];
    for (place, id) in alike.into_iter().enumerate() {
        nodes.occupy_as(place, id).await;
    }
    let seen = locks.inspect("k").await.unwrap();
    assert_eq!((seen.owner, seen.holders), (None, 0));
}
