//! The conformance suite on a real server, with wrappers that delay, refuse and lose commands, and through a slow or
//! broken network.

use std::time::Duration;

use leasehold::backend::redis::Redis;
use leasehold::conformance::Faulty;
use leasehold_testkit::proxy::{ChaosPlan, Direction, Proxy, Traffic};

use crate::single::server::Server;

leasehold::conformance_tests! {
    mod redis {
        #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
        contract, behaviour, election, hold_at_least, kinds, once, operators, sharing => {
            let server = Server::start().await;
            async move || Redis::connect(&server.url()).await.unwrap()
        }
    }
}

leasehold::conformance_tests! {
    mod sluggish {
        #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
        contract, behaviour, election, hold_at_least, kinds, once, operators, sharing => {
            let server = Server::start().await;
            async move || Faulty::sluggish(Redis::connect(&server.url()).await.unwrap(), 3)
        }
    }
}

leasehold::conformance_tests! {
    mod lossy {
        #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
        behaviour, election, hold_at_least, once, sharing => {
            let server = Server::start().await;
            async move || Faulty::lossy(Redis::connect(&server.url()).await.unwrap(), 4)
        }
    }
}

leasehold::conformance_tests! {
    mod through_a_slow_network {
        #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
        contract, behaviour, election, hold_at_least, kinds, once, operators, sharing => {
            let (server, proxy) = behind_a_proxy().await;
            let (some, more) = (Duration::from_millis(1), Duration::from_millis(3));
            proxy.set(Direction::ToServer, Traffic::Delay(some));
            proxy.set(Direction::ToClient, Traffic::Delay(more));
            async move || Redis::connect(&server.inner().url_at(proxy.port())).await.unwrap()
        }
    }
}

leasehold::conformance_tests! {
    mod through_a_network_that_breaks {
        #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
        behaviour, election, hold_at_least, once, sharing => {
            let (server, proxy) = behind_a_proxy().await;
            proxy.chaos(20_261_121, ChaosPlan {
                delay: 0.2,
                longest_delay: Duration::from_millis(3),
                lose_reply: 0.0,
                cut_before: 0.01,
                cut_after: 0.01,
                orphan: 0.01,
            });
            async move || loop {
                // The suite does not test a cut during a connect, so retry it.
                if let Ok(redis) = Redis::connect(&server.inner().url_at(proxy.port())).await {
                    break redis;
                }
            }
        }
    }
}

async fn behind_a_proxy() -> (Server, Proxy) {
    let server = Server::start().await;
    let proxy = Proxy::start(server.inner().port()).await.unwrap();
    (server, proxy)
}
