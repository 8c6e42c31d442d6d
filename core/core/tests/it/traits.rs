//! Which public types are `Send`, `Sync` and `Unpin`, and the sizes of frequently used types.

use std::mem::{size_of, size_of_val};

use leasehold::backend::{
    Attempt, AttemptAnswer, Backend, BackendError, Capabilities, Claim, InProcess, Inspection,
    ReleaseAnswer, RenewAnswer,
};
use leasehold::conformance::{BackendCall, Command, Fault, Faulty};
use leasehold::kind::Reentrant;
use leasehold::{
    AttemptId, Election, EndReason, Ended, Error, FencingToken, InvalidKey, InvalidOption,
    InvalidToken, Key, KeyProblem, Leader, Lock, LockGuard, LockHandle, LockManager,
    LockManagerBuilder, LockSet, LockSetGuard, LockSetHandle, LockSetReleaseError, Lost,
    LostInBody, ReentrancyScope, ReentrantRelease, ShutdownError, UnconfirmedRelease,
};
use static_assertions::{assert_impl_all, assert_not_impl_any, assert_obj_safe};

macro_rules! send_sync_unpin {
    ($($type:ty),+ $(,)?) => {
        $(assert_impl_all!($type: Send, Sync, Unpin, std::fmt::Debug);)+
    };
}

send_sync_unpin! {
    LockManager, LockManagerBuilder, Lock, LockGuard, LockHandle,
    ReentrancyScope, Lock<Reentrant>, LockGuard<Reentrant>, ReentrantRelease,
    Election, Leader, LockSet, LockSetGuard, LockSetHandle, LockSetReleaseError, Key, FencingToken, AttemptId, Lost, LostInBody, EndReason, Ended, Error, InvalidKey, InvalidOption, InvalidToken, KeyProblem,
    UnconfirmedRelease, ShutdownError,
    Attempt, AttemptAnswer, BackendError, Capabilities, Claim, InProcess, Inspection, ReleaseAnswer,
    RenewAnswer, BackendCall, Command, Fault, Faulty<InProcess>,
}

assert_impl_all!(LockManager: Clone);
assert_impl_all!(Lock: Clone);
assert_impl_all!(LockHandle: Clone);
assert_impl_all!(Election: Clone);
assert_not_impl_any!(LockGuard: Clone, Copy);
assert_not_impl_any!(LockGuard<Reentrant>: Clone, Copy);
assert_not_impl_any!(LockSetGuard: Clone, Copy);
assert_impl_all!(LockSet: Clone);
assert_impl_all!(LockSetHandle: Clone);
assert_impl_all!(ReentrancyScope: Clone, Default);
assert_obj_safe!(Backend);

fn assert_send<F: Future + Send>(_future: F) {}

#[tokio::test]
async fn futures_can_be_spawned_and_do_not_borrow() {
    fn assert_spawnable<F: Future + Send + 'static>(_future: F) {}
    let locks = LockManager::in_process();
    assert_spawnable(locks.lock("k").acquire());
    assert_spawnable(locks.lock("k").try_acquire());
    let scope = ReentrancyScope::new();
    assert_spawnable(locks.lock("k").reentrant(&scope).acquire());
    assert_spawnable(scope.enter(async {}));
    assert_spawnable(locks.lock_all(["k"]).acquire());
    let set = locks.lock_all(["set"]).acquire().await.unwrap();
    assert_spawnable(set.run(async |_| Ok::<_, Error>(())));
    assert_spawnable(set.ended());
    assert_spawnable(set.handle().scope(async {}));
    assert_spawnable(set.release());
    let election = locks.election("e");
    assert_spawnable(election.campaign(async |_| Ok::<_, Error>(())));
    assert_spawnable(election.resign());
    let leaders = election.observe();
    assert_spawnable(async move { drop(leaders) });
    assert_send(locks.inspect("k"));
    assert_send(locks.force_release("k"));
    assert_send(locks.shutdown());
    assert_send(locks.as_default(async {}));
    let guard = locks.lock("k").acquire().await.unwrap();
    assert_spawnable(guard.handle().scope(async {}));
}

#[tokio::test]
async fn common_types_and_futures_have_bounded_sizes() {
    let locks = LockManager::in_process();
    let lock = locks.lock("k");
    let guard = lock.clone().acquire().await.unwrap();
    let body = async |_: LockHandle| {
        let large = [1_u8; 1024];
        tokio::task::yield_now().await;
        Ok::<_, Error>(large.len())
    };
    let body_size = size_of_val(&body(guard.handle()));
    let run = guard.run(body);
    let campaign = locks.election("e").campaign(body);
    let sizes = [
        ("LockManager", size_of::<LockManager>(), 8),
        ("LockHandle", size_of::<LockHandle>(), 8),
        ("LockGuard", size_of::<LockGuard>(), 16),
        ("Lock", size_of::<Lock>(), 152),
        ("acquire()", size_of_val(&lock.clone().acquire()), 1600),
        ("try_acquire()", size_of_val(&lock.try_acquire()), 1600),
        ("ended()", size_of_val(&guard.ended()), 256),
        ("run(), beside its body", size_of_val(&run) - body_size, 256),
        (
            "campaign(), beside its body",
            size_of_val(&campaign) - body_size,
            1024,
        ),
        ("Error", size_of::<Error>(), 128),
    ];
    for (what, bytes, bound) in sizes {
        println!("{what:24} {bytes:5} bytes (at most {bound})");
    }
    for (what, bytes, bound) in sizes {
        assert!(bytes <= bound, "{what}: {bytes} bytes");
    }
    assert_eq!(run.await.unwrap(), 1024);
}
