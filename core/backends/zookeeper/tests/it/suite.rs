//! The conformance suite on one server, and on three servers with connections to any of them.

use crate::server::{alone, connect, three};

leasehold::conformance_tests! {
    mod alone {
        #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
        contract, behaviour, election, hold_at_least, kinds, operators, sharing => {
            let addresses = alone().await.address();
            async move || connect(&addresses).await
        }
    }
}

leasehold::conformance_tests! {
    mod three {
        #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
        contract, behaviour, election, hold_at_least, kinds, operators, sharing => {
            let addresses = three().await.addresses();
            async move || connect(&addresses).await
        }
    }
}
