//! The conformance suite on a real server, and behind wrappers that delay, refuse and lose.

use leasehold::backend::redis::Redis;
use leasehold::conformance::Faulty;

use crate::server::Server;

leasehold::conformance_tests! {
    mod redis {
        #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
        contract, behaviour => {
            let server = Server::start().await;
            async move || Redis::connect(&server.url()).await.unwrap()
        }
    }
}

leasehold::conformance_tests! {
    mod sluggish {
        #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
        contract, behaviour => {
            let server = Server::start().await;
            async move || Faulty::sluggish(Redis::connect(&server.url()).await.unwrap(), 3)
        }
    }
}

leasehold::conformance_tests! {
    mod lossy {
        #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
        behaviour => {
            let server = Server::start().await;
            async move || Faulty::lossy(Redis::connect(&server.url()).await.unwrap(), 4)
        }
    }
}
