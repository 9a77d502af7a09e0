//! Promises of a log: what `SharedLog` says, tried on servers of an engine that are left alone, killed, stopped and restored.
//!
//! ```text
//! appends       a log that nothing happens to: positions, order, streams that begin anywhere, its end
//! failures      servers that are killed, stopped, restored or not there
//! trims         where a trimmed log begins, and for whom
//! end_to_end    packers, readers and certifiers of two nodes, while servers are killed and stopped
//!
//! acknowledged  what appends were answered, compared with what is read after a server was killed
//! node          a packer, a reader and a certifier on one log
//! model         what two nodes have pushed, and must have applied at last
//! ```
//!
//! Each is a function of a [`RealLog`](crate::real_log::RealLog); `promises_on!` makes the tests of one engine of all of them. What
//! is special to an engine stands beside its servers, in `etcd` and `nats`.

pub mod acknowledged;
pub mod appends;
pub mod end_to_end;
pub mod failures;
#[path = "../shared_log/model.rs"]
#[allow(dead_code, reason = "other tests use more of it")]
pub mod model;
pub mod node;
pub mod trims;

/// A test of each promise, on servers of the type `$servers`.
macro_rules! promises_on {
    ($servers:ty) => {
        crate::log_promises::promises_on! { $servers;
            appends:
                messages_are_read_back_at_their_positions_in_order,
                a_reader_that_is_far_behind_reads_everything_while_more_is_written,
                appends_that_are_under_way_at_once_are_all_answered_and_read_once,
                two_connections_see_the_same_and_the_end_is_what_was_acknowledged,
                a_stream_may_begin_anywhere_near_the_end_or_far_behind,
                streams_that_begin_again_and_again_miss_nothing_of_a_busy_log,
                whoever_sleeps_is_woken_by_answers_and_messages,
                more_requests_than_there_may_be_are_refused_and_answered;
            failures:
                a_stream_ends_with_its_server_and_the_next_one_misses_nothing,
                what_is_acknowledged_survives_the_leader_and_the_rest_may,
                what_is_acknowledged_survives_all_servers_at_once,
                a_server_that_is_stopped_holds_nobody_up_for_longer_than_the_time_limit,
                without_a_majority_appends_are_answered_and_may_happen_later,
                a_log_that_was_restored_from_an_older_copy_has_lost_its_suffix,
                a_log_that_was_restored_from_before_its_first_message_is_empty,
                without_any_server_nothing_is_sent_and_the_reason_names_each;
            trims:
                a_trimmed_log_says_where_it_begins_and_is_read_from_there,
                a_trim_behind_the_end_is_one_up_to_the_end,
                a_reader_that_is_not_behind_does_not_notice_a_trim,
                one_trim_is_under_way_at_a_time_and_each_is_answered;
            end_to_end:
                two_nodes_apply_the_same_whatever_happens_to_servers;
        }
    };
    ($servers:ty; $($subject:ident: $($promise:ident),+;)+) => {
        $(mod $subject {
            $(#[test]
            fn $promise() {
                crate::log_promises::$subject::$promise::<$servers>();
            })+
        })+
    };
}

pub(crate) use promises_on;
