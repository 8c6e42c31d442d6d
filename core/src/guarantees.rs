//! Lists the guarantees, their assumptions, their limits, and the tests of each statement.
//!
//! [Any distributed lock is unsafe by itself](#prior-work). A holder can be paused for longer than its lease, between
//! the last check of its guard and its write. So this crate makes two guarantees, and the second does not depend on the
//! first. *Exclusion* holds as long as clocks and servers behave as described below. *Fencing tokens* increase with
//! each grant, so the resource can reject a late write even if clocks or servers misbehave.
//!
//! Tests have the names that cargo gives them, `crate::binary::module::test`. Tests in `leasehold::conformance` run on
//! every backend that supports the feature: without faults, with delays, and over faulty networks. Tests in
//! `leasehold_model` visit every state of a small model. `cargo xtask lint` fails if a statement has no test, or if a
//! listed test does not exist.
//!
//! # Exclusion
//!
//! Exclusion depends on two assumptions. First, over one TTL two clocks drift apart by at most 1 % plus 2 ms. The
//! clocks also count the time for which a machine is suspended. Second, the backend [does not lose its
//! data](#data-loss).
//!
//! The time of day on a client does not matter. A Redis server or a SQL database ends leases by its own time of day, and
//! `SQLite` by that of the machine. If this clock is set forward, leases end too early: slew the clock, do not step it. After a promotion, or after a slot of a Cluster has
//! moved, the new server uses its own time of day. A lease may then end too early by the difference between the two
//! clocks.
//!
//! Exclusion does not depend on how long processes are paused, or on how many messages are delayed, lost or duplicated.
//!
//! On `ZooKeeper` exclusion also depends on four assumptions about the ensemble. These assumptions come from a reading
//! of its code; no test checks them:
//!
//! 1. A leader sends a ping every half tick. Each follower that clients can still reach receives it within a third of
//!    the session timeout, less half a tick.
//! 2. `maxSessionTimeout` is not lowered below the timeouts of live sessions.
//! 3. No other client closes a holder's session with the session's id and password.
//! 4. Each key becomes free at least once in every two thousand million queued attempts.
//!
//! - Two guards of one key are never both valid. `leasehold::conformance::behaviour::exclusion_under_contention`,
//!   `leasehold_model::holds::late_copies`, `leasehold_model::holds::three_attempts`,
//!   `leasehold_simulation::seeds::every_seed_holds_what_is_claimed`,
//!   `leasehold_nemesis::soak::memory_and_connections_stay_flat_over_cancelled_acquisitions_and_no_keys_are_left`
//! - A guard's deadline counts from when the accepted request was sent: a slow network makes leases shorter, never
//!   longer. `leasehold::rules::rule_3_deadline_from_sending::the_lease_counts_from_the_request_whose_answer_came`,
//!   `leasehold::rules::rule_3_deadline_from_sending::a_slow_grant_does_not_lengthen_the_lease`,
//!   `leasehold_model::weakened::reply_to_any_copy`
//! - A guard is invalid past its deadline, even if the backend reports otherwise or cannot be reached. A margin puts
//!   that deadline before the end of the lease on the server.
//!   `leasehold::rules::rule_3_deadline_from_sending::past_its_deadline_a_guard_is_lost_whoever_says_what`,
//!   `leasehold::engine::lease::tests::a_lease_ends_before_the_server_ends_it`, `leasehold_model::weakened::no_margin`,
//!   `leasehold_nemesis::processes::pause::a_holder_that_slept_past_its_lease_knows_so_before_it_hears_from_anybody`
//! - A suspended machine does not keep its lease. `leasehold::engine::lease::tests::a_suspended_machine_does_not_keep_its_lease`,
//!   `leasehold::clock::tests::suspension_counts_although_timers_stood_still`
//! - [`run`](crate::LockGuard::run) drops its body at the deadline, and does not poll it again.
//!   `leasehold::rules::rule_5_loss_is_loud::after_a_pause_past_the_deadline_the_body_takes_no_further_step`,
//!   `leasehold::rules::rule_5_loss_is_loud::a_body_is_cut_short_at_the_deadline`
//! - A request that arrives after its acquire has ended does not acquire the lock.
//!   `leasehold::redis::faults::a_request_that_is_delivered_after_the_cleanup_takes_nothing`,
//!   `leasehold::redlock::faults::a_request_that_comes_after_the_end_takes_nothing`,
//!   `leasehold_model::weakened::no_seal`,
//!   `leasehold::zookeeper::faults::attempts_that_are_dropped_while_there_is_no_session_leave_nothing`
//! - A lost guard stays lost: its lease is never renewed after the lock could have been granted to another holder.
//!   `leasehold::engine::lease::tests::what_has_ended_stays_ended_and_keeps_its_first_reason`,
//!   `leasehold_model::weakened::renewal_by_owner`
//! - Readers never hold a lock alongside a writer, and the number of held permits never exceeds the limit.
//!   `leasehold::conformance::sharing::readers_never_meet_a_writer`,
//!   `leasehold::conformance::sharing::no_more_permits_than_there_are`,
//!   `leasehold_nemesis::processes::semaphore::of_100_000_acquisitions_never_more_hold_than_there_are_permits_and_the_killed_give_theirs_back`
//! - A lock set holds all of its keys or none, and acquiring it never deadlocks.
//!   `leasehold::several_histories::ten_thousand_histories_hold_all_or_nothing`,
//!   `leasehold::several::nobody_waits_in_a_circle`
//! - Different values result in different keys. This applies to values that a template of `#[distributed_lock]`
//!   separates with `:`, and to the path keys of `leasehold-tower`.
//!   `leasehold::key::tests::no_two_pairs_of_values_share_a_key`, `leasehold_ui::compiles::keys::compiles_and_runs`,
//!   `leasehold_tower::it::keys::two_pairs_of_parameters_are_two_locks`
//! - A lock with [`hold_at_least`](crate::Lock::hold_at_least) is taken for that time, despite releases and crashes.
//!   `leasehold::conformance::hold_at_least::a_released_lock_stays_taken`,
//!   `leasehold::conformance::hold_at_least::the_lock_of_a_crashed_holder_stays_taken`
//! - On Redis, locks of this crate and locks that other programs acquire with `SET key id NX PX ttl` exclude each
//!   other. `leasehold::redis::foreign::we_exclude_them`,
//!   `leasehold::redis::foreign::they_exclude_us_and_we_wait_for_them`, `leasehold_model::holds::foreign_lockers`
//!
//! # Tokens
//!
//! "Tokens are monotonic" means three things. Two holders never have the same token. An acquire that begins after
//! another grant gets a larger token than that grant. If a resource rejects tokens smaller than its last seen token, it
//! rejects a holder's writes after a later holder's write. None of these three depends on exclusion: they hold even if
//! locks expire at any time.
//!
//! ε is the largest difference between the clocks of the servers that generate a key's tokens. It includes past jumps
//! of these clocks. S is one second: a client's hint puts a token ahead of a [`Redlock`] node's clock by at most that
//! time.
//!
//! - **T1.** On a backend that loses no data, tokens are always monotonic, for any clocks, delays, pauses, losses and
//!   duplicates. `leasehold_model::holds::early_expiry`, `leasehold_model::holds::early_expiry_three`,
//!   `leasehold_model::quorum_holds::three_rounds_fenced`, `leasehold_model::quorum_holds::five_nodes`,
//!   `leasehold_nemesis::processes::tokens::each_of_100_000_acquisitions_has_a_larger_token_than_the_one_before`,
//!   `leasehold::redlock::memory::tokens_grow_whatever_the_clocks_say`
//! - **T2.** After a [`Redlock`] node lost its memory, tokens stay monotonic if the node has no vote for longer than
//!   ε + S. A node that may restart with an older state must also have no vote for the longest TTL. The client reads a
//!   node's uptime to enforce this. `leasehold_model::quorum_holds::quorum_restarts`,
//!   `leasehold_model::quorum_holds::quorum_old_state`,
//!   `leasehold::redlock::memory::a_node_that_was_restarted_has_no_vote_until_what_it_forgot_is_over`
//! - **T3.** In two cases tokens are not always monotonic: in a split brain, and if a server grants locks immediately
//!   after losing its memory. In these cases, tokens increase between acquisitions that are more than ε + S apart.
//!   Tokens of closer acquisitions may be equal or inverted. Each token is at least the server's time of day.
//!   `leasehold::redis::outage::a_server_that_forgot_ends_the_guard_and_tokens_go_on_growing`,
//!   `leasehold::sentinel::split::an_old_primary_that_returns_has_nobody_write_out_of_order`,
//!   `leasehold_model::weakened::no_time_floor`
//! - **T4.** On one server with failover, tokens increase if the new primary's first grant is late enough. It must be
//!   more than ε later than any grant that the new primary does not know. With synchronized clocks, a failover takes
//!   longer than ε. `leasehold_model::quorum_holds::one_server`,
//!   `leasehold::sentinel::tokens::tokens_grow_over_fifty_failovers_that_lose_them`
//! - **T5.** The server forgets the last token of a key two days after its last use. It may do so up to 17 minutes
//!   earlier, or earlier by as much as its clock was set back. The clocks of servers are assumed to differ by less than
//!   two days. `fence_ttl` of the backend's builder sets another time and documents its cost. The record of a semaphore
//!   ends a minute after its last lease, because a permit does not have a fencing token.
//!   `leasehold::redis::fence_ttl::every_request_keeps_the_last_token_for_the_time_that_is_set`,
//!   `leasehold::redis::fence_ttl::batches_and_readers_keep_the_last_token_for_the_time_that_is_set`,
//!   `leasehold::redis::fence_ttl::a_key_in_use_keeps_its_last_token`,
//!   `leasehold::redis::fence_ttl::a_semaphore_leaves_nothing_two_minutes_after_its_last_lease`,
//!   `leasehold::redlock::fence_ttl::nodes_keep_the_last_token_for_the_time_that_is_set`,
//!   `leasehold_model::quorum_holds::quorum_idle`,
//!   `leasehold::redis::companions::a_released_lock_leaves_its_counter_and_the_counter_has_a_ttl`,
//!   `leasehold::redis::tokens::a_counter_that_is_in_use_lasts_two_days_or_a_little_less`
//! - In process, tokens also increase across restarts of the process, unless its clock was set back.
//!   `leasehold::backend::memory::fencing_tokens::tests::tokens_follow_the_clock_and_grow_when_it_does_not`
//! - On `ZooKeeper`, tokens are transaction numbers of the ensemble, which never decrease.
//!   `leasehold::conformance::contract::tokens_grow`,
//!   `leasehold::zookeeper::ensemble::when_the_leader_is_killed_a_lock_is_held_or_lost_and_never_both`
//! - Readers that hold a lock together have the same token. That token is larger than all earlier writers' tokens and
//!   smaller than all later writers' tokens. A reader that was the writer keeps its own token.
//!   `leasehold::conformance::kinds::readers_share_a_token`,
//!   `leasehold::conformance::kinds::a_reader_that_looks_late_has_the_token_of_the_others`
//! - A holder that accepted a handed-over lock has a larger token than the previous holder.
//!   `leasehold::conformance::kinds::a_handover_works_once`,
//!   `leasehold_nemesis::processes::handover::a_process_exits_and_another_holds_on`
//!
//! # Fenced writes
//!
//! Fenced writes depend only on monotonic tokens, not on exclusion, clocks or the network.
//!
//! - A [`FenceStore`](crate::FenceStore) admits no token after a larger token.
//!   `leasehold::fence::the_largest_of_many_stays`,
//!   `leasehold::redis::fence::accepts_the_newest_again_and_refuses_what_is_older_to_the_last_digit`,
//!   `leasehold::redis::fence::a_server_that_takes_no_writes_admits_nobody_not_even_the_newest_again`
//! - If all holders use `Fence::begin` of `leasehold-sqlx`, a paused holder that reads and writes does not lose another
//!   holder's update. `begin` claims the fence first, and the fence's row stays locked until the commit.
//!   `leasehold_sqlx::races::postgres::on_postgres_a_fence_loses_nothing`,
//!   `leasehold_sqlx::races::mariadb::on_mariadb_a_fence_loses_nothing`,
//!   `leasehold_sqlx::races::sqlite::on_sqlite_a_fence_loses_nothing`, `leasehold_sqlx::paused::on_postgres`
//! - A [`FencedPipeline`](crate::FencedPipeline) executes nothing after a larger token was admitted, and no other
//!   client's command runs between its own. `leasehold::redis::pipeline::of_a_stale_one_nothing_is_executed`,
//!   `leasehold::redis::pipeline::among_many_at_once_no_older_write_follows_a_newer_one`
//! - A `Fence::begin` that is dropped at any point leaves no open transaction (under tokio).
//!   `leasehold_sqlx::it::dropped::on_postgres_nothing_that_is_confirmed_later_is_lost`,
//!   `leasehold_sqlx::it::dropped::on_mariadb_nothing_that_is_confirmed_later_is_lost`
//! - Writes under a fence are linearizable on each deployment, despite faults of locks, clients, servers, links and
//!   clocks. Under the same faults, writes without a fence are lost. The same holds for writes through a `FencedPool` of
//!   `leasehold-sqlx`, by code that uses no token.
//!   `leasehold_nemesis::matrix::under_a_fence_nothing_is_lost_whatever_happens_to_the_locks`
//! - A `LockedTransaction` under a lock in the same database commits only if no other client has acquired the lock. A
//!   transaction whose lock was lost writes nothing, and the next holder sees all writes of a committed transaction.
//!   `leasehold_sqlx::locked::history::on_postgres::no_update_is_lost_and_a_plain_transaction_loses_some`,
//!   `leasehold_sqlx::locked::history::on_mariadb::no_update_is_lost_and_a_plain_transaction_loses_some`,
//!   `leasehold_sqlx::locked::history::on_sqlite::no_update_is_lost_and_a_plain_transaction_loses_some`,
//!   `leasehold_sqlx::locked::deferred::the_next_holder_waits_for_deferred_triggers_and_sees_their_writes`
//! - A single fenced statement changes no row that a later holder has written. `leasehold_sqlx::it::rows::on_postgres`,
//!   `leasehold_sqlx::it::rows::on_mariadb`, `leasehold_sqlx::it::rows::on_sqlite`
//! - `Fence::begin` and a single fenced statement do not see each other. If `Fence::query` writes a row anywhere, use
//!   it for that row within `Fence::begin` too. An `INSERT` in such a transaction must set the fence column to the
//!   token. Then neither `Fence::begin` nor a single statement overwrites a later holder's write. `Fence::begin` alone
//!   protects only against other `begin` transactions.
//!   `leasehold_sqlx::it::together::on_postgres_query_within_begin_sees_other_queries_and_is_seen_by_them`,
//!   `leasehold_sqlx::it::together::on_mariadb_query_within_begin_sees_other_queries_and_is_seen_by_them`,
//!   `leasehold_sqlx::it::together::on_sqlite_query_within_begin_sees_other_queries_and_is_seen_by_them`
//! - `FenceLayer` of `leasehold-tower` rejects every request that follows a request with a larger token. If its store
//!   fails, it rejects all requests.
//!   `leasehold_tower::it::fencing::what_was_admitted_is_done_before_the_next_and_the_older_is_refused`,
//!   `leasehold_tower::it::fencing::a_store_that_fails_lets_nobody_in`
//! - If exclusion fails and two guards are valid, the older holder's write is rejected. The tests cause such failures
//!   in all known ways.
//!   `leasehold::sentinel::hole::without_acknowledgements_two_hold_the_lock_and_the_fence_refuses_the_older`,
//!   `leasehold::redlock::memory::a_clock_that_jumps_lets_two_in_and_the_fence_refuses_the_older`,
//!   `leasehold::redlock::memory::a_node_that_is_wrongly_called_durable_lets_two_in_and_the_fence_refuses_the_older`
//!
//! # Liveness
//!
//! Liveness assumes that the backend responds, and that the tasks of waiters are polled.
//!
//! - A lock is free, or granted to its first waiter, at most one TTL after its holder stopped renewing.
//!   `leasehold::conformance::contract::a_lease_runs_out`, `leasehold_model::holds::deaths`,
//!   `leasehold_nemesis::processes::order::processes_that_are_killed_delay_the_others_by_no_more_than_the_bound`,
//!   `leasehold_nemesis::processes::sqlite::killed_and_stopped_processes_exclude_each_other_and_no_lock_outlives_its_lease`
//! - A live holder keeps its lock, however long its work takes.
//!   `leasehold::conformance::behaviour::a_held_lock_is_renewed`,
//!   `leasehold_nemesis::short_lease::a_lease_of_300_ms_is_kept_for_ten_seconds`,
//!   `leasehold::virtual_time::a_short_lease_survives_an_hour_of_faults_that_leave_it_time`
//! - A failed renewal releases nothing, and is retried until the deadline.
//!   `leasehold::rules::rule_6_watchdog::a_failing_renewal_is_repeated_and_releases_nothing`,
//!   `leasehold::redlock::faults::a_failed_renewal_releases_nothing`
//! - A crashed waiter or a lost notification delays the other waiters by a bounded time.
//!   `leasehold_model::holds::lost_wake_ups`, `leasehold_model::holds::deaths_and_cancels`,
//!   `leasehold::redis::waiting::when_every_second_wake_up_is_lost_nobody_waits_longer_than_the_next_look`
//! - A planned failover of Sentinels, or a planned takeover in a Cluster, delays acquires by at most 3 s, whatever the
//!   TTL. The process repeats its recent releases as soon as it detects the new server. It repeats the releases of the
//!   last 30 s, and at most 4 096 for each [`Redis`](crate::backend::redis::Redis). The bound of 3 s does not hold in
//!   four cases. First, the URL names one server, and its address leads to another server after the failover. Second,
//!   the process has ended or its manager was shut down: the new server keeps the released locks until their TTL.
//!   Third, a replica was asked to take over before the masters were connected to it: see
//!   [`Redis`](crate::backend::redis::Redis#clusters). Fourth, the lock was released before its
//!   [`hold_at_least`](crate::Lock::hold_at_least) had passed: the new server may keep it until its TTL.
//!   `leasehold_model::holds::promotion`, `leasehold_model::weakened::releases_not_repeated`,
//!   `leasehold::sentinel::planned::two_waiters_with_a_long_ttl_are_served`,
//!   `leasehold::sentinel::planned::many_waiters_of_one_manager_are_served`,
//!   `leasehold::sentinel::planned::waiters_of_several_managers_are_served`,
//!   `leasehold::sentinel::planned::waiters_are_served_after_a_failover_there_and_back`,
//!   `leasehold::sentinel::planned::what_the_old_primary_alone_saw_released_is_free_on_the_new_one`,
//!   `leasehold::cluster::planned::waiters_are_served_after_a_takeover`,
//!   `leasehold::cluster::planned::waiters_of_several_managers_are_served_after_a_takeover`,
//!   `leasehold::cluster::planned::waiters_are_served_after_a_failover_to_a_replica_that_was_just_restarted`
//! - On Redis one round trip releases the lock and grants it to the next waiter. That waiter must be in the same
//!   process and wait for this lock alone. Waiters of other processes still get their turn, and a waiter whose reply is
//!   lost polls. `leasehold_model::holds::passing`, `leasehold_model::holds::two_processes`,
//!   `leasehold::redis::passing::a_waiter_of_the_same_process_need_not_ask`,
//!   `leasehold::redis::passing::what_was_passed_on_has_its_ttl_after_the_first_renewal`,
//!   `leasehold::redis::passing::waiters_of_other_processes_have_their_turn`,
//!   `leasehold::redis::passing::a_waiter_whose_news_is_lost_looks_soon`,
//!   `leasehold::redis::passing::a_release_that_is_dropped_has_its_waiter_look_at_once`
//! - If the queue is empty, a release request also contains the attempt of the next task in the same process. The
//!   result equals a release followed by an acquire, even if replies are lost or tasks are dropped.
//!   `leasehold_model::holds::parked`, `leasehold_model::holds::parked_two_processes`,
//!   `leasehold::redis::parked::the_release_of_one_is_the_attempt_of_the_next`,
//!   `leasehold::redis::parked::a_release_passes_on_what_it_holds_to_one_whose_request_is_wanted`,
//!   `leasehold::redis::parked::one_that_goes_while_it_is_passed_the_lock_leaves_nothing`,
//!   `leasehold::redis::parked::a_release_that_comes_after_the_next_has_cleaned_up_passes_nothing_on`,
//!   `leasehold::redis::parked::one_whose_news_is_lost_asks`
//! - Requests that are sent to Redis together are executed as if they were sent one by one, in order. No request is
//!   affected by another's error, by a lost reply, or by a blocked runtime. The exception is a server without free
//!   memory: it rejects a single attempt, but may execute an attempt that was sent together with a release.
//!   `leasehold_model::holds::batches`,
//!   `leasehold::redis::one_by_one::a_batch_does_what_its_requests_would_do_one_by_one`,
//!   `leasehold::redis::batches::those_who_ask_at_once_wait_in_the_order_in_which_they_asked`,
//!   `leasehold::redis::batches::what_the_server_refuses_is_told_to_whom_it_concerns`,
//!   `leasehold::redis::batches::a_batch_whose_answer_is_lost_leaves_nothing_behind`,
//!   `leasehold::redis::batches::a_batch_that_is_delivered_after_the_cleanups_takes_nothing`,
//!   `leasehold::redis::batches::a_batch_that_is_delivered_long_after_it_was_sent_takes_nothing`,
//!   `leasehold::redis::batches::a_runtime_that_stands_still_keeps_nobody_waiting`
//! - A crashed reader's lease, and a crashed holder's permits, expire after their own TTL, not after the longest TTL of
//!   all holders. `leasehold::conformance::kinds::each_share_ends_by_its_own_lease`,
//!   `leasehold::redis::sharing::a_reader_that_died_keeps_a_writer_waiting_for_its_own_lease_only`
//! - Every future may be dropped at any point: then no lock stays held, and no waiter stays in the queue.
//!   `leasehold::cancellation::nothing_is_left_wherever_an_operation_is_dropped`,
//!   `leasehold::redis::faults::acquires_that_are_dropped_at_any_point_under_any_fault_leave_nothing`,
//!   `leasehold::zookeeper::faults::a_future_that_is_dropped_at_any_await_leaves_no_node_and_waiters_go_on`
//! - On Redis a waiter whose process is not next in the queue polls at most 11 s after its last poll. A waiter that
//!   became the first of its process polls after one second. With [`Redlock`] jitter adds up to a quarter: 13.75 s and
//!   1.25 s. `leasehold::redis::waiting::who_is_second_of_its_process_is_there_when_all_before_it_die`,
//!   `leasehold::redis::waiting::when_every_second_wake_up_is_lost_nobody_waits_longer_than_the_next_look`,
//!   `leasehold::backend::redlock::wait::tests::the_first_looks_when_the_lock_should_be_free_and_the_others_keep_their_places`
//! - Waiters survive a restart of the server, and a guard survives an outage that is shorter than its lease.
//!   `leasehold::redis::outage::waiters_outlive_a_restart_of_the_server`,
//!   `leasehold::redis::outage::a_guard_outlives_an_outage_that_its_lease_outlives`
//! - A Redis server without free memory still releases locks and grants them to waiters.
//!   `leasehold::redis::trouble::a_full_server_still_releases_and_hands_on`
//! - Memory, connections and keys do not increase with the number of acquisitions, including cancelled acquisitions.
//!   `leasehold_nemesis::soak::memory_and_connections_stay_flat_over_cancelled_acquisitions_and_no_keys_are_left`
//!
//! # Fairness
//!
//! - Waiters of one key are served first come, first served across all processes: in process, on Redis and on
//!   `ZooKeeper`. On Redis there is one exception: a waiter that arrives within 10 ms after another task of its process
//!   acquired the lock. That waiter joins the queue after 10 ms, or when that holder has received the reply to its
//!   release. Waiters of other processes that arrive before then are served first. Later waiters of the same process
//!   are served after it. If the process stalls for 10 ms between their arrivals, their order may differ.
//!   `leasehold::conformance::contract::first_come_first_served`,
//!   `leasehold_nemesis::processes::order::of_20_000_grants_none_is_out_of_turn_whatever_the_clients_clocks_say`,
//!   `leasehold_model::holds::two_processes`, `leasehold::redis::parked::who_stands_in_line_is_served_before`,
//!   `leasehold::backend::redis::wait::local_queue::tests::a_late_waiter_is_parked_for_as_long_as_the_waiter_before_it`
//! - A waiting writer blocks new readers, and a waiter for many permits is not overtaken by waiters for few.
//!   `leasehold::redis::sharing::readers_who_overlap_never_starve_a_writer`,
//!   `leasehold::conformance::kinds::permits_are_served_in_turn`
//! - A waiter keeps its position over a broken connection, and over a restart of a server that keeps its data.
//!   `leasehold::redis::waiting::waiters_whose_connections_break_keep_their_places`,
//!   `leasehold::redis::waiting::a_restart_of_a_server_that_keeps_its_data_keeps_the_order`
//!
//! # Error reporting
//!
//! - Without a guard the body does not run: nothing runs while the backend is down, and an outage is never reported as
//!   busy. `leasehold::rules::rule_4_no_guard_no_body::no_body_runs_while_the_backend_is_down`,
//!   `leasehold::rules::rule_4_no_guard_no_body::an_outage_is_never_reported_as_busy`
//! - An error states whether the backend definitely did not apply the request, or may have applied it.
//!   `leasehold::rules::rule_8_say_which::surely_not_applied_and_unknown`
//! - Every call returns and no code panics, whatever a server replies.
//!   `leasehold::hostile::whatever_a_server_answers_every_call_ends_and_nothing_panics`,
//!   `leasehold::hostile::a_server_that_falls_silent_after_its_greeting_keeps_no_caller_for_ever`
//! - Neither a Redis server that sends endlessly nor a client that publishes endlessly blocks the runtime. Calls
//!   return, other tasks are polled, and the runtime can shut down.
//!   `leasehold::hostile::flood::a_call_ends_and_a_runtime_does_whatever_a_server_says_without_an_end`,
//!   `leasehold::hostile::flood::connecting_ends_whatever_a_server_says_without_an_end`,
//!   `leasehold::hostile::flood::a_client_that_publishes_to_our_inbox_without_a_pause_stalls_no_runtime`
//! - A call follows at most five redirections in a Cluster. If a member redirects to more and more servers, the number
//!   of connections stays bounded: the client closes connections to servers without a slot.
//!   `leasehold::hostile::moved::a_member_that_sends_everybody_on_without_an_end_is_not_followed_to_ever_more_connections`
//! - If a Redis reply exceeds the client's limit, the client closes the connection before it allocates memory for the
//!   reply. The error states the cause. The limit is 16 MiB for locks and 64 MiB for a
//!   [`RedisFenceStore`](crate::RedisFenceStore). No limit applies if the `redis` crate opens the connection: see
//!   [`connect_client`](crate::backend::redis::RedisBuilder::connect_client).
//!   `leasehold::hostile::reply_size::a_reply_that_is_too_large_ends_the_connection_and_takes_no_memory`,
//!   `leasehold::hostile::reply_size::a_fence_that_is_answered_too_much_says_so_and_takes_no_memory`,
//!   `leasehold::redis::pipeline::a_large_reply_is_read_and_one_that_is_too_large_is_told`,
//!   `leasehold::redis::tls::a_server_whom_the_system_trusts_is_used_and_a_reply_that_is_too_large_ends_the_connection`,
//!   `leasehold::redis::tls::with_certificates_of_ones_own_a_message_that_is_too_large_ends_the_connection`
//! - `release` reports success only if it released the lock. A holder that had lost the lock before receives
//!   `Error::Lost`. `leasehold::rules::rule_2_one_id_per_attempt::a_release_that_finds_another_holder_is_not_a_release`,
//!   `leasehold::conformance::behaviour::an_expired_guard_knows_it`
//!
//! # Permissions
//!
//! - A handed-over lock can be accepted only with its ticket, once, before its lease ends. Knowing the holder, the
//!   token and the key is not enough, and a manager with another prefix cannot accept it. A lock that was not handed
//!   over cannot be accepted at all. [`inspect`](crate::LockManager::inspect), events and spans show a holder as a
//!   short hash. `leasehold::conformance::kinds::a_handover_takes_its_secret`,
//!   `leasehold::handover::a_ticket_that_somebody_made_of_what_is_shown_takes_nothing`,
//!   `leasehold::handover::a_manager_with_another_prefix_takes_nothing_up`,
//!   `leasehold::attempt_id::tests::people_see_a_short_hash_that_is_the_same_everywhere_and_no_part_of_the_id`
//! - On Redis the permissions that [`Redis`](crate::backend::redis::Redis) and
//!   [`RedisFenceStore`](crate::RedisFenceStore) document suffice for every operation. With these permissions a client
//!   cannot stall or disconnect the server's other users, or list their keys, except by scripts that do not end.
//!   `leasehold::redis::rights::the_least_rights_are_enough_for_every_operation_and_each_is_needed`,
//!   `leasehold::redis::rights::with_the_least_rights_nothing_dangerous_can_be_done`,
//!   `leasehold::redis::rights::the_least_rights_of_a_fence_store_are_enough_and_harmless`,
//!   `leasehold::sentinel::rights::the_least_rights_are_enough_for_every_operation`,
//!   `leasehold::cluster::rights::the_least_rights_are_enough_for_every_operation`,
//!   `leasehold::redlock::rights::the_least_rights_of_one_server_are_enough_on_each_of_several`
//!
//! # Data loss
//!
//! For each deployment, this list states the assumptions for exclusion, and the effect if they do not hold:
//!
//! - **In process**: no data can be lost, and no other process is excluded.
//!   `leasehold::state_machine::every_history_keeps_the_promises`
//! - **One Redis server** that keeps its data (`appendfsync always`, `noeviction`) provides exclusion and the order of
//!   the queue. `leasehold::redis_state_machine::every_history_keeps_the_promises_on_a_real_server`
//! - A server that loses its data grants the lock to a second holder immediately. The first holder detects the loss
//!   with its next renewal. `leasehold::redis::outage::a_server_that_forgot_ends_the_guard_and_tokens_go_on_growing`
//! - Such a server also loses its queue. Waiters poll when a holder of their process has released. In other processes,
//!   and for other kinds of lock, waiters poll 11 s after their last poll.
//!   `leasehold::redis::outage::waiters_whose_places_were_flushed_are_served_once_the_first_of_them_notices`
//! - **Sentinel and Cluster** keep the data that a replica had before the primary crashed.
//!   `leasehold::sentinel::failover::a_replicated_lock_is_kept_and_its_waiters_go_on`,
//!   `leasehold::cluster::promotion::a_replicated_lock_is_kept_and_its_waiters_go_on`
//! - More than half of the Sentinels in the URL decide which server is the primary. A single Sentinel that reports a
//!   wrong server is outvoted, and the client sends no password to that server. If too many Sentinels do not respond,
//!   the others decide if they agree.
//!   `leasehold::sentinel::votes::one_that_lies_is_outvoted_whatever_its_epoch_and_is_sent_no_password`,
//!   `leasehold::sentinel::votes::while_the_votes_are_divided_nobody_is_connected_to`,
//!   `leasehold::sentinel::votes::the_only_one_that_answers_is_believed`,
//!   `leasehold::sentinel::votes::a_failover_is_followed_once_most_tell_of_it`
//! - A lock that no replica had is lost with the primary.
//!   `leasehold::sentinel::failover::a_lock_that_no_replica_had_is_lost_with_the_primary_and_its_holder_is_told`
//! - **[`synced`](crate::backend::redis::RedisBuilder::synced)** makes grants, renewals, handovers and downgrades valid
//!   only after the given number of replicas has acknowledged them. Redis chooses which replica is promoted.
//!   `leasehold::sentinel::synced::a_lock_that_no_replica_has_is_given_back_and_the_error_counts`,
//!   `leasehold::sentinel::synced::a_lease_whose_renewals_no_replica_has_ends_by_its_deadline`,
//!   `leasehold::sentinel::synced::what_a_lock_becomes_is_acknowledged_too`
//! - **[`Redlock`]** survives the failure of any minority. A node that lost its data in a restart has no vote until the
//!   lost leases have expired. `leasehold::redlock::faults::any_two_of_five_may_fail`,
//!   `leasehold_model::quorum_holds::quorum_empty_nodes`
//! - **[`Redlock`] counts no server twice**, even if several names lead to it from the start or later. Replicas and
//!   members of a Cluster have no vote.
//!   `leasehold::redlock::connecting::a_server_that_goes_by_two_names_is_refused_each_time`,
//!   `leasehold::redlock::connecting::a_name_that_leads_to_another_nodes_server_later_has_no_vote`,
//!   `leasehold::redlock::connecting::members_of_a_cluster_and_replicas_are_no_nodes`
//! - **`ZooKeeper`** survives the failure of a minority. A client does not conclude from a follower's data that a lock
//!   is free. A holder whose server is disconnected from the leader loses its lock before the next holder acquires it.
//!   After a change of leader, expired sessions still exist for a while. A queue position of such a session does not
//!   grant the lock to the client's next session.
//!   `leasehold::zookeeper::ensemble::nobody_is_let_in_by_a_follower_that_is_cut_off_though_it_shows_that_the_holder_has_left`,
//!   `leasehold::zookeeper::ensemble::a_holder_at_a_follower_that_is_cut_off_is_lost_before_the_next_is_let_in`,
//!   `leasehold::zookeeper::attempts::a_place_of_a_session_before_is_not_taken_for_ones_own`
//!
//! - **A SQL database** that loses no commits provides exclusion and the order of the queue. In a `SQLite` file, which
//!   the processes of one machine share without a server, this holds although processes are killed or stopped at any
//!   time, also in the middle of a write.
//!   `leasehold_nemesis::processes::sqlite::killed_and_stopped_processes_exclude_each_other_and_no_lock_outlives_its_lease`
//!
//! # What does not hold
//!
//! - A lock alone does not protect data, as explained above. Two guards can be valid when a primary crashes, or when a
//!   primary still serves requests for a moment after its planned replacement. The same applies if a server's clock is
//!   set forward, or if a server loses its data.
//!   `leasehold::sentinel::hole::without_acknowledgements_two_hold_the_lock_and_the_fence_refuses_the_older`,
//!   `leasehold::sentinel::hole::a_planned_failover_lets_two_in_and_the_fence_refuses_the_older`,
//!   `leasehold::redis::clock::a_server_whose_clock_is_set_forward_lets_two_in_and_the_fence_refuses_the_older`,
//!   `leasehold::redis::clock::who_held_a_lock_that_the_servers_clock_ended_is_told_by_its_next_renewal`,
//!   `leasehold::redlock::memory::a_clock_that_jumps_lets_two_in_and_the_fence_refuses_the_older`
//! - On `ZooKeeper`, if a manager has more waiters than it can watch, a broken connection still loses no lock. But
//!   waiters without a watch poll every two seconds instead of being notified.
//!   `leasehold::zookeeper::attempts::a_crowd_of_waiters_survives_a_cut`
//! - A single fenced statement does not protect a holder that reads first: until that holder writes, the previous
//!   holder may still write. To protect such a holder, claim the fence first.
//!   `leasehold_sqlx::races::postgres::on_postgres_a_fence_loses_nothing`
//! - [`Redlock`] does not guarantee an order, and supports only exclusive locks.
//!   `leasehold::redlock::election::what_cannot_be_is_refused_before_anything_is_sent`
//! - Programs that poll with `SET NX` rarely acquire a lock for which other attempts queue.
//!   `leasehold::redis::foreign::they_get_no_turn_between_a_release_and_our_waiter`
//! - A waiter that is not polled loses its position. During a hand-off the waiter loses its position after 2 s, even if
//!   the hand-off is inside its process. `leasehold::conformance::contract::a_silent_waiter_is_passed_over`,
//!   `leasehold::redis::passing::who_is_not_polled_keeps_what_was_passed_on_for_two_seconds_and_comes_later`,
//!   `leasehold::zookeeper::attempts::an_attempt_that_is_not_polled_ends_and_costs_the_other_locks_nothing`,
//!   `leasehold::redis::passing::what_was_leaked_with_its_runtime_is_passed_nothing`
//! - With [`synced`](crate::backend::redis::RedisBuilder::synced) and too few replicas, no acquire succeeds. A waiter
//!   may find the lock held by another attempt, whose grant is then revoked. Such a waiter times out, as if the lock
//!   were busy. `leasehold::sentinel::synced::without_a_replica_some_time_out_and_others_are_told_why`
//! - A dropped guard releases in the background. If its runtime ends before the release is confirmed, the manager sends
//!   the release from another runtime. The manager does so immediately if it has a waiter or a holder there, and
//!   otherwise when it is used again. Without another runtime, the lease expires.
//!   `leasehold::rules::rule_7_drop_cannot_await::what_an_ended_runtime_left_behind_is_seen_to_by_the_next_acquire`,
//!   `leasehold::rules::rule_7_drop_cannot_await::a_guard_dropped_in_a_runtime_that_ends_is_released_by_that_which_took_it`,
//!   `leasehold::redis::ended::waiters_that_ended_with_their_runtime_do_not_delay_those_of_another`,
//!   `leasehold::rules::rule_7_drop_cannot_await::a_guard_that_outlives_its_runtime_lets_the_lease_run_out`
//! - An operator's [`force_release`](crate::LockManager::force_release) ends a held lock. The holder detects this with
//!   its next renewal. `leasehold::conformance::behaviour::a_forced_release_is_noticed`
//!
//! The documentation of `dev/model` in the repository lists the model-checked properties. The models are small: two or
//! three attempts on one lock, up to five nodes. Readers, permits, downgrades and handovers are tested with random
//! histories on real servers instead.
//!
//! # Prior work
//!
//! - M. Kleppmann, [How to do distributed
//!   locking](https://martin.kleppmann.com/2016/02/08/how-to-do-distributed-locking.html) (2016): describes a paused
//!   client, and tokens that reject its write.
//!   `leasehold_nemesis::processes::pause::a_holder_that_slept_past_its_lease_knows_so_before_it_hears_from_anybody`,
//!   `leasehold_sqlx::paused::on_postgres`
//! - Jepsen, [etcd 3.4.3](https://jepsen.io/analyses/etcd-3.4.3) (2020), on locks of a store that is linearizable:
//!   "fundamentally unsafe", since they "can not guarantee mutual exclusion in asynchronous networks". `leasehold::zookeeper::ensemble::when_the_leader_is_killed_a_lock_is_held_or_lost_and_never_both`,
//!   `leasehold_sqlx::paused::on_postgres_with_tokens_from_zookeeper`
//! - Jepsen, [Hazelcast 3.8.3](https://jepsen.io/analyses/hazelcast-3-8-3) (2017): locks are not exclusive in a split
//!   cluster. `leasehold::sentinel::split::an_old_primary_that_returns_has_nobody_write_out_of_order`
//!
//! [`Redlock`]: crate::backend::redlock::Redlock

pub mod elections;
#[cfg(feature = "once")]
#[cfg_attr(docsrs, doc(cfg(feature = "once")))]
pub mod once;
pub mod roll_outs;
