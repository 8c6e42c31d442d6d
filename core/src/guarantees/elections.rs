//! The guarantees of an [`Election`](crate::Election), with their tests.
//!
//! An election is an exclusive lock. So its guarantees depend on the assumptions of [exclusion](crate::guarantees#exclusion)
//! and of the [tokens](crate::guarantees#tokens), and the work of a leader stops only at an await point. A resource that
//! compares tokens rejects what an earlier leader still writes.
//!
//! - Two leaders are never valid at the same time, and each term has a larger token than all earlier terms. Processes that
//!   are killed, stopped, cut off and resumed at random do not change this.
//!   `leasehold_nemesis::it::processes::election::on_redis_only_one_candidate_leads_and_the_next_one_leads_in_time`,
//!   `leasehold_nemesis::it::processes::election::on_zookeeper_only_one_candidate_leads_and_the_next_one_leads_in_time`,
//!   `leasehold_nemesis::it::processes::election::control_leader_that_works_after_a_loss_overlaps_the_next_one`,
//!   `leasehold_test::conformance::election::leaders_that_resign_take_turns`
//! - The body is dropped before its lock is released: after it returns or panics, at a resignation, at the shutdown of the
//!   manager, after a loss, and if the campaign is dropped.
//!   `leasehold_core::it::election::ends::a_body_that_returns_ends_its_campaign_and_releases_the_lock`,
//!   `leasehold_core::it::election::ends::a_body_that_panics_is_dropped_before_the_release`,
//!   `leasehold_core::it::election::ends::a_resignation_drops_the_body_and_waits_for_the_release`,
//!   `leasehold_core::it::election::ends::a_shutdown_waits_until_the_body_is_dropped_and_releases_afterwards`,
//!   `leasehold_core::it::election::ends::a_shutdown_on_threads_never_releases_before_the_body_is_dropped`,
//!   `leasehold_core::it::election::ends::a_candidate_that_loses_its_lock_campaigns_again`,
//!   `leasehold_core::it::election::ends::a_campaign_that_is_dropped_at_any_await_point_drops_the_body_before_the_release`,
//!   `leasehold_core::it::election::outages::a_leader_stops_before_its_lease_ends_in_an_outage_and_leads_again_after_it`
//! - A body that cannot be dropped during a shutdown, because its campaign is not polled, keeps its lease until the lease
//!   expires. The shutdown returns an error.
//!   `leasehold_core::it::election::ends::a_campaign_that_is_neither_polled_nor_dropped_keeps_its_lease_until_it_expires`
//! - After a crash of the leader, another candidate leads within the TTL and one second. After a resignation and a
//!   shutdown, it leads within one round trip.
//!   `leasehold_nemesis::it::processes::election::on_redis_only_one_candidate_leads_and_the_next_one_leads_in_time`,
//!   `leasehold_nemesis::it::processes::election::on_zookeeper_only_one_candidate_leads_and_the_next_one_leads_in_time`,
//!   `leasehold_test::conformance::election::another_candidate_leads_after_a_shutdown_of_the_leader`
//! - On Redis and `ZooKeeper`, a candidate that does not respond delays no other candidate. On Redis, this holds for the
//!   first 1 000 candidates. A candidate that stops responding while it acquires the lock counts as a crashed leader. On
//!   other backends, a candidate that is first in the queue adds the time of a
//!   [crashed waiter](crate::guarantees#liveness).
//!   `leasehold_nemesis::it::processes::election::unresponsive_candidates_do_not_delay_the_next_leader`,
//!   `leasehold_redis::it::single::unfair::a_silent_waiter_delays_others_only_if_it_has_a_turn`,
//!   `leasehold_redis::it::single::unfair::each_waiter_is_notified_and_one_acquires`,
//!   `leasehold_redis::it::single::unfair::each_waiter_polls_when_the_lease_ends`,
//!   `leasehold_zookeeper::it::unfair::a_silent_waiter_delays_others_only_if_it_has_a_turn`,
//!   `leasehold_zookeeper::it::unfair::each_waiter_is_notified_and_one_acquires`,
//!   `leasehold_zookeeper::it::unfair::a_waiter_that_competes_in_vain_leaves_no_node`
//! - After a term, another candidate leads, if it responds within 20 ms.
//!   `leasehold_core::it::election::order::a_candidate_that_resigns_campaigns_again_behind_all_others`,
//!   `leasehold_test::conformance::election::leaders_that_resign_take_turns`
//! - A candidate campaigns again after a loss, and retries during an outage of any length, after the first retries at
//!   most about once per second. `leasehold_test::conformance::election::a_leader_that_loses_its_lock_campaigns_again`,
//!   `leasehold_core::it::election::outages::a_candidate_outlasts_an_outage_with_at_most_one_request_per_second`
//! - An observer receives the current leader, and then each change that lasts longer than the poll interval. An outage is
//!   one error, and does not end the stream. `leasehold_test::conformance::election::an_observer_sees_each_leader`,
//!   `leasehold_core::it::election::observing::an_observer_receives_the_current_leader_and_then_each_change`,
//!   `leasehold_core::it::election::observing::an_observer_receives_one_error_per_outage_and_then_the_leader_again`
