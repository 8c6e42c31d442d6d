//! What two versions of this crate guarantee while a service is rolled out.
//!
//! Two versions of this crate may use one key while a service is rolled out. On Redis both versions use the layout
//! `lh1`: the key with its owner's id, and the auxiliary keys with `:lh1:` in their names. Scripts are called by the
//! hash of their text, so each version runs its own scripts.
//!
//! - A process with the first scripts of `lh1` and a process with the current scripts exclude each other on one key.
//!   They use one queue and one counter, and hand locks to each other.
//!   `leasehold_redis::it::single::rollout::both_versions_exclude_each_other_and_share_a_token_counter`,
//!   `leasehold_redis::it::single::rollout::both_versions_share_one_queue_and_hand_off_to_each_other`,
//!   `leasehold_redis::it::single::rollout::readers_and_permits_of_both_versions_are_counted_together`,
//!   `leasehold_redis::it::single::rollout::batched_renewals_leave_the_same_keys_as_the_first_version`
//! - A handed-over lock can be accepted only by the version that wrote the ticket: tickets of earlier versions have no
//!   secret, and are refused.
//!   `leasehold_redis::it::single::rollout::a_handover_is_accepted_only_by_the_version_that_made_it`
//! - On a majority of servers both versions also exclude each other, notify each other, and generate tokens from the
//!   same counters. `leasehold_redis::it::redlock::rollout::rounds_of_both_versions_exclude_each_other_and_share_counters`
//!
//! A version that is not compatible in this way uses another layout, `lh2`, and must do three things:
//!
//! 1. Lock the key itself as before, as a string with a TTL. Then both versions exclude each other, as unrelated
//!    programs do. Waiters of either version find a free key within a second.
//! 2. Read the old counter and start its tokens above it. Otherwise fences accept old tokens as newer tokens.
//! 3. State in the changelog that waiters are ordered only within one version until the roll-out is over.
