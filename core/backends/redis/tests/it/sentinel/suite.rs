//! The conformance suite on a primary from Sentinels, and with replicas that must acknowledge.

use std::time::Duration;

use leasehold::backend::redis::Redis;

use crate::sentinel::servers::{UNBROKEN, synced, url};

leasehold::conformance_tests! {
    mod sentinel {
        #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
        contract, behaviour, election, hold_at_least, kinds, once, operators, sharing => {
            let url = url(&UNBROKEN);
            async move || Redis::connect(&url).await.unwrap()
        }
    }
}

leasehold::conformance_tests! {
    mod acknowledged {
        #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
        contract, behaviour, election, hold_at_least => {
            let url = UNBROKEN.servers().primary().url();
            let within = Duration::from_secs(1);
            async move || synced(within).connect(&url).await.unwrap()
        }
    }
}
