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
                a_duplicate_request_returns_the_same_grant
                a_duplicate_request_renews_the_lease
                each_token_is_larger_than_all_earlier_ones
                only_the_holder_can_release
                only_the_holder_can_renew
                a_lease_expires_after_its_ttl
                a_renewed_lease_does_not_expire
                a_busy_attempt_that_may_not_queue_leaves_nothing
                a_cleanup_undoes_a_grant_and_a_queue_position
                a_cleanup_of_the_holder_lets_the_next_waiter_acquire
                a_release_before_or_during_a_wait_notifies_the_waiter
                waiters_acquire_in_the_order_of_the_queue
                a_waiter_that_stops_polling_does_not_block_the_next_one
                a_forced_release_takes_the_lock_from_its_holder
                an_inspection_shows_holder_token_lease_and_waiters
            }
        }
        $crate::__conformance_parts! { $attributes $world $($rest)* }
    };
    ($attributes:tt $world:block behaviour $($rest:ident)*) => {
        mod behaviour {
            #[allow(unused_imports, reason = "the world may be described without them")]
            use super::*;
            $crate::__conformance_cases! { $attributes $world behaviour
                contending_tasks_never_hold_the_lock_together
                a_held_lock_is_renewed
                an_expired_guard_reports_its_loss
                a_holder_detects_a_forced_release_at_its_next_renewal
                a_dropped_guard_frees_its_lock
                a_cancelled_acquire_leaves_no_waiter_and_no_lock
                an_acquire_times_out_after_its_wait
                a_shutdown_releases_guards_and_ends_waiters
                acquires_are_served_in_the_order_of_their_calls
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
                another_candidate_leads_after_a_shutdown_of_the_leader
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
                waiters_acquire_when_the_minimum_hold_time_has_passed
                a_forced_release_ends_the_minimum_hold_time
                read_locks_and_permits_stay_taken
                after_a_handover_only_the_new_minimum_hold_time_applies
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
                readers_hold_the_lock_together_and_exclude_writers
                concurrent_readers_have_the_same_token
                a_reader_that_polls_late_has_the_token_of_the_other_readers
                a_waiting_writer_is_not_starved
                a_cancelled_waiting_writer_does_not_block_readers
                each_shared_holder_expires_after_its_own_ttl
                a_renewed_shared_holder_does_not_expire
                a_downgrade_lets_waiting_readers_acquire
                held_permits_never_exceed_the_limit
                waiters_for_few_permits_do_not_overtake_one_for_many
                each_attempt_applies_its_own_permit_limit
                a_key_in_use_as_a_lock_refuses_permits_and_the_reverse
                a_handover_is_accepted_only_once
                a_handover_without_its_valid_secret_is_refused
                a_forced_release_takes_the_lock_from_all_shared_holders
            }
        }
        $crate::__conformance_parts! { $attributes $world $($rest)* }
    };
    ($attributes:tt $world:block once $($rest:ident)*) => {
        mod once {
            #[allow(unused_imports, reason = "the world may be described without them")]
            use super::*;
            $crate::__conformance_cases! { $attributes $world once
                later_attempts_find_the_recorded_outcome
                an_outcome_is_kept_unchanged
                an_outcome_of_a_former_holder_is_refused
                an_outcome_can_be_deleted_and_expires
                waiters_receive_the_result
                waiters_share_a_failure
                after_a_crash_the_next_caller_runs_its_body
                without_an_outcome_the_next_caller_runs_its_body
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
                an_inspection_shows_the_label_of_the_holder
                holders_of_permits_are_listed
                readers_are_listed
                force_release_holder_takes_the_lock_only_from_that_holder
                a_timeout_error_names_the_holder_if_requested
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
                readers_and_a_writer_never_hold_the_lock_together
                contending_tasks_never_hold_more_permits_than_the_limit
                a_reader_detects_a_forced_release
                a_cancelled_reader_leaves_no_waiter_and_no_lock
                a_downgraded_guard_stays_valid_and_admits_readers
                another_manager_accepts_a_handover_ticket_once
                guards_of_one_scope_share_one_lock_and_token
                a_lock_set_holds_all_of_its_keys_or_none
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
