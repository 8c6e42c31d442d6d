//! What holds under which assumptions, what does not, and the test that attacks each sentence.
//!
//! [Any distributed lock is unsafe by itself](#who-has-found-this-before): a holder can be paused between its last look
//! at its guard and its write, for longer than its lease. So a lock here makes two promises, and the second one does
//! not rest on the first: *exclusion*, as long as clocks and servers behave as said below; and a *fencing token* that
//! grows, so that the resource can refuse the late write when they did not.
//!
//! Tests are named as cargo names them, `crate::binary::module::test`. Those in `leasehold::conformance` run on every
//! backend that can do what they are about, plain, with delays, and over networks that break; those in `leasehold_model`
//! visit every state of a small world. A point without a test, or a test that does not exist, fails
//! `cargo xtask lint`.
//!
//! # Exclusion
//!
//! Assumed are clocks that run alike for the length of a TTL, but for one part in a hundred and 2 ms (a machine's
//! suspension counts), and a backend that [does not forget](#what-may-forget). A client's time of day may be anything. A
//! Redis server ends leases by its own, so that one that is set forward ends them too soon: let it be slewed, not stepped.
//! Redis servers that take over from each other, by a promotion or with a slot of a Cluster, tell when a lease ends by the
//! time of day: as far as theirs differ, a lease may end too soon.
//! Pauses, delays, losses and second copies of messages may be arbitrary. On `ZooKeeper` four things more are assumed of
//! the ensemble, by reading its code and not by a test: a leader's ping, which it sends every half tick, reaches a
//! follower that can still be heard of within a third of the session timeout less half a tick; nobody lowers
//! `maxSessionTimeout` below the timeouts of sessions that live; nobody closes the session of a holder from elsewhere, with
//! its id and password; and a key is free now and then, before two thousand
//! million have stood in its line.
//!
//! - Two guards of one key are never both valid. `leasehold::conformance::behaviour::exclusion_under_contention`,
//!   `leasehold_model::holds::late_copies`, `leasehold_model::holds::three_attempts`,
//!   `leasehold_simulation::seeds::every_seed_holds_what_is_claimed`,
//!   `leasehold_nemesis::soak::memory_and_connections_stay_flat_over_cancelled_acquisitions_and_no_keys_are_left`
//! - A guard's deadline counts from the sending of the request whose answer was accepted: a slow network makes leases
//!   shorter, never longer. `leasehold::rules::rule_3_deadline_from_sending::the_lease_counts_from_the_request_whose_answer_came`,
//!   `leasehold::rules::rule_3_deadline_from_sending::a_slow_grant_does_not_lengthen_the_lease`,
//!   `leasehold_model::weakened::reply_to_any_copy`
//! - Past its deadline a guard is invalid, whatever the backend says and whether or not it can be reached; a margin
//!   keeps that moment before the server's. `leasehold::rules::rule_3_deadline_from_sending::past_its_deadline_a_guard_is_lost_whoever_says_what`,
//!   `leasehold::engine::lease::tests::a_lease_ends_before_the_server_ends_it`, `leasehold_model::weakened::no_margin`,
//!   `leasehold_nemesis::processes::pause::a_holder_that_slept_past_its_lease_knows_so_before_it_hears_from_anybody`
//! - A suspended machine does not keep its lease. `leasehold::engine::lease::tests::a_suspended_machine_does_not_keep_its_lease`,
//!   `leasehold::clock::tests::suspension_counts_although_timers_stood_still`
//! - [`run`](crate::LockGuard::run) takes no step of its work after the deadline, and drops it there.
//!   `leasehold::rules::rule_5_loss_is_loud::after_a_pause_past_the_deadline_the_body_takes_no_further_step`,
//!   `leasehold::rules::rule_5_loss_is_loud::a_body_is_cut_short_at_the_deadline`
//! - A request that arrives after its acquire was given up takes nothing. `leasehold::redis::faults::a_request_that_is_delivered_after_the_cleanup_takes_nothing`,
//!   `leasehold::redlock::faults::a_request_that_comes_after_the_end_takes_nothing`,
//!   `leasehold_model::weakened::no_seal`,
//!   `leasehold::zookeeper::faults::attempts_that_are_dropped_while_there_is_no_session_leave_nothing`
//! - A lost guard stays lost: nothing renews it once another could have been granted.
//!   `leasehold::engine::lease::tests::what_has_ended_stays_ended_and_keeps_its_first_reason`,
//!   `leasehold_model::weakened::renewal_by_owner`
//! - Readers are never beside a writer, and no more permits are taken than there are.
//!   `leasehold::conformance::sharing::readers_never_meet_a_writer`,
//!   `leasehold::conformance::sharing::no_more_permits_than_there_are`,
//!   `leasehold_nemesis::processes::semaphore::of_100_000_acquisitions_never_more_hold_than_there_are_permits_and_the_killed_give_theirs_back`
//! - Several keys are held together or not at all, and nobody waits in a circle for them.
//!   `leasehold::several_histories::ten_thousand_histories_hold_all_or_nothing`, `leasehold::several::nobody_waits_in_a_circle`
//! - Different values make different keys, with `:` between them in a template of `#[distributed_lock]` or of
//!   the path keys of `leasehold-tower`. `leasehold::key::tests::no_two_pairs_of_values_share_a_key`,
//!   `leasehold_ui::compiles::keys::compiles_and_runs`, `leasehold_tower::it::keys::two_pairs_of_parameters_are_two_locks`
//! - On Redis, `SET key id NX PX ttl` of other programs excludes us and is excluded by us.
//!   `leasehold::redis::foreign::we_exclude_them`, `leasehold::redis::foreign::they_exclude_us_and_we_wait_for_them`,
//!   `leasehold_model::holds::foreign_lockers`
//!
//! # Tokens
//!
//! Three things are meant by "tokens grow": no two holders share one; whoever began after another was granted has the
//! larger one; a resource that takes no smaller token than it has seen never takes a holder's write after a later
//! holder's. None of them needs exclusion: they hold while locks expire at any time, and that is what they are for.
//!
//! ε is the most by which the clocks of servers that draw a key's tokens differ, past jumps included; S is the second
//! that a [`Redlock`] node follows a client's hint.
//!
//! - **T1.** A backend that forgets nothing: always, for any clocks, delays, pauses, losses and second copies.
//!   `leasehold_model::holds::early_expiry`, `leasehold_model::holds::early_expiry_three`, `leasehold_model::quorum_holds::three_rounds_fenced`,
//!   `leasehold_model::quorum_holds::five_nodes`, `leasehold_nemesis::processes::tokens::each_of_100_000_acquisitions_has_a_larger_token_than_the_one_before`,
//!   `leasehold::redlock::memory::tokens_grow_whatever_the_clocks_say`
//! - **T2.** A [`Redlock`] node that lost its memory, and has no vote for longer than ε + S, or, if it may come back
//!   with an older state, than the longest TTL as well: as T1. Nodes are recognised by how long they are up.
//!   `leasehold_model::quorum_holds::quorum_restarts`, `leasehold_model::quorum_holds::quorum_old_state`,
//!   `leasehold::redlock::memory::a_node_that_was_restarted_has_no_vote_until_what_it_forgot_is_over`
//! - **T3.** Memory lost without any delay, split brain: tokens of acquisitions that are further apart than ε + S grow;
//!   closer ones may tie, or invert. The time of day is a floor of each token.
//!   `leasehold::redis::outage::a_server_that_forgot_ends_the_guard_and_tokens_go_on_growing`,
//!   `leasehold::sentinel::split::an_old_primary_that_returns_has_nobody_write_out_of_order`,
//!   `leasehold_model::weakened::no_time_floor`
//! - **T4.** One server with failover: tokens grow if the first grant of the new primary is more than ε after the last
//!   one that it does not know of. A failover takes longer than well-kept clocks differ.
//!   `leasehold_model::quorum_holds::one_server`, `leasehold::sentinel::tokens::tokens_grow_over_fifty_failovers_that_lose_them`
//! - **T5.** The server forgets the last token of a key two days after its last use, or up to 17 minutes sooner, or sooner
//!   by as much as its clock was set back. That is longer than clocks differ. `fence_ttl` of the backend's builder sets
//!   another time, with what it costs. The record of a semaphore ends a minute after the last of its leases, because a
//!   permit has no fencing token. `leasehold::redis::fence_ttl::every_request_keeps_the_last_token_for_the_time_that_is_set`,
//!   `leasehold::redis::fence_ttl::batches_and_readers_keep_the_last_token_for_the_time_that_is_set`,
//!   `leasehold::redis::fence_ttl::a_key_in_use_keeps_its_last_token`,
//!   `leasehold::redis::fence_ttl::a_semaphore_leaves_nothing_two_minutes_after_its_last_lease`,
//!   `leasehold::redlock::fence_ttl::nodes_keep_the_last_token_for_the_time_that_is_set`, `leasehold_model::quorum_holds::quorum_idle`,
//!   `leasehold::redis::companions::a_released_lock_leaves_its_counter_and_the_counter_has_a_ttl`,
//!   `leasehold::redis::tokens::a_counter_that_is_in_use_lasts_two_days_or_a_little_less`
//! - In process, tokens grow over restarts of the process, too, if its clock was not set back.
//!   `leasehold::backend::memory::fencing_tokens::tests::tokens_follow_the_clock_and_grow_when_it_does_not`
//! - On `ZooKeeper` they are numbers of the ensemble's transactions, which never go back.
//!   `leasehold::conformance::contract::tokens_grow`, `leasehold::zookeeper::ensemble::when_the_leader_is_killed_a_lock_is_held_or_lost_and_never_both`
//! - Readers that hold a lock together share a token, which is above all writers' before them and below all after them;
//!   one that was the writer keeps its own.
//!   `leasehold::conformance::kinds::readers_share_a_token`,
//!   `leasehold::conformance::kinds::a_reader_that_looks_late_has_the_token_of_the_others`
//! - Whoever takes up a handed-over lock has a larger token than the giver. `leasehold::conformance::kinds::a_handover_works_once`,
//!   `leasehold_nemesis::processes::handover::a_process_exits_and_another_holds_on`
//!
//! # Fenced writes
//!
//! Assumed are tokens that grow, as above, and nothing else: no exclusion, no clock, no network.
//!
//! - A [`FenceStore`](crate::FenceStore) admits no token after a larger one. `leasehold::fence::the_largest_of_many_stays`,
//!   `leasehold::redis::fence::accepts_the_newest_again_and_refuses_what_is_older_to_the_last_digit`,
//!   `leasehold::redis::fence::a_server_that_takes_no_writes_admits_nobody_not_even_the_newest_again`
//! - With `Fence::begin` of `leasehold-sqlx`, where all begin, reads and writes of a paused holder are lost to nobody: the
//!   claim comes first, and its row is locked until the commit. `leasehold_sqlx::races::postgres::on_postgres_a_fence_loses_nothing`,
//!   `leasehold_sqlx::races::mariadb::on_mariadb_a_fence_loses_nothing`, `leasehold_sqlx::races::sqlite::on_sqlite_a_fence_loses_nothing`,
//!   `leasehold_sqlx::paused::on_postgres`
//! - A [`FencedPipeline`](crate::FencedPipeline) executes nothing after a larger token, and nobody's command is between its
//!   own. `leasehold::redis::pipeline::of_a_stale_one_nothing_is_executed`,
//!   `leasehold::redis::pipeline::among_many_at_once_no_older_write_follows_a_newer_one`
//! - A `Fence::begin` that is dropped at any point leaves no open transaction behind (under tokio).
//!   `leasehold_sqlx::it::dropped::on_postgres_nothing_that_is_confirmed_later_is_lost`,
//!   `leasehold_sqlx::it::dropped::on_mariadb_nothing_that_is_confirmed_later_is_lost`
//! - Whatever happens to locks, clients, servers, links and clocks: what is written under a fence is linearizable, on each
//!   deployment, while writes without one are lost in the same moments.
//!   `leasehold_nemesis::matrix::under_a_fence_nothing_is_lost_whatever_happens_to_the_locks`
//! - A single fenced statement changes no row that a later holder has written. `leasehold_sqlx::it::rows::on_postgres`,
//!   `leasehold_sqlx::it::rows::on_mariadb`, `leasehold_sqlx::it::rows::on_sqlite`
//! - `Fence::begin` and a single fenced statement do not see each other. Rows that anybody writes with `Fence::query` are
//!   written with it within `Fence::begin`, too, and an `INSERT` there sets the column with the token: then neither
//!   overwrites what a later holder wrote with the other. `Fence::begin` alone keeps out those who begin.
//!   `leasehold_sqlx::it::together::on_postgres_query_within_begin_sees_other_queries_and_is_seen_by_them`,
//!   `leasehold_sqlx::it::together::on_mariadb_query_within_begin_sees_other_queries_and_is_seen_by_them`,
//!   `leasehold_sqlx::it::together::on_sqlite_query_within_begin_sees_other_queries_and_is_seen_by_them`
//! - `FenceLayer` of `leasehold-tower` lets no request in after one with a larger token has been, and a store that fails
//!   lets nobody in. `leasehold_tower::it::fencing::what_was_admitted_is_done_before_the_next_and_the_older_is_refused`,
//!   `leasehold_tower::it::fencing::a_store_that_fails_lets_nobody_in`
//! - When exclusion fails and two guards are valid, the older one's write is refused. All known ways to get there are
//!   played through. `leasehold::sentinel::hole::without_acknowledgements_two_hold_the_lock_and_the_fence_refuses_the_older`,
//!   `leasehold::redlock::memory::a_clock_that_jumps_lets_two_in_and_the_fence_refuses_the_older`,
//!   `leasehold::redlock::memory::a_node_that_is_wrongly_called_durable_lets_two_in_and_the_fence_refuses_the_older`
//!
//! # Liveness
//!
//! Assumed are a backend that answers, and waiters whose tasks are polled.
//!
//! - A lock is free, or its first waiter's, at the latest one TTL after its holder fell silent.
//!   `leasehold::conformance::contract::a_lease_runs_out`, `leasehold_model::holds::deaths`,
//!   `leasehold_nemesis::processes::order::processes_that_are_killed_delay_the_others_by_no_more_than_the_bound`
//! - A holder that lives keeps its lock, however long its work takes. `leasehold::conformance::behaviour::a_held_lock_is_renewed`,
//!   `leasehold_nemesis::short_lease::a_lease_of_300_ms_is_kept_for_ten_seconds`,
//!   `leasehold::virtual_time::a_short_lease_survives_an_hour_of_faults_that_leave_it_time`
//! - A failed renewal releases nothing, and is tried again until the deadline.
//!   `leasehold::rules::rule_6_watchdog::a_failing_renewal_is_repeated_and_releases_nothing`,
//!   `leasehold::redlock::faults::a_failed_renewal_releases_nothing`
//! - A waiter that dies, and a wake-up that is lost, delay the others by a bounded time.
//!   `leasehold_model::holds::lost_wake_ups`, `leasehold_model::holds::deaths_and_cancels`,
//!   `leasehold::redis::waiting::when_every_second_wake_up_is_lost_nobody_waits_longer_than_the_next_look`
//! - A planned failover of Sentinels, or a replica that takes over in a Cluster, holds nobody up for longer than 3 s, however
//!   long the TTL: what was released or given up in the last 30 s (the last 4 096 times of each [`Redis`](crate::backend::redis::Redis))
//!   is said again to the new server, as soon as the process knows it. Not so on one address that leads to another server,
//!   nor by a process, or a manager that was shut down, that has ended by then: what it released stays there until its TTL.
//!   Nor where a replica is told to take over before the masters are connected to it, see [`Redis`](crate::backend::redis::Redis#clusters).
//!   `leasehold_model::holds::promotion`, `leasehold_model::weakened::releases_not_repeated`,
//!   `leasehold::sentinel::planned::two_waiters_with_a_long_ttl_are_served`,
//!   `leasehold::sentinel::planned::many_waiters_of_one_manager_are_served`,
//!   `leasehold::sentinel::planned::waiters_of_several_managers_are_served`,
//!   `leasehold::sentinel::planned::waiters_are_served_after_a_failover_there_and_back`,
//!   `leasehold::sentinel::planned::what_the_old_primary_alone_saw_released_is_free_on_the_new_one`,
//!   `leasehold::cluster::planned::waiters_are_served_after_a_takeover`,
//!   `leasehold::cluster::planned::waiters_of_several_managers_are_served_after_a_takeover`,
//!   `leasehold::cluster::planned::waiters_are_served_after_a_failover_to_a_replica_that_was_just_restarted`
//! - On Redis the next in line has the lock with the answer to the release, if it waits for it alone in the same process;
//!   others have their turn all the same, and whose answer is lost looks. `leasehold_model::holds::passing`,
//!   `leasehold_model::holds::two_processes`, `leasehold::redis::passing::a_waiter_of_the_same_process_need_not_ask`,
//!   `leasehold::redis::passing::what_was_passed_on_has_its_ttl_after_the_first_renewal`,
//!   `leasehold::redis::passing::waiters_of_other_processes_have_their_turn`,
//!   `leasehold::redis::passing::a_waiter_whose_news_is_lost_looks_soon`,
//!   `leasehold::redis::passing::a_release_that_is_dropped_has_its_waiter_look_at_once`
//! - Where nobody stands in line a release is also the attempt of the task of its process that came next, and nothing else
//!   becomes of the lock than if both had asked one after the other, whatever answer is lost and whoever goes meanwhile.
//!   `leasehold_model::holds::parked`, `leasehold_model::holds::parked_two_processes`,
//!   `leasehold::redis::parked::the_release_of_one_is_the_attempt_of_the_next`,
//!   `leasehold::redis::parked::a_release_passes_on_what_it_holds_to_one_whose_request_is_wanted`,
//!   `leasehold::redis::parked::one_that_goes_while_it_is_passed_the_lock_leaves_nothing`,
//!   `leasehold::redis::parked::a_release_that_comes_after_the_next_has_cleaned_up_passes_nothing_on`,
//!   `leasehold::redis::parked::one_whose_news_is_lost_asks`
//! - Requests that go to Redis together are carried out as they would be one by one, in the order in which they were made,
//!   and none suffers from another's error, from an answer that is lost, or from a runtime that stands still. Not so on a
//!   server that is full: it may let an attempt through that comes with a release.
//!   `leasehold_model::holds::batches`,
//!   `leasehold::redis::one_by_one::a_batch_does_what_its_requests_would_do_one_by_one`,
//!   `leasehold::redis::batches::those_who_ask_at_once_wait_in_the_order_in_which_they_asked`,
//!   `leasehold::redis::batches::what_the_server_refuses_is_told_to_whom_it_concerns`,
//!   `leasehold::redis::batches::a_batch_whose_answer_is_lost_leaves_nothing_behind`,
//!   `leasehold::redis::batches::a_batch_that_is_delivered_after_the_cleanups_takes_nothing`,
//!   `leasehold::redis::batches::a_batch_that_is_delivered_long_after_it_was_sent_takes_nothing`,
//!   `leasehold::redis::batches::a_runtime_that_stands_still_keeps_nobody_waiting`
//! - A crashed reader, and a crashed holder of permits, keeps others out for its own lease and not for the longest.
//!   `leasehold::conformance::kinds::each_share_ends_by_its_own_lease`,
//!   `leasehold::redis::sharing::a_reader_that_died_keeps_a_writer_waiting_for_its_own_lease_only`
//! - Every future may be dropped at any point: nothing stays locked, nobody stays in the queue.
//!   `leasehold::cancellation::nothing_is_left_wherever_an_operation_is_dropped`,
//!   `leasehold::redis::faults::acquires_that_are_dropped_at_any_point_under_any_fault_leave_nothing`,
//!   `leasehold::zookeeper::faults::a_future_that_is_dropped_at_any_await_leaves_no_node_and_waiters_go_on`
//! - On Redis a waiter whose process is not the next in line looks at the latest 11 s after its last look, and one that
//!   became the first of its process after a second; with [`Redlock`], where chance adds up to a quarter, 13.75 s and
//!   1.25 s. `leasehold::redis::waiting::who_is_second_of_its_process_is_there_when_all_before_it_die`,
//!   `leasehold::redis::waiting::when_every_second_wake_up_is_lost_nobody_waits_longer_than_the_next_look`,
//!   `leasehold::backend::redlock::wait::tests::the_first_looks_when_the_lock_should_be_free_and_the_others_keep_their_places`
//! - Waiters outlive a restart of the server, and a guard outlives an outage that is shorter than its lease.
//!   `leasehold::redis::outage::waiters_outlive_a_restart_of_the_server`,
//!   `leasehold::redis::outage::a_guard_outlives_an_outage_that_its_lease_outlives`
//! - A server without memory for more still releases and hands on. `leasehold::redis::trouble::a_full_server_still_releases_and_hands_on`
//! - Neither memory, nor connections, nor keys grow with the number of acquisitions, cancelled ones among them.
//!   `leasehold_nemesis::soak::memory_and_connections_stay_flat_over_cancelled_acquisitions_and_no_keys_are_left`
//!
//! # Fairness
//!
//! - Waiters of one key are served in the order in which they came, over all processes, in process, on Redis and on
//!   `ZooKeeper`. `leasehold::conformance::contract::first_come_first_served`,
//!   `leasehold_nemesis::processes::order::of_20_000_grants_none_is_out_of_turn_whatever_the_clients_clocks_say`,
//!   `leasehold_model::holds::two_processes`. On Redis one that comes within 10 ms after a task of its own process got
//!   the lock stands in line after 10 ms, or when that one has given it up and has been answered: who comes from elsewhere
//!   meanwhile is before it.
//!   `leasehold::redis::parked::who_stands_in_line_is_served_before`
//! - A waiting writer lets no new reader pass, and whoever wants many permits is not overtaken by those who want few.
//!   `leasehold::redis::sharing::readers_who_overlap_never_starve_a_writer`,
//!   `leasehold::conformance::kinds::permits_are_served_in_turn`
//! - A waiter keeps its place over a broken connection, and over a restart of a server that keeps its data.
//!   `leasehold::redis::waiting::waiters_whose_connections_break_keep_their_places`,
//!   `leasehold::redis::waiting::a_restart_of_a_server_that_keeps_its_data_keeps_the_order`
//!
//! # Honesty
//!
//! - No guard, no body: nothing runs while the backend is down, and an outage is never called busy.
//!   `leasehold::rules::rule_4_no_guard_no_body::no_body_runs_while_the_backend_is_down`,
//!   `leasehold::rules::rule_4_no_guard_no_body::an_outage_is_never_reported_as_busy`
//! - An error says whether the backend surely did nothing, or may have. `leasehold::rules::rule_8_say_which::surely_not_applied_and_unknown`
//! - Whatever a server answers, every call ends, and nothing panics.
//!   `leasehold::hostile::whatever_a_server_answers_every_call_ends_and_nothing_panics`,
//!   `leasehold::hostile::a_server_that_falls_silent_after_its_greeting_keeps_no_caller_for_ever`
//! - A Redis server that says things without an end, or another client that publishes without a pause, keeps no call from
//!   its end, no other task of the runtime from its turn, and no runtime from its end.
//!   `leasehold::hostile::flood::a_call_ends_and_a_runtime_does_whatever_a_server_says_without_an_end`,
//!   `leasehold::hostile::flood::connecting_ends_whatever_a_server_says_without_an_end`,
//!   `leasehold::hostile::flood::a_client_that_publishes_to_our_inbox_without_a_pause_stalls_no_runtime`
//! - A call follows at most five redirections in a Cluster. A member whose redirections name ever more servers does not make a
//!   client keep ever more connections: it closes those to servers without a slot. `leasehold::hostile::moved::a_member_that_sends_everybody_on_without_an_end_is_not_followed_to_ever_more_connections`
//! - A reply of Redis that is larger than a client takes ends the connection, with an error that says so, before memory is
//!   taken for it: 16 MiB for locks, 64 MiB for a [`RedisFenceStore`](crate::RedisFenceStore). Not so where the `redis` crate
//!   opens the connection: see [`connect_client`](crate::backend::redis::RedisBuilder::connect_client).
//!   `leasehold::hostile::reply_size::a_reply_that_is_too_large_ends_the_connection_and_takes_no_memory`,
//!   `leasehold::hostile::reply_size::a_fence_that_is_answered_too_much_says_so_and_takes_no_memory`,
//!   `leasehold::redis::pipeline::a_large_reply_is_read_and_one_that_is_too_large_is_told`,
//!   `leasehold::redis::tls::a_server_whom_the_system_trusts_is_used_and_a_reply_that_is_too_large_ends_the_connection`,
//!   `leasehold::redis::tls::with_certificates_of_ones_own_a_message_that_is_too_large_ends_the_connection`
//! - A release that is called one was one: who lost the lock before is told so.
//!   `leasehold::rules::rule_2_one_id_per_attempt::a_release_that_finds_another_holder_is_not_a_release`,
//!   `leasehold::conformance::behaviour::an_expired_guard_knows_it`
//!
//! # Who may do what
//!
//! - A lock that is handed over is taken up with its ticket alone, once and before its lease ends: not by who knows the
//!   holder, the token and the key, nor by a manager with another prefix. A lock that is not is taken up by nobody. What
//!   people see of a holder, in [`inspect`](crate::LockManager::inspect), events and spans, is a short hash.
//!   `leasehold::conformance::kinds::a_handover_takes_its_secret`,
//!   `leasehold::handover::a_ticket_that_somebody_made_of_what_is_shown_takes_nothing`,
//!   `leasehold::handover::a_manager_with_another_prefix_takes_nothing_up`,
//!   `leasehold::owner_id::tests::people_see_a_short_hash_that_is_the_same_everywhere_and_no_part_of_the_id`
//! - On Redis the rights that [`Redis`](crate::backend::redis::Redis) and [`RedisFenceStore`](crate::RedisFenceStore) document are
//!   enough for every operation, and with them no command can be given that stalls the server's other users, disconnects
//!   them, or tells of their keys, except for scripts that do not end.
//!   `leasehold::redis::rights::the_least_rights_are_enough_for_every_operation_and_each_is_needed`,
//!   `leasehold::redis::rights::with_the_least_rights_nothing_dangerous_can_be_done`,
//!   `leasehold::redis::rights::the_least_rights_of_a_fence_store_are_enough_and_harmless`,
//!   `leasehold::sentinel::rights::the_least_rights_are_enough_for_every_operation`,
//!   `leasehold::cluster::rights::the_least_rights_are_enough_for_every_operation`,
//!   `leasehold::redlock::rights::the_least_rights_of_one_server_are_enough_on_each_of_several`
//!
//! # What may forget
//!
//! What each deployment assumes for exclusion, and what happens without it:
//!
//! - **In process**: nothing to forget, and nobody else to exclude. `leasehold::state_machine::every_history_keeps_the_promises`
//! - **One Redis server** that keeps its data (`appendfsync always`, `noeviction`): the protocol and its queue.
//!   `leasehold::redis_state_machine::every_history_keeps_the_promises_on_a_real_server`
//! - One that forgets lets a second holder in, at once; the first is told by its next renewal.
//!   `leasehold::redis::outage::a_server_that_forgot_ends_the_guard_and_tokens_go_on_growing`
//! - It forgets those who wait as well. They look again when a holder of their process has released, or, in other
//!   processes and for other kinds of lock, 11 s after their last look. `leasehold::redis::outage::waiters_whose_places_were_flushed_are_served_once_the_first_of_them_notices`
//! - **Sentinel and Cluster** keep what a replica had before the primary died. `leasehold::sentinel::failover::a_replicated_lock_is_kept_and_its_waiters_go_on`,
//!   `leasehold::cluster::promotion::a_replicated_lock_is_kept_and_its_waiters_go_on`
//! - More than half of the Sentinels in the URL decide who is the primary; one alone that lies is sent no password. Where
//!   so many do not answer, those that do decide if they agree. `leasehold::sentinel::votes::one_that_lies_is_outvoted_whatever_its_epoch_and_is_sent_no_password`,
//!   `leasehold::sentinel::votes::while_the_votes_are_divided_nobody_is_connected_to`,
//!   `leasehold::sentinel::votes::the_only_one_that_answers_is_believed`,
//!   `leasehold::sentinel::votes::a_failover_is_followed_once_most_tell_of_it`
//! - What no replica had is lost with the primary. `leasehold::sentinel::failover::a_lock_that_no_replica_had_is_lost_with_the_primary_and_its_holder_is_told`
//! - **[`synced`](crate::backend::redis::RedisBuilder::synced)** grants, renews, hands over and downgrades only what so many replicas
//!   have acknowledged. Which replica is promoted is Redis's choice. `leasehold::sentinel::synced::a_lock_that_no_replica_has_is_given_back_and_the_error_counts`,
//!   `leasehold::sentinel::synced::a_lease_whose_renewals_no_replica_has_ends_by_its_deadline`,
//!   `leasehold::sentinel::synced::what_a_lock_becomes_is_acknowledged_too`
//! - **[`Redlock`]** outlives any minority; what a node forgot in a restart counts for nothing until it is over.
//!   `leasehold::redlock::faults::any_two_of_five_may_fail`, `leasehold_model::quorum_holds::quorum_empty_nodes`
//! - **[`Redlock`] counts no server twice**, by whatever names it goes and whenever they come to lead to it; a replica and
//!   a member of a Cluster have no vote. `leasehold::redlock::connecting::a_server_that_goes_by_two_names_is_refused_each_time`,
//!   `leasehold::redlock::connecting::a_name_that_leads_to_another_nodes_server_later_has_no_vote`,
//!   `leasehold::redlock::connecting::members_of_a_cluster_and_replicas_are_no_nodes`
//! - **`ZooKeeper`** outlives a minority; what a follower shows proves nothing here, and a holder that is cut off is lost
//!   before the next is let in. `leasehold::zookeeper::ensemble::nobody_is_let_in_by_a_follower_that_is_cut_off_though_it_shows_that_the_holder_has_left`,
//!   `leasehold::zookeeper::ensemble::a_holder_at_a_follower_that_is_cut_off_is_lost_before_the_next_is_let_in`.
//!   After a change of leader sessions that are over live on for a while; the place that one of them has left lets in
//!   nobody of the next. `leasehold::zookeeper::attempts::a_place_of_a_session_before_is_not_taken_for_ones_own`
//!
//! # What does not hold
//!
//! - A lock alone does not protect data, as above: two guards can be valid when a primary dies, or is replaced on purpose
//!   and goes on serving for a moment, when a server's clock is set forward, when a server forgets. `leasehold::sentinel::hole::without_acknowledgements_two_hold_the_lock_and_the_fence_refuses_the_older`,
//!   `leasehold::sentinel::hole::a_planned_failover_lets_two_in_and_the_fence_refuses_the_older`,
//!   `leasehold::redis::clock::a_server_whose_clock_is_set_forward_lets_two_in_and_the_fence_refuses_the_older`,
//!   `leasehold::redis::clock::who_held_a_lock_that_the_servers_clock_ended_is_told_by_its_next_renewal`,
//!   `leasehold::redlock::memory::a_clock_that_jumps_lets_two_in_and_the_fence_refuses_the_older`
//! - On `ZooKeeper` a cut costs a manager whose waiters are more than it can watch no lock, but what has no room for a
//!   watch looks every two seconds, and is not woken. `leasehold::zookeeper::attempts::a_crowd_of_waiters_survives_a_cut`
//! - A single fenced statement does not protect a holder that reads first: until it writes, the one before it may. That
//!   takes a claim. `leasehold_sqlx::races::postgres::on_postgres_a_fence_loses_nothing`
//! - [`Redlock`] promises no order, and has exclusive locks only. `leasehold::redlock::election::what_cannot_be_is_refused_before_anything_is_sent`
//! - Programs that poll with `SET NX` rarely get a lock for which others queue. `leasehold::redis::foreign::they_get_no_turn_between_a_release_and_our_waiter`
//! - A waiter that is not polled loses its place; in the middle of a hand-off, also inside its process, after 2 s.
//!   `leasehold::conformance::contract::a_silent_waiter_is_passed_over`,
//!   `leasehold::redis::passing::who_is_not_polled_keeps_what_was_passed_on_for_two_seconds_and_comes_later`,
//!   `leasehold::zookeeper::attempts::an_attempt_that_is_not_polled_ends_and_costs_the_other_locks_nothing`,
//!   `leasehold::redis::passing::what_was_leaked_with_its_runtime_is_passed_nothing`
//! - With [`synced`](crate::backend::redis::RedisBuilder::synced) and too few replicas nobody has a lock for good, and those who
//!   find it in the hands of one whose turn it is to be refused time out, as if it were busy.
//!   `leasehold::sentinel::synced::without_a_replica_some_time_out_and_others_are_told_why`
//! - A dropped guard releases in the background. Where its runtime ends before the release is confirmed, the next use of
//!   the manager in another runtime sends it, or a waiter or a holder there does at once; where there is none, the lease
//!   runs out. `leasehold::rules::rule_7_drop_cannot_await::what_an_ended_runtime_left_behind_is_seen_to_by_the_next_acquire`,
//!   `leasehold::rules::rule_7_drop_cannot_await::a_guard_dropped_in_a_runtime_that_ends_is_released_by_that_which_took_it`,
//!   `leasehold::redis::ended::waiters_that_ended_with_their_runtime_do_not_delay_those_of_another`,
//!   `leasehold::rules::rule_7_drop_cannot_await::a_guard_that_outlives_its_runtime_lets_the_lease_run_out`
//! - An operator's [`force_release`](crate::LockManager::force_release) ends a lock under its holder, who is told by its next
//!   renewal. `leasehold::conformance::behaviour::a_forced_release_is_noticed`
//!
//! What was model-checked and what was not is in the documentation of `dev/model` in the repository: worlds are small
//! (two or three attempts on one lock, up to five nodes), and readers, permits, downgrades and handovers are tried in
//! random histories on real servers instead.
//!
//! # Roll-outs
//!
//! Two versions of this crate may meet on one key while a service is rolled out. On Redis, what is there for them is
//! the layout `lh1`: the key with its owner's id, and the companions that carry `:lh1:` in their names. Scripts are
//! called by the hash of their text, so that each version runs its own.
//!
//! - A process with the scripts of the first `lh1` and one with today's exclude each other on one key, stand in one queue, hand on
//!   to each other and draw from one counter. `leasehold::redis::rollout::they_exclude_each_other_and_share_a_counter`,
//!   `leasehold::redis::rollout::they_stand_in_one_queue_and_hand_on_to_each_other`,
//!   `leasehold::redis::rollout::readers_and_permits_of_both_are_counted_together`,
//!   `leasehold::redis::rollout::leases_extended_together_leave_what_the_first_version_leaves`
//! - A lock that is handed over is taken up by the version that wrote the ticket: those of before had no secret, and are
//!   refused. `leasehold::redis::rollout::a_lock_is_taken_up_by_the_version_that_hands_it_over_and_kept_from_the_other`
//! - On a majority of servers, too, both exclude each other, wake each other, and draw from the same counters.
//!   `leasehold::redlock::rollout::rounds_of_both_exclude_each_other_and_share_counters`
//!
//! A version that cannot keep this takes another layout, `lh2`, and must do three things. It has to take the key itself
//! as before, a string with a TTL, so that both exclude each other like programs that know nothing of each other
//! do (waiters of either kind find a free key within a second). Its tokens have to be above those of the old counter,
//! which it reads: or a fence takes the old ones for newer. And it says in the changelog that the order of
//! waiters holds within a version only until the roll-out is over.
//!
//! # Who has found this before
//!
//! - M. Kleppmann, [How to do distributed locking](https://martin.kleppmann.com/2016/02/08/how-to-do-distributed-locking.html)
//!   (2016): a paused client, and the token that stops it. `leasehold_nemesis::processes::pause::a_holder_that_slept_past_its_lease_knows_so_before_it_hears_from_anybody`,
//!   `leasehold_sqlx::paused::on_postgres`
//! - Jepsen, [etcd 3.4.3](https://jepsen.io/analyses/etcd-3.4.3) (2020), on locks of a store that is linearizable:
//!   "fundamentally unsafe", since they "can not guarantee mutual exclusion in asynchronous networks". `leasehold::zookeeper::ensemble::when_the_leader_is_killed_a_lock_is_held_or_lost_and_never_both`,
//!   `leasehold_sqlx::paused::on_postgres_with_tokens_from_zookeeper`
//! - Jepsen, [Hazelcast 3.8.3](https://jepsen.io/analyses/hazelcast-3-8-3) (2017): locks are not exclusive in a split
//!   cluster. `leasehold::sentinel::split::an_old_primary_that_returns_has_nobody_write_out_of_order`
//!
//! [`Redlock`]: crate::backend::redlock::Redlock
