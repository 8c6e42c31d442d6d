//! The conformance suite on a Cluster.

use leasehold::backend::redis::Redis;

use crate::cluster::servers::{UNBROKEN, url};

leasehold::conformance_tests! {
    mod cluster {
        #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
        contract, behaviour, election, hold_at_least, kinds, once, operators, sharing => {
            let url = url(&UNBROKEN);
            async move || Redis::connect(&url).await.unwrap()
        }
    }
}
