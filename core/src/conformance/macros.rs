/// Makes a test of each case of the conformance suite, for a world that the block describes.
///
/// The block is run once per test; its value is an async closure that opens a further connection to
/// the world. Name `contract`, `behaviour` or both: a wrapper that loses answers cannot keep the
/// contract to the letter, and its locks must behave all the same. See the
/// [module](crate::conformance) for an example.
#[macro_export]
#[cfg_attr(docsrs, doc(cfg(feature = "conformance")))]
macro_rules! conformance_tests {
    (mod $name:ident { $(#[$attribute:meta])+ $($part:ident),+ => $world:block }) => {
        mod $name {
            #[allow(unused_imports, reason = "the world may be described without them")]
            use super::*;
            $crate::__conformance_parts! { ($(#[$attribute])+) $world $($part)+ }
        }
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __conformance_parts {
    ($attributes:tt $world:block) => {};
    ($attributes:tt $world:block contract $($rest:ident)*) => {
        mod contract {
            #[allow(unused_imports, reason = "the world may be described without them")]
            use super::*;
            $crate::__conformance_cases! { $attributes $world contract
                one_holder_at_a_time
                keys_are_independent
                a_repeated_request_is_one_grant
                a_repeated_request_sets_the_lease_anew
                tokens_grow
                only_the_owner_releases
                only_the_owner_renews
                a_lease_runs_out
                a_renewed_lease_goes_on
                busy_without_queueing_leaves_nothing
                a_cleanup_undoes_an_attempt
                a_cleanup_hands_on
                a_wake_up_comes_and_is_kept
                first_come_first_served
                a_silent_waiter_is_passed_over
                a_lock_can_be_forced_open
                a_key_can_be_inspected
            }
        }
        $crate::__conformance_parts! { $attributes $world $($rest)* }
    };
    ($attributes:tt $world:block behaviour $($rest:ident)*) => {
        mod behaviour {
            #[allow(unused_imports, reason = "the world may be described without them")]
            use super::*;
            $crate::__conformance_cases! { $attributes $world behaviour
                exclusion_under_contention
                a_held_lock_is_renewed
                an_expired_guard_knows_it
                a_forced_release_is_noticed
                a_dropped_guard_frees_its_lock
                a_cancelled_acquire_leaves_nothing
                a_wait_has_its_limit
                a_shutdown_frees_everything
                waiters_are_served_in_order
            }
        }
        $crate::__conformance_parts! { $attributes $world $($rest)* }
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __conformance_cases {
    ($attributes:tt $world:block $part:ident) => {};
    (($(#[$attribute:meta])+) $world:block $part:ident $case:ident $($rest:ident)*) => {
        $(#[$attribute])+
        async fn $case() {
            $crate::conformance::$part::$case($world).await;
        }
        $crate::__conformance_cases! { ($(#[$attribute])+) $world $part $($rest)* }
    };
}
