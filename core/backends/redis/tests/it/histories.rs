//! Random histories of one key with readers, permits and outcomes, with the real scripts on a real server. See
//! [`leasehold_histories`].

use std::sync::LazyLock;
use std::time::Duration;

use leasehold::backend::Claim;
use leasehold::backend::redis::Redis;
use leasehold::{AttemptId, Key};
use leasehold_histories::{Id, Once, PROCESSES, Permits, Place, ReadWrite, histories, process};
use leasehold_testkit::servers::RedisServer;
use redis::AsyncConnectionConfig;
use redis::Value;
use redis::aio::MultiplexedConnection;
use tokio::runtime::Runtime;

histories! {
    100, 1;
    readers_and_writers: ReadWrite, OnRedis;
    permits: Permits, OnRedis;
    outcomes: Once, OnRedis;
}

#[derive(Debug, Clone)]
pub(crate) struct OnRedis;

struct Server {
    runtime: Runtime,
    backends: [Redis; PROCESSES],
    raw: MultiplexedConnection,
    _server: RedisServer,
}

/// One server per test. Each history uses its own key.
static SERVER: LazyLock<Server> = LazyLock::new(|| {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .unwrap();
    let (server, backends, raw) = runtime.block_on(async {
        let server = RedisServer::start().await.unwrap();
        let url = server.url();
        let backends = [Redis::connect(&url), Redis::connect(&url)];
        let [one, other] = backends.map(|connecting| async { connecting.await.unwrap() });
        let backends = [one.await, other.await];
        let client = redis::Client::open(server.url()).unwrap();
        // A busy machine may respond slowly, so the client waits for as long as it takes.
        let patient = AsyncConnectionConfig::new()
            .set_connection_timeout(None)
            .set_response_timeout(None);
        let raw = client.get_multiplexed_async_connection_with_config(&patient);
        let raw = raw.await.unwrap();
        (server, backends, raw)
    });
    Server {
        runtime,
        backends,
        raw,
        _server: server,
    }
});

impl Place for OnRedis {
    const IS_LAZY: bool = true;

    // A grant ends after 2 s if its waiter does not confirm it.
    const LIMIT: Duration = Duration::from_millis(1_500);

    type Backend = Redis;

    fn backend(who: Id) -> &'static Redis {
        &SERVER.backends[process(who)]
    }

    fn run<T>(request: impl Future<Output = T>) -> T {
        SERVER.runtime.block_on(request)
    }

    fn end_lease(claim: &Claim) {
        let (lock, owner) = (claim.key.full(), claim.owner.reveal());
        let holder: Option<String> = ask("GET", &[lock]);
        if holder.as_deref() == Some(&*owner) {
            say("PEXPIRE", &[lock, "0"]);
            return;
        }
        let shares = companion(&claim.key, "shares");
        let all: Vec<String> = ask("ZRANGE", &[&shares, "0", "-1"]);
        for share in all.iter().filter(|share| share.starts_with(&owner)) {
            say("ZADD", &[&shares, "1", share]);
        }
    }

    fn end_place(key: &Key, owner: AttemptId) {
        rewrite_place(key, owner, |_ends, mode, inbox| format!("1 {mode} {inbox}"));
    }

    fn deafen(key: &Key, owner: AttemptId) {
        rewrite_place(key, owner, |ends, mode, _| format!("{ends} {mode} nobody"));
    }
}

fn rewrite_place(key: &Key, owner: AttemptId, change: impl Fn(&str, &str, &str) -> String) {
    let (leases, owner) = (companion(key, "leases"), owner.reveal());
    let place: Option<String> = ask("HGET", &[&leases, &owner]);
    let fields = place.as_deref().map(|place| place.splitn(3, ' '));
    if let Some([ends, mode, inbox]) = fields.map(|mut f| [(); 3].map(|()| f.next().unwrap())) {
        say("HSET", &[&leases, &owner, &change(ends, mode, inbox)]);
    }
}

fn companion(key: &Key, name: &str) -> String {
    format!("{{{}}}:lh1:{name}", key.full())
}

fn say(command: &str, arguments: &[&str]) {
    let _whatever: Value = ask(command, arguments);
}

fn ask<T: redis::FromRedisValue>(command: &str, arguments: &[&str]) -> T {
    let mut raw = SERVER.raw.clone();
    let mut command = redis::cmd(command);
    OnRedis::run(command.arg(arguments).query_async(&mut raw)).unwrap()
}
