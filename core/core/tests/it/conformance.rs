//! The conformance suite on the in-process backend, with virtual and with real time, and with wrappers that delay,
//! refuse and lose commands.

use leasehold::backend::InProcess;
use leasehold::conformance::Faulty;

leasehold::conformance_tests! {
    mod in_process {
        #[tokio::test(start_paused = true)]
        contract, behaviour, election, hold_at_least, kinds, once, operators, sharing => {
            let world = InProcess::new();
            async move || world.clone()
        }
    }
}

leasehold::conformance_tests! {
    mod in_process_in_real_time_on_threads {
        #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
        contract, behaviour, election, hold_at_least, kinds, once, operators, sharing => {
            let world = InProcess::new();
            async move || world.clone()
        }
    }
}

leasehold::conformance_tests! {
    mod sluggish {
        #[tokio::test(start_paused = true)]
        contract, behaviour, election, hold_at_least, kinds, once, operators, sharing => {
            let world = Faulty::sluggish(InProcess::new(), 1);
            async move || world.clone()
        }
    }
}

leasehold::conformance_tests! {
    mod lossy {
        #[tokio::test(start_paused = true)]
        behaviour, election, hold_at_least, once, sharing => {
            let world = Faulty::lossy(InProcess::new(), 2);
            async move || world.clone()
        }
    }
}
