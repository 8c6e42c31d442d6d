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
//! - Two guards of one key are never both valid. `leasehold_test::conformance::behaviour::contending_tasks_never_hold_the_lock_together`,
//!   `leasehold_model::it::claims::late_duplicates`, `leasehold_model::it::claims::three_attempts`,
//!   `leasehold_simulation::it::seeds::each_seed_satisfies_all_claims`,
//!   `leasehold_nemesis::soak::soak_with_cancelled_acquires_leaks_no_memory_connections_or_keys`
//! - A guard's deadline counts from when the accepted request was sent: a slow network makes leases shorter, never
//!   longer. `leasehold_core::it::rules::rule_3_deadline_from_sending::the_lease_counts_from_the_request_that_was_answered`,
//!   `leasehold_core::it::rules::rule_3_deadline_from_sending::a_slow_grant_does_not_lengthen_the_lease`,
//!   `leasehold_model::it::weakened::reply_to_any_duplicate`
//! - A guard is invalid past its deadline, even if the backend reports otherwise or cannot be reached. A margin puts
//!   that deadline before the end of the lease on the server.
//!   `leasehold_core::it::rules::rule_3_deadline_from_sending::past_its_deadline_a_guard_is_lost_whatever_the_backend_reports`,
//!   `leasehold_core::engine::lease::tests::a_lease_ends_before_the_server_ends_it`, `leasehold_model::it::weakened::no_clock_margin`,
//!   `leasehold_nemesis::it::processes::pause::paused_holder_detects_its_expired_lease_without_a_server_reply`
//! - A suspended machine does not keep its lease. `leasehold_core::engine::lease::tests::a_suspended_machine_does_not_keep_its_lease`,
//!   `leasehold_core::clock::tests::suspended_time_counts_although_timers_did_not_advance`
//! - [`run`](crate::LockGuard::run) drops its body at the deadline, and does not poll it again.
//!   `leasehold_core::it::rules::rule_5_loss_is_reported::after_a_pause_past_the_deadline_the_body_is_not_polled_again`,
//!   `leasehold_core::it::rules::rule_5_loss_is_reported::a_body_is_dropped_at_the_deadline`
//! - A request that arrives after its acquire has ended does not acquire the lock.
//!   `leasehold_redis::it::single::faults::a_request_delivered_after_the_cleanup_acquires_nothing`,
//!   `leasehold_redis::it::redlock::faults::a_request_delivered_after_the_cleanup_acquires_nothing`,
//!   `leasehold_model::it::weakened::no_tombstone`,
//!   `leasehold_zookeeper::it::faults::attempts_dropped_without_a_session_leave_no_nodes`
//! - A lost guard stays lost: its lease is never renewed after the lock could have been granted to another holder.
//!   `leasehold_core::engine::lease::tests::an_ended_lease_stays_ended_with_its_first_reason`,
//!   `leasehold_model::it::weakened::renewal_by_owner`
//! - Readers never hold a lock alongside a writer, and the number of held permits never exceeds the limit.
//!   `leasehold_test::conformance::sharing::readers_and_a_writer_never_hold_the_lock_together`,
//!   `leasehold_test::conformance::sharing::contending_tasks_never_hold_more_permits_than_the_limit`,
//!   `leasehold_nemesis::it::processes::semaphore::killed_holders_lose_their_permits_and_the_limit_is_never_exceeded`
//! - A lock set holds all of its keys or none, and acquiring it never deadlocks.
//!   `leasehold_core::it::lock_set_histories::histories_hold_all_or_nothing`,
//!   `leasehold_core::it::lock_set::concurrent_sets_never_deadlock`
//! - `connect` of `SqlBackend` refuses what would give two processes different locks: a second table in another schema of
//!   Postgres, a second name of a `SQLite` file, a pool that commits nothing. `leasehold_sql::it::connect::tables::on_postgres_a_second_lock_table_in_another_schema_is_refused_with_the_remedy`,
//!   `leasehold_sql::it::connect::sqlite::a_file_with_a_hard_link_is_refused_under_both_names_with_the_remedy`, `leasehold_sql::it::connect::settings::on_mariadb_locks_are_committed_whatever_the_defaults_of_the_session_are`
//! - Different values result in different keys. This applies to values that a template of `#[distributed_lock]`
//!   separates with `:`, and to the path keys of `leasehold-tower`.
//!   `leasehold_core::key::tests::no_two_pairs_of_values_share_a_key`, `leasehold_ui::it::compiles::keys::each_form_of_key_compiles_and_runs`,
//!   `leasehold_tower::it::keys::different_pairs_of_parameters_use_different_locks`
//! - A lock with [`hold_at_least`](crate::Lock::hold_at_least) is taken for that time, despite releases and crashes.
//!   `leasehold_test::conformance::hold_at_least::a_released_lock_stays_taken`,
//!   `leasehold_test::conformance::hold_at_least::the_lock_of_a_crashed_holder_stays_taken`
//! - On Redis, locks of this crate and locks that other programs acquire with `SET key id NX PX ttl` exclude each
//!   other. `leasehold_redis::it::single::other_programs::a_lock_of_this_crate_excludes_other_programs`,
//!   `leasehold_redis::it::single::other_programs::a_lock_of_another_program_excludes_us_and_we_wait_for_it`, `leasehold_model::it::claims::foreign_lockers`
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
//!   duplicates. `leasehold_model::it::claims::early_expiry`, `leasehold_model::it::claims::early_expiry_three`,
//!   `leasehold_model::it::quorum_claims::three_rounds_fenced`, `leasehold_model::it::quorum_claims::five_nodes`,
//!   `leasehold_nemesis::it::processes::tokens::tokens_increase_over_the_acquisitions_of_two_processes`,
//!   `leasehold_redis::it::redlock::data_loss::tokens_increase_despite_clock_jumps`
//! - **T2.** After a [`Redlock`] node lost its memory, tokens stay monotonic if the node has no vote for longer than
//!   ε + S. A node that may restart with an older state must also have no vote for the longest TTL. The client reads a
//!   node's uptime to enforce this. `leasehold_model::it::quorum_claims::quorum_restarts`,
//!   `leasehold_model::it::quorum_claims::quorum_old_state`,
//!   `leasehold_redis::it::redlock::data_loss::a_restarted_node_has_no_vote_until_the_locks_it_lost_have_expired`
//! - **T3.** In two cases tokens are not always monotonic: in a split brain, and if a server grants locks immediately
//!   after losing its memory. In these cases, tokens increase between acquisitions that are more than ε + S apart.
//!   Tokens of closer acquisitions may be equal or inverted. Each token is at least the server's time of day.
//!   `leasehold_redis::it::single::outage::a_server_that_lost_its_data_ends_the_guard_and_tokens_still_increase`,
//!   `leasehold_redis::it::sentinel::split_brain::a_returning_old_primary_causes_no_writes_out_of_order`,
//!   `leasehold_model::it::weakened::no_time_floor`
//! - **T4.** On one server with failover, tokens increase if the new primary's first grant is late enough. It must be
//!   more than ε later than any grant that the new primary does not know. With synchronized clocks, a failover takes
//!   longer than ε. `leasehold_model::it::quorum_claims::one_server`,
//!   `leasehold_redis::it::sentinel::tokens::tokens_increase_over_failovers_that_lose_the_counter`
//! - **T5.** The server forgets the last token of a key two days after its last use. It may do so up to 17 minutes
//!   earlier, or earlier by as much as its clock was set back. The clocks of servers are assumed to differ by less than
//!   two days. `fence_ttl` of the backend's builder sets another time and documents its cost. The record of a semaphore
//!   ends a minute after its last lease, because a permit does not have a fencing token.
//!   `leasehold_redis::it::single::fence_ttl::every_request_keeps_the_last_token_for_the_fence_ttl`,
//!   `leasehold_redis::it::single::fence_ttl::batches_and_readers_keep_the_last_token_for_the_fence_ttl`,
//!   `leasehold_redis::it::single::fence_ttl::a_key_in_use_keeps_its_last_token`,
//!   `leasehold_redis::it::single::fence_ttl::the_data_of_a_semaphore_expires_a_minute_after_its_last_lease`,
//!   `leasehold_redis::it::redlock::fence_ttl::nodes_keep_the_last_token_for_the_fence_ttl`,
//!   `leasehold_model::it::quorum_claims::quorum_idle`,
//!   `leasehold_redis::it::single::auxiliary_keys::a_released_lock_leaves_its_counter_and_the_counter_has_a_ttl`,
//!   `leasehold_redis::it::single::tokens::a_token_counter_in_use_has_a_ttl_of_about_two_days`
//! - In process, tokens also increase across restarts of the process, unless its clock was set back.
//!   `leasehold_core::backend::memory::fencing_tokens::tests::tokens_follow_the_clock_and_increase_when_it_does_not`
//! - On `ZooKeeper`, tokens are transaction numbers of the ensemble, which never decrease.
//!   `leasehold_test::conformance::contract::each_token_is_larger_than_all_earlier_ones`,
//!   `leasehold_zookeeper::it::ensemble::when_the_leader_is_killed_a_lock_is_held_or_lost_and_never_both`
//! - Readers that hold a lock together have the same token. That token is larger than all earlier writers' tokens and
//!   smaller than all later writers' tokens. A reader that was the writer keeps its own token.
//!   `leasehold_test::conformance::kinds::concurrent_readers_have_the_same_token`,
//!   `leasehold_test::conformance::kinds::a_reader_that_polls_late_has_the_token_of_the_other_readers`
//! - A holder that accepted a handed-over lock has a larger token than the previous holder.
//!   `leasehold_test::conformance::kinds::a_handover_is_accepted_only_once`,
//!   `leasehold_nemesis::it::processes::handover::handed_over_lock_survives_the_exit_of_its_process`
//!
//! # Fenced writes
//!
//! Fenced writes depend only on monotonic tokens, not on exclusion, clocks or the network.
//!
//! - A [`FenceStore`](crate::FenceStore) admits no token after a larger token.
//!   `leasehold_core::it::fence::the_largest_of_concurrent_tokens_is_kept`,
//!   `leasehold_redis::it::single::fence::the_newest_token_is_admitted_again_and_older_ones_refused_exactly`,
//!   `leasehold_redis::it::single::fence::a_server_that_accepts_no_writes_admits_no_token`
//! - The token of a lock that guards a request, as under an `IdempotencyLayer`, fences no write. `leasehold_tower::it::idempotency::transactions::deposits_without_a_lock_of_the_account_are_refused_before_they_are_sent`,
//!   `leasehold_tower::it::idempotency::transactions::no_deposit_is_lost_with_a_lock_of_the_account_inside_or_outside_of_the_idempotency_layer`
//! - If all holders use `Fence::begin` of `leasehold-sqlx`, a paused holder that reads and writes does not lose another
//!   holder's update. `begin` claims the fence first, and the fence's row stays locked until the commit.
//!   `leasehold_sqlx::it::races::postgres::on_postgres_racing_fenced_writes_lose_no_update`,
//!   `leasehold_sqlx::it::races::mariadb::on_mariadb_racing_fenced_writes_lose_no_update`,
//!   `leasehold_sqlx::it::races::sqlite::on_sqlite_racing_fenced_writes_lose_no_update`, `leasehold_sqlx::it::paused::on_postgres_late_write_of_a_paused_holder_is_refused`
//! - A [`FencedPipeline`](crate::FencedPipeline) executes nothing after a larger token was admitted, and no other
//!   client's command runs between its own. `leasehold_redis::it::single::pipeline::a_pipeline_with_a_stale_token_executes_nothing`,
//!   `leasehold_redis::it::single::pipeline::of_concurrent_pipelines_no_older_write_follows_a_newer_one`
//! - A `Fence::begin` that is dropped at any point leaves no open transaction (under tokio).
//!   `leasehold_sqlx::it::fence::dropped::on_postgres_write_after_a_dropped_begin_is_committed`,
//!   `leasehold_sqlx::it::fence::dropped::on_mariadb_write_after_a_dropped_begin_is_committed`
//! - Writes under a fence are linearizable on each deployment, despite faults of locks, clients, servers, links and
//!   clocks. Under the same faults, writes without a fence are lost. The same holds for writes through a `FencedPool` of
//!   `leasehold-sqlx`, by code that uses no token.
//!   `leasehold_nemesis::it::matrix::fenced_writes_lose_nothing_on_each_deployment_with_each_fault`
//! - A `LockedTransaction` under a lock in the same database commits only if no other client has acquired the lock. A
//!   transaction whose lock was lost writes nothing, and the next holder sees all writes of a committed transaction.
//!   `leasehold_sqlx::it::locked::history::on_postgres::locked_transactions_lose_no_update_and_plain_ones_lose_some`,
//!   `leasehold_sqlx::it::locked::history::on_mariadb::locked_transactions_lose_no_update_and_plain_ones_lose_some`,
//!   `leasehold_sqlx::it::locked::history::on_sqlite::locked_transactions_lose_no_update_and_plain_ones_lose_some`,
//!   `leasehold_sqlx::it::locked::deferred::the_next_holder_waits_for_deferred_triggers_and_sees_their_writes`
//! - A single fenced statement changes no row that a later holder has written. `leasehold_sqlx::it::fence::rows::on_postgres_written_rows_are_counted_and_stale_rows_reported`,
//!   `leasehold_sqlx::it::fence::rows::on_mariadb_written_rows_are_counted_and_stale_rows_reported`, `leasehold_sqlx::it::fence::rows::on_sqlite_written_rows_are_counted_and_stale_rows_reported`
//! - `Fence::begin` and a single fenced statement do not see each other. If `Fence::query` writes a row anywhere, use
//!   it for that row within `Fence::begin` too. An `INSERT` in such a transaction must set the fence column to the
//!   token. Then neither `Fence::begin` nor a single statement overwrites a later holder's write. `Fence::begin` alone
//!   protects only against other `begin` transactions.
//!   `leasehold_sqlx::it::fence::queries_inside_begin::on_postgres_queries_inside_and_outside_of_begin_refuse_older_tokens`,
//!   `leasehold_sqlx::it::fence::queries_inside_begin::on_mariadb_queries_inside_and_outside_of_begin_refuse_older_tokens`,
//!   `leasehold_sqlx::it::fence::queries_inside_begin::on_sqlite_queries_inside_and_outside_of_begin_refuse_older_tokens`
//! - `FenceLayer` of `leasehold-tower` rejects every request that follows a request with a larger token. If its store
//!   fails, it rejects all requests.
//!   `leasehold_tower::it::fencing::admitted_request_ends_before_the_next_and_an_older_token_is_refused`,
//!   `leasehold_tower::it::fencing::failed_fence_store_refuses_the_request`
//! - If exclusion fails and two guards are valid, the older holder's write is rejected. The tests cause such failures
//!   in all known ways.
//!   `leasehold_redis::it::sentinel::unreplicated_locks::without_acknowledgements_two_hold_the_lock_and_the_fence_refuses_the_older`,
//!   `leasehold_redis::it::redlock::data_loss::a_clock_jump_permits_two_holders_and_the_fence_refuses_the_older`,
//!   `leasehold_redis::it::redlock::data_loss::a_falsely_durable_node_permits_two_holders_and_the_fence_refuses_one`
//!
//! # Liveness
//!
//! Liveness assumes that the backend responds, and that the tasks of waiters are polled.
//!
//! - A lock is free, or granted to its first waiter, at most one TTL after its holder stopped renewing.
//!   `leasehold_test::conformance::contract::a_lease_expires_after_its_ttl`, `leasehold_model::it::claims::deaths`,
//!   `leasehold_nemesis::it::processes::order::killed_processes_delay_others_by_at_most_the_documented_bound`,
//!   `leasehold_nemesis::it::processes::sqlite::killed_and_stopped_processes_exclude_each_other_and_no_lock_outlives_its_lease`
//! - A live holder keeps its lock, however long its work takes.
//!   `leasehold_test::conformance::behaviour::a_held_lock_is_renewed`,
//!   `leasehold_nemesis::it::short_lease::lease_of_300_ms_is_renewed_for_ten_seconds`,
//!   `leasehold_core::it::virtual_time::a_short_lease_survives_an_hour_of_two_failures_per_renewal`
//! - A failed renewal releases nothing, and is retried until the deadline.
//!   `leasehold_core::it::rules::rule_6_watchdog::a_failing_renewal_is_retried_and_does_not_release_the_lock`,
//!   `leasehold_redis::it::redlock::faults::a_failed_renewal_does_not_release_the_lock`
//! - A crashed waiter or a lost notification delays the other waiters by a bounded time.
//!   `leasehold_model::it::claims::lost_notifications`, `leasehold_model::it::claims::deaths_and_cancels`,
//!   `leasehold_redis::it::single::waiting::a_waiter_whose_notification_is_lost_acquires_at_its_next_poll`
//! - A planned failover of Sentinels, or a planned takeover in a Cluster, delays acquires by at most 3 s, whatever the
//!   TTL. The process repeats its recent releases as soon as it detects the new server. It repeats the releases of the
//!   last 30 s, and at most 4 096 for each [`Redis`](crate::backend::redis::Redis). The bound of 3 s does not hold in
//!   four cases. First, the URL names one server, and its address leads to another server after the failover. Second,
//!   the process has ended or its manager was shut down: the new server keeps the released locks until their TTL.
//!   Third, a replica was asked to take over before the masters were connected to it: see
//!   [`Redis`](crate::backend::redis::Redis#clusters). Fourth, the lock was released before its
//!   [`hold_at_least`](crate::Lock::hold_at_least) had passed: the new server may keep it until its TTL.
//!   `leasehold_model::it::claims::promotion`, `leasehold_model::it::weakened::releases_not_repeated`,
//!   `leasehold_redis::it::sentinel::planned::two_waiters_with_a_long_ttl_are_served_after_a_failover`,
//!   `leasehold_redis::it::sentinel::planned::many_waiters_of_one_manager_are_served_after_a_failover`,
//!   `leasehold_redis::it::sentinel::planned::waiters_of_several_managers_are_served_after_a_failover`,
//!   `leasehold_redis::it::sentinel::planned::waiters_are_served_after_a_failover_and_a_failback`,
//!   `leasehold_redis::it::sentinel::planned::a_lock_whose_release_only_the_old_primary_received_becomes_free`,
//!   `leasehold_redis::it::cluster::planned::waiters_are_served_after_a_takeover`,
//!   `leasehold_redis::it::cluster::planned::waiters_of_several_managers_are_served_after_a_takeover`,
//!   `leasehold_redis::it::cluster::planned::waiters_are_served_after_a_failover_to_a_replica_that_was_just_restarted`
//! - On Redis one round trip releases the lock and grants it to the next waiter. That waiter must be in the same
//!   process and wait for this lock alone. Waiters of other processes still get their turn, and a waiter whose reply is
//!   lost polls. `leasehold_model::it::claims::hand_off`, `leasehold_model::it::claims::two_processes`,
//!   `leasehold_redis::it::single::handoff::a_waiter_of_the_same_process_acquires_without_a_request`,
//!   `leasehold_redis::it::single::handoff::a_handed_off_lock_has_its_ttl_after_the_first_renewal`,
//!   `leasehold_redis::it::single::handoff::waiters_of_all_processes_are_served_in_queue_order`,
//!   `leasehold_redis::it::single::handoff::a_waiter_whose_grant_reply_is_lost_polls_soon`,
//!   `leasehold_redis::it::single::handoff::a_dropped_release_makes_the_next_waiter_poll_immediately`
//! - If the queue is empty, a release request also contains the attempt of the next task in the same process. The
//!   result equals a release followed by an acquire, even if replies are lost or tasks are dropped.
//!   `leasehold_model::it::claims::parked`, `leasehold_model::it::claims::parked_two_processes`,
//!   `leasehold_redis::it::single::parked::a_release_also_acquires_for_the_next_parked_waiter`,
//!   `leasehold_redis::it::single::parked::a_release_hands_off_only_to_a_parked_waiter_with_a_valid_request`,
//!   `leasehold_redis::it::single::parked::a_waiter_dropped_during_its_hand_off_leaves_the_lock_free`,
//!   `leasehold_redis::it::single::parked::a_release_delivered_after_the_waiters_cleanup_hands_off_nothing`,
//!   `leasehold_redis::it::single::parked::a_parked_waiter_whose_grant_reply_is_lost_sends_a_request`
//! - Requests that are sent to Redis together are executed as if they were sent one by one, in order. No request is
//!   affected by another's error, by a lost reply, or by a blocked runtime. The exception is a server without free
//!   memory: it rejects a single attempt, but may execute an attempt that was sent together with a release.
//!   `leasehold_model::it::claims::batches`,
//!   `leasehold_redis::it::single::batch_equivalence::a_batch_has_the_same_effect_as_its_requests_one_by_one`,
//!   `leasehold_redis::it::single::batches::concurrent_acquires_are_served_in_the_order_of_their_requests`,
//!   `leasehold_redis::it::single::batches::a_refused_request_in_a_batch_fails_only_its_own_caller`,
//!   `leasehold_redis::it::single::batches::a_batch_whose_reply_is_lost_leaves_no_lock_held`,
//!   `leasehold_redis::it::single::batches::a_batch_delivered_after_the_cleanups_acquires_nothing`,
//!   `leasehold_redis::it::single::batches::a_batch_delivered_long_after_it_was_sent_acquires_nothing`,
//!   `leasehold_redis::it::single::batches::a_stalled_runtime_does_not_delay_requests_of_other_runtimes`
//! - A crashed reader's lease, and a crashed holder's permits, expire after their own TTL, not after the longest TTL of
//!   all holders. `leasehold_test::conformance::kinds::each_shared_holder_expires_after_its_own_ttl`,
//!   `leasehold_redis::it::single::sharing::a_crashed_reader_blocks_a_writer_only_for_its_own_lease`
//! - Every future may be dropped at any point: then no lock stays held, and no waiter stays in the queue.
//!   `leasehold_core::it::cancellation::an_operation_dropped_at_any_await_point_leaves_the_lock_free`,
//!   `leasehold_redis::it::single::faults::acquires_dropped_at_random_under_network_faults_leave_no_locks`,
//!   `leasehold_zookeeper::it::faults::an_acquire_dropped_at_any_await_leaves_no_node_and_waiters_continue`
//! - On Redis a waiter whose process is not next in the queue polls at most 11 s after its last poll. A waiter that
//!   became the first of its process polls after one second. With [`Redlock`] jitter adds up to a quarter: 13.75 s and
//!   1.25 s. `leasehold_redis::it::single::waiting::a_waiter_acquires_soon_after_all_before_it_have_crashed`,
//!   `leasehold_redis::it::single::waiting::a_waiter_whose_notification_is_lost_acquires_at_its_next_poll`,
//!   `leasehold_redis::redlock::wait_for_next_round::tests::the_first_waiter_polls_at_the_lease_end_and_others_only_refresh`
//! - Waiters survive a restart of the server, and a guard survives an outage that is shorter than its lease.
//!   `leasehold_redis::it::single::outage::waiters_outlive_a_restart_of_the_server`,
//!   `leasehold_redis::it::single::outage::a_guard_survives_an_outage_shorter_than_its_lease`
//! - A Redis server without free memory still releases locks and grants them to waiters.
//!   `leasehold_redis::it::single::server_errors::a_full_server_still_releases_and_hands_off`
//! - Memory, connections and keys do not increase with the number of acquisitions, including cancelled acquisitions.
//!   `leasehold_nemesis::soak::soak_with_cancelled_acquires_leaks_no_memory_connections_or_keys`
//!
//! # Fairness
//!
//! - Waiters of one key are served first come, first served across all processes: in process, on Redis and on
//!   `ZooKeeper`. On Redis there is one exception: a waiter that arrives within 10 ms after another task of its process
//!   acquired the lock. That waiter joins the queue after 10 ms, or when that holder has received the reply to its
//!   release. Waiters of other processes that arrive before then are served first. Later waiters of the same process
//!   are served after it. If the process stalls for 10 ms between their arrivals, their order may differ.
//!   `leasehold_test::conformance::contract::waiters_acquire_in_the_order_of_the_queue`,
//!   `leasehold_nemesis::it::processes::order::grants_keep_the_queue_order_despite_wrong_client_clocks`,
//!   `leasehold_model::it::claims::two_processes`, `leasehold_redis::it::single::parked::a_queued_waiter_of_another_process_is_served_before_a_parked_one`,
//!   `leasehold_redis::wait::local_queue::tests::a_late_waiter_is_parked_for_as_long_as_the_waiter_before_it`
//! - A waiting writer blocks new readers, and a waiter for many permits is not overtaken by waiters for few.
//!   `leasehold_redis::it::single::sharing::overlapping_readers_never_starve_a_writer`,
//!   `leasehold_test::conformance::kinds::waiters_for_few_permits_do_not_overtake_one_for_many`
//! - A waiter keeps its position over a broken connection, and over a restart of a server that keeps its data.
//!   `leasehold_redis::it::single::waiting::waiters_whose_connections_break_keep_their_positions`,
//!   `leasehold_redis::it::single::waiting::waiters_keep_their_order_over_a_restart_that_keeps_the_data`
//!
//! # Error reporting
//!
//! - Without a guard the body does not run: nothing runs while the backend is down, and an outage is never reported as
//!   busy. `leasehold_core::it::rules::rule_4_no_body_without_guard::no_body_runs_while_the_backend_is_down`,
//!   `leasehold_core::it::rules::rule_4_no_body_without_guard::an_outage_is_never_reported_as_busy`
//! - An error states whether the backend definitely did not apply the request, or may have applied it.
//!   `leasehold_core::it::rules::rule_8_distinct_errors::a_backend_error_says_whether_the_request_was_applied`
//! - Every call returns and no code panics, whatever a server replies.
//!   `leasehold_redis::hostile::random_replies_never_cause_a_hang_a_panic_or_unbounded_memory`,
//!   `leasehold_redis::hostile::connecting_to_a_server_that_stops_responding_times_out`
//! - Neither a Redis server that sends endlessly nor a client that publishes endlessly blocks the runtime. Calls
//!   return, other tasks are polled, and the runtime can shut down.
//!   `leasehold_redis::hostile::flood::endless_data_from_a_server_blocks_neither_a_call_nor_its_runtime`,
//!   `leasehold_redis::hostile::flood::connecting_to_a_server_that_sends_endless_data_returns_an_error`,
//!   `leasehold_redis::hostile::flood::a_flood_of_published_messages_does_not_stall_the_runtime`
//! - A call follows at most five redirections in a Cluster. If a member redirects to more and more servers, the number
//!   of connections stays bounded: the client closes connections to servers without a slot.
//!   `leasehold_redis::hostile::redirections::endless_redirections_do_not_leave_many_connections_open`
//! - If a Redis reply exceeds the client's limit, the client closes the connection before it allocates memory for the
//!   reply. The error states the cause. The limit is 16 MiB for locks and 64 MiB for a
//!   [`RedisFenceStore`](crate::RedisFenceStore). No limit applies if the `redis` crate opens the connection: see
//!   [`connect_client`](crate::backend::redis::RedisBuilder::connect_client).
//!   `leasehold_redis::hostile::reply_size::a_reply_that_is_too_large_ends_the_connection_and_takes_no_memory`,
//!   `leasehold_redis::hostile::reply_size::a_too_large_reply_to_a_fence_store_is_an_error_and_takes_no_memory`,
//!   `leasehold_redis::it::single::pipeline::a_large_reply_is_read_and_a_too_large_one_is_an_error`,
//!   `leasehold_redis::it::single::tls::a_system_trusted_server_is_used_and_a_too_large_reply_is_refused`,
//!   `leasehold_redis::it::single::tls::a_too_large_message_over_mutual_tls_ends_the_connection`
//! - `release` reports success only if it released the lock. A holder that had lost the lock before receives
//!   `Error::Lost`. `leasehold_core::it::rules::rule_2_one_id_per_attempt::a_release_that_finds_another_holder_returns_lost`,
//!   `leasehold_test::conformance::behaviour::an_expired_guard_reports_its_loss`
//!
//! # Permissions
//!
//! - A handed-over lock can be accepted only with its ticket, once, before its lease ends. Knowing the holder, the
//!   token and the key is not enough, and a manager with another prefix cannot accept it. A lock that was not handed
//!   over cannot be accepted at all. [`inspect`](crate::LockManager::inspect), events and spans show a holder as a
//!   short hash. `leasehold_test::conformance::kinds::a_handover_without_its_valid_secret_is_refused`,
//!   `leasehold_core::it::handover::a_forged_ticket_made_from_inspection_data_is_refused`,
//!   `leasehold_core::it::handover::a_manager_with_another_prefix_cannot_accept_a_ticket`,
//!   `leasehold_core::attempt_id::tests::an_attempt_id_displays_as_a_stable_short_hash_and_not_as_the_id`
//! - On Redis the permissions that [`Redis`](crate::backend::redis::Redis) and
//!   [`RedisFenceStore`](crate::RedisFenceStore) document suffice for every operation. With these permissions a client
//!   cannot stall or disconnect the server's other users, or list their keys, except by scripts that do not end.
//!   `leasehold_redis::it::single::privileges::the_documented_privileges_are_enough_and_each_is_needed`,
//!   `leasehold_redis::it::single::privileges::the_documented_privileges_allow_no_dangerous_command`,
//!   `leasehold_redis::it::single::privileges::the_documented_privileges_of_a_fence_store_are_enough_and_harmless`,
//!   `leasehold_redis::it::sentinel::privileges::the_documented_privileges_are_enough_for_every_operation`,
//!   `leasehold_redis::it::cluster::privileges::the_documented_privileges_are_enough_for_every_operation`,
//!   `leasehold_redis::it::redlock::privileges::the_documented_privileges_of_one_server_are_enough_on_each_node`
//!
//! # Data loss
//!
//! For each deployment, this list states the assumptions for exclusion, and the effect if they do not hold:
//!
//! - **In process**: no data can be lost, and no other process is excluded.
//!   `leasehold_core::it::state_machine::every_history_keeps_the_guarantees`
//! - **One Redis server** that keeps its data (`appendfsync always`, `noeviction`) provides exclusion and the order of
//!   the queue. `leasehold_redis::it::state_machine::every_history_keeps_the_guarantees_on_a_real_server`
//! - A server that loses its data grants the lock to a second holder immediately. The first holder detects the loss
//!   with its next renewal. `leasehold_redis::it::single::outage::a_server_that_lost_its_data_ends_the_guard_and_tokens_still_increase`
//! - Such a server also loses its queue. Waiters poll when a holder of their process has released. In other processes,
//!   and for other kinds of lock, waiters poll 11 s after their last poll.
//!   `leasehold_redis::it::single::outage::waiters_whose_positions_were_flushed_are_served_after_the_next_poll`
//! - **Sentinel and Cluster** keep the data that a replica had before the primary crashed.
//!   `leasehold_redis::it::sentinel::failover::a_replicated_lock_and_its_waiters_survive_a_failover`,
//!   `leasehold_redis::it::cluster::promotion::a_replicated_lock_and_its_waiters_survive_a_promotion`
//! - More than half of the Sentinels in the URL decide which server is the primary. A single Sentinel that reports a
//!   wrong server is outvoted, and the client sends no password to that server. If too many Sentinels do not respond,
//!   the others decide if they agree.
//!   `leasehold_redis::it::sentinel::votes::a_lying_sentinel_is_outvoted_and_its_server_gets_no_password`,
//!   `leasehold_redis::it::sentinel::votes::without_a_majority_of_sentinels_the_client_does_not_connect`,
//!   `leasehold_redis::it::sentinel::votes::the_only_sentinel_that_replies_decides`,
//!   `leasehold_redis::it::sentinel::votes::a_failover_is_followed_once_a_majority_of_sentinels_reports_it`
//! - A lock that no replica had is lost with the primary.
//!   `leasehold_redis::it::sentinel::failover::an_unreplicated_lock_is_reported_as_lost_after_a_failover`
//! - **[`synced`](crate::backend::redis::RedisBuilder::synced)** makes grants, renewals, handovers and downgrades valid
//!   only after the given number of replicas has acknowledged them. Redis chooses which replica is promoted.
//!   `leasehold_redis::it::sentinel::wait_for_replicas::an_unacknowledged_lock_is_released_and_the_error_counts_replicas`,
//!   `leasehold_redis::it::sentinel::wait_for_replicas::a_lease_with_unacknowledged_renewals_ends_by_its_deadline`,
//!   `leasehold_redis::it::sentinel::wait_for_replicas::handovers_accepts_and_downgrades_must_be_acknowledged`
//! - **[`Redlock`]** survives the failure of any minority. A node that lost its data in a restart has no vote until the
//!   lost leases have expired. `leasehold_redis::it::redlock::faults::any_two_of_five_nodes_may_fail`,
//!   `leasehold_model::it::quorum_claims::quorum_empty_nodes`
//! - **[`Redlock`] counts no server twice**, even if several names lead to it from the start or later. Replicas and
//!   members of a Cluster have no vote.
//!   `leasehold_redis::it::redlock::connecting::one_server_under_two_names_is_refused_each_time`,
//!   `leasehold_redis::it::redlock::connecting::a_name_that_leads_to_another_nodes_server_later_has_no_vote`,
//!   `leasehold_redis::it::redlock::connecting::cluster_nodes_and_replicas_are_refused`
//! - **`ZooKeeper`** survives the failure of a minority. A client does not conclude from a follower's data that a lock
//!   is free. A holder whose server is disconnected from the leader loses its lock before the next holder acquires it.
//!   After a change of leader, expired sessions still exist for a while. A queue position of such a session does not
//!   grant the lock to the client's next session.
//!   `leasehold_zookeeper::it::ensemble::a_disconnected_follower_grants_no_lock_although_the_holder_released`,
//!   `leasehold_zookeeper::it::ensemble::a_holder_at_a_disconnected_follower_is_lost_before_the_next_grant`,
//!   `leasehold_zookeeper::it::attempts::a_node_of_an_earlier_session_is_not_used_as_ones_own`
//!
//! - **A SQL database** that loses no commits provides exclusion and the order of the queue. In a `SQLite` file, which
//!   the processes of one machine share without a server, this holds although processes are killed or stopped at any
//!   time, also in the middle of a write.
//!   `leasehold_nemesis::it::processes::sqlite::killed_and_stopped_processes_exclude_each_other_and_no_lock_outlives_its_lease`
//!
//! # What does not hold
//!
//! - A lock alone does not protect data, as explained above. Two guards can be valid when a primary crashes, or when a
//!   primary still serves requests for a moment after its planned replacement. The same applies if a server's clock is
//!   set forward, or if a server loses its data.
//!   `leasehold_redis::it::sentinel::unreplicated_locks::without_acknowledgements_two_hold_the_lock_and_the_fence_refuses_the_older`,
//!   `leasehold_redis::it::sentinel::unreplicated_locks::a_planned_failover_permits_two_holders_and_the_fence_refuses_the_older`,
//!   `leasehold_redis::it::single::clock::a_forward_clock_jump_permits_two_holders_and_the_fence_refuses_the_older`,
//!   `leasehold_redis::it::single::clock::a_lock_ended_by_the_servers_clock_is_lost_at_its_next_renewal`,
//!   `leasehold_redis::it::redlock::data_loss::a_clock_jump_permits_two_holders_and_the_fence_refuses_the_older`
//! - On `ZooKeeper`, if a manager has more waiters than it can watch, a broken connection still loses no lock. But
//!   waiters without a watch poll every two seconds instead of being notified.
//!   `leasehold_zookeeper::it::attempts::five_hundred_waiters_survive_a_cut_connection`
//! - A single fenced statement does not protect a holder that reads first: until that holder writes, the previous
//!   holder may still write. To protect such a holder, claim the fence first.
//!   `leasehold_sqlx::it::races::postgres::on_postgres_racing_fenced_writes_lose_no_update`
//! - [`Redlock`] does not guarantee an order, and supports only exclusive locks.
//!   `leasehold_redis::it::redlock::rounds::unsupported_modes_and_ttls_are_refused_before_anything_is_sent`
//! - Programs that poll with `SET NX` rarely acquire a lock for which other attempts queue.
//!   `leasehold_redis::it::single::other_programs::another_program_cannot_acquire_between_a_release_and_our_waiter`
//! - A waiter that is not polled loses its position. During a hand-off the waiter loses its position after 2 s, even if
//!   the hand-off is inside its process. `leasehold_test::conformance::contract::a_waiter_that_stops_polling_does_not_block_the_next_one`,
//!   `leasehold_redis::it::single::handoff::a_waiter_that_is_not_polled_loses_its_hand_off_and_acquires_later`,
//!   `leasehold_zookeeper::it::attempts::an_attempt_that_is_not_polled_ends_without_a_loss_of_other_locks`,
//!   `leasehold_redis::it::single::handoff::a_waiter_of_an_ended_runtime_gets_no_direct_hand_off`
//! - With [`synced`](crate::backend::redis::RedisBuilder::synced) and too few replicas, no acquire succeeds. A waiter
//!   may find the lock held by another attempt, whose grant is then revoked. Such a waiter times out, as if the lock
//!   were busy. `leasehold_redis::it::sentinel::wait_for_replicas::without_a_replica_acquires_time_out_or_return_the_reason`
//! - A dropped guard releases in the background. If its runtime ends before the release is confirmed, the manager sends
//!   the release from another runtime. The manager does so immediately if it has a waiter or a holder there, and
//!   otherwise when it is used again. Without another runtime, the lease expires.
//!   `leasehold_core::it::rules::rule_7_drop_cannot_await::the_next_acquire_releases_guards_of_an_ended_runtime`,
//!   `leasehold_core::it::rules::rule_7_drop_cannot_await::a_guard_dropped_in_an_ending_runtime_is_released_by_its_own_runtime`,
//!   `leasehold_redis::it::single::ended_connections::waiters_that_ended_with_their_runtime_do_not_delay_those_of_another`,
//!   `leasehold_core::it::rules::rule_7_drop_cannot_await::a_guard_that_outlives_its_runtime_expires_with_its_lease`
//! - An operator's [`force_release`](crate::LockManager::force_release) ends a held lock. The holder detects this with
//!   its next renewal. `leasehold_test::conformance::behaviour::a_holder_detects_a_forced_release_at_its_next_renewal`
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
//!   `leasehold_nemesis::it::processes::pause::paused_holder_detects_its_expired_lease_without_a_server_reply`,
//!   `leasehold_sqlx::it::paused::on_postgres_late_write_of_a_paused_holder_is_refused`
//! - Jepsen, [etcd 3.4.3](https://jepsen.io/analyses/etcd-3.4.3) (2020), on locks of a store that is linearizable:
//!   "fundamentally unsafe", since they "can not guarantee mutual exclusion in asynchronous networks". `leasehold_zookeeper::it::ensemble::when_the_leader_is_killed_a_lock_is_held_or_lost_and_never_both`,
//!   `leasehold_sqlx::it::paused::on_postgres_late_write_with_a_zookeeper_token_is_refused`
//! - Jepsen, [Hazelcast 3.8.3](https://jepsen.io/analyses/hazelcast-3-8-3) (2017): locks are not exclusive in a split
//!   cluster. `leasehold_redis::it::sentinel::split_brain::a_returning_old_primary_causes_no_writes_out_of_order`
//!
//! [`Redlock`]: crate::backend::redlock::Redlock

pub mod elections;
#[cfg(feature = "once")]
#[cfg_attr(docsrs, doc(cfg(feature = "once")))]
pub mod once;
pub mod roll_outs;
