//! The macro that makes a test of each case of the suite.

/// Defines a test for each case of the conformance suite, for the backend that the block creates.
///
/// Each test runs the block. The value of the block is an async closure that opens a further connection to the same
/// backend. Name all or some of the parts `contract`, `behaviour`, `election`, `hold_at_least`, `kinds`, `once`,
/// `operators` and `sharing`. A wrapper that loses replies cannot pass `contract` and `kinds`, but must pass the other
/// parts. See the [module](crate::conformance) for an example.
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
    ($attributes:tt $world:block election $($rest:ident)*) => {
        mod election {
            #[allow(unused_imports, reason = "the world may be described without them")]
            use super::*;
            $crate::__conformance_cases! { $attributes $world election
                leaders_that_resign_take_turns
                a_shutdown_hands_over
                a_leader_that_loses_its_lock_campaigns_again
                an_observer_sees_each_leader
            }
        }
        $crate::__conformance_parts! { $attributes $world $($rest)* }
    };
    ($attributes:tt $world:block hold_at_least $($rest:ident)*) => {
        mod hold_at_least {
            #[allow(unused_imports, reason = "the world may be described without them")]
            use super::*;
            $crate::__conformance_cases! { $attributes $world hold_at_least
                a_released_lock_stays_taken
                the_lock_of_a_crashed_holder_stays_taken
                a_shutdown_leaves_the_lock_taken
                waiters_wait_for_the_end
                a_forced_release_ends_the_time
                shares_stay_taken
                a_new_holder_has_its_own_time
                the_locks_of_a_set_stay_taken
            }
        }
        $crate::__conformance_parts! { $attributes $world $($rest)* }
    };
    ($attributes:tt $world:block kinds $($rest:ident)*) => {
        mod kinds {
            #[allow(unused_imports, reason = "the world may be described without them")]
            use super::*;
            $crate::__conformance_cases! { $attributes $world kinds
                readers_share_and_writers_do_not
                readers_share_a_token
                a_reader_that_looks_late_has_the_token_of_the_others
                a_waiting_writer_is_not_starved
                a_writer_that_gives_up_blocks_nobody
                each_share_ends_by_its_own_lease
                a_renewed_share_goes_on
                a_downgrade_lets_readers_in
                permits_are_counted
                permits_are_served_in_turn
                each_keeps_to_its_own_number
                locks_and_permits_do_not_mix
                a_handover_works_once
                a_handover_takes_its_secret
                shares_can_be_forced_open
            }
        }
        $crate::__conformance_parts! { $attributes $world $($rest)* }
    };
    ($attributes:tt $world:block once $($rest:ident)*) => {
        mod once {
            #[allow(unused_imports, reason = "the world may be described without them")]
            use super::*;
            $crate::__conformance_cases! { $attributes $world once
                an_outcome_ends_the_attempts_of_all
                an_outcome_is_kept_unchanged
                a_late_outcome_is_refused
                an_outcome_is_kept_for_its_time
                waiters_receive_the_result
                waiters_share_a_failure
                after_a_crash_the_next_caller_runs
                without_an_outcome_the_next_caller_runs
                the_next_execution_has_a_larger_token
            }
        }
        $crate::__conformance_parts! { $attributes $world $($rest)* }
    };
    ($attributes:tt $world:block operators $($rest:ident)*) => {
        mod operators {
            #[allow(unused_imports, reason = "the world may be described without them")]
            use super::*;
            $crate::__conformance_cases! { $attributes $world operators
                a_holder_has_a_label
                holders_of_permits_are_listed
                readers_are_listed
                a_lock_is_taken_from_its_holder_only
                an_error_names_the_holder
                held_locks_are_listed
                shared_locks_are_listed
            }
        }
        $crate::__conformance_parts! { $attributes $world $($rest)* }
    };
    ($attributes:tt $world:block sharing $($rest:ident)*) => {
        mod sharing {
            #[allow(unused_imports, reason = "the world may be described without them")]
            use super::*;
            $crate::__conformance_cases! { $attributes $world sharing
                readers_never_meet_a_writer
                no_more_permits_than_there_are
                a_lost_share_is_noticed
                a_cancelled_reader_leaves_nothing
                a_downgraded_guard_reads_on
                a_lock_is_handed_over
                a_scope_shares_its_lock
                several_keys_are_all_or_nothing
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
