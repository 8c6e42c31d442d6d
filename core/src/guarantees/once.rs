//! The guarantees of [`once`](crate::LockManager::once), with their tests.
//!
//! A body runs at least once, and the backend accepts one outcome for each retention time. These guarantees depend on
//! the backend's data: a server that loses an outcome lets another caller run its body. The work of a former holder may
//! still be in progress, so a resource must compare tokens.
//!
//! - All waiters and all later callers receive the recorded result, and run nothing.
//!   `leasehold_test::conformance::once::waiters_receive_the_result`,
//!   `leasehold_test::conformance::once::later_attempts_find_the_recorded_outcome`,
//!   `leasehold_redis::it::single::once::one_body_runs_for_a_hundred_waiters_with_two_requests_each`
//! - Only the holder records an outcome. The backend refuses the outcome of a former holder, and a duplicate request
//!   changes nothing. `leasehold_test::conformance::once::an_outcome_of_a_former_holder_is_refused`,
//!   `leasehold_redis::it::single::once::the_result_of_a_former_holder_is_refused`
//! - After a crash, a cancellation, a panic or a shutdown, the next caller runs its body under a larger token.
//!   `leasehold_test::conformance::once::after_a_crash_the_next_caller_runs_its_body`,
//!   `leasehold_test::conformance::once::without_an_outcome_the_next_caller_runs_its_body`,
//!   `leasehold_test::conformance::once::the_next_execution_has_a_larger_token`,
//!   `leasehold_core::it::once::a_body_that_panics_records_nothing`,
//!   `leasehold_core::it::once::a_shutdown_stops_the_body_and_records_nothing`
//! - Waiters share a failure for the time that the caller sets, and then the next caller runs its body.
//!   `leasehold_test::conformance::once::waiters_share_a_failure`,
//!   `leasehold_core::it::once::a_failure_is_shared_for_its_retention_time_and_names_the_error`
//! - An outcome is recorded whole or not at all: a result that is too large, a full server and a failed server leave
//!   nothing. `leasehold_redis::it::single::once::a_result_of_the_maximum_size_is_kept_and_a_larger_one_is_refused`,
//!   `leasehold_redis::it::single::once::a_full_server_keeps_no_part_of_a_result`,
//!   `leasehold_redis::it::single::once::a_server_failure_before_the_record_is_an_error_and_the_next_body_runs`
//! - An outcome expires after its retention time, and no key on the server is without a TTL.
//!   `leasehold_core::it::once::a_result_is_kept_for_its_retention_time`,
//!   `leasehold_redis::it::single::once::each_key_of_a_result_has_a_ttl`
//! - If the clocks of a time zone skip or repeat an hour, each time of the day in it fires once.
//!   `leasehold_core::it::schedule::several_times_of_the_day_in_the_skipped_hour_fire_once_at_its_end`,
//!   `leasehold_core::it::schedule::several_times_of_the_day_in_the_repeated_hour_fire_in_the_first_one`
//! - After a failed job of a schedule, the next instance runs it.
//!   `leasehold_core::it::distributed_lock::once::after_a_failed_job_of_a_schedule_the_next_instance_runs_it`
//! - Processes whose clocks are wrong by less than 500 ms compute the same slot of a `Schedule`, and so the same key.
//!   `leasehold_core::it::schedule::processes_whose_clocks_are_wrong_by_less_than_500_ms_name_the_same_slot`,
//!   `leasehold_nemesis::it::processes::schedule::each_slot_runs_once_despite_clock_skew_and_not_with_a_lock_alone`
