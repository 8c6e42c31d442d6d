//! The conformance suite on five nodes, and on three.

use crate::redlock::nodes::Nodes;

leasehold::conformance_tests! {
    mod five {
        #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
        contract, behaviour, election, hold_at_least, operators => {
            let nodes = Nodes::start(5).await;
            async move || nodes.in_suite().await
        }
    }
}

leasehold::conformance_tests! {
    mod three {
        #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
        behaviour, election, hold_at_least => {
            let nodes = Nodes::start(3).await;
            async move || nodes.in_suite().await
        }
    }
}
