//! JetStream's API: subjects, requests and answers in JSON, as far as a log needs them.
//!
//! Source: NATS architecture decision records ADR-1 (JetStream's JSON API) and ADR-13 (pull subscriptions).

use serde::{Deserialize, Serialize};

/// The stream is not there.
pub(super) const STREAM_NOT_FOUND: u32 = 10059;

/// No message has this number.
pub(super) const NO_MESSAGE: u32 = 10037;

/// Statuses in headers of what a consumer sends beside messages.
pub(super) const IDLE_HEARTBEAT: u16 = 100;
/// A pull has ended: its time is over, or there is nothing more for it.
pub(super) const PULL_EXPIRED: u16 = 408;

/// Subjects of a stream.
#[derive(Clone, Copy)]
pub(super) enum StreamCall {
    Info,
    Create,
    Purge,
    Message,
}

impl StreamCall {
    /// Where it is asked.
    pub(super) fn subject(self, stream: &str) -> String {
        let what = match self {
            Self::Info => "INFO",
            Self::Create => "CREATE",
            Self::Purge => "PURGE",
            Self::Message => "MSG.GET",
        };
        format!("$JS.API.STREAM.{what}.{stream}")
    }
}

/// Where a consumer is asked for messages.
pub(super) fn pull_subject(stream: &str, consumer: &str) -> String {
    format!("$JS.API.CONSUMER.MSG.NEXT.{stream}.{consumer}")
}

/// Where a consumer is made.
pub(super) fn create_consumer_subject(stream: &str, consumer: &str) -> String {
    format!("$JS.API.CONSUMER.CREATE.{stream}.{consumer}")
}

/// Where a consumer is deleted.
pub(super) fn delete_consumer_subject(stream: &str, consumer: &str) -> String {
    format!("$JS.API.CONSUMER.DELETE.{stream}.{consumer}")
}

/// The number of a message in its stream, by the subject where it would be acknowledged:
/// `$JS.ACK.STREAM.CONSUMER.DELIVERED.SEQUENCE.CONSUMER_SEQUENCE.TIME.PENDING`, or with domain and account behind `ACK` and a token
/// at the end.
pub(super) fn sequence_of(reply: &str) -> Option<u64> {
    let tokens: Vec<&str> = reply.split('.').collect();
    let at = match tokens.len() {
        9 => 5,
        11.. => 7,
        _ => return None,
    };
    let is_ack = tokens.starts_with(&["$JS", "ACK"]);
    tokens[at].parse().ok().filter(|sequence| is_ack && *sequence > 0)
}

/// An answer: what was asked for, or an error.
#[derive(Deserialize)]
pub(super) struct Answer<T> {
    pub(super) error: Option<ApiError>,
    #[serde(flatten)]
    pub(super) content: Option<T>,
}

/// Why something was not done.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
pub(super) struct ApiError {
    #[serde(default)]
    pub(super) err_code: u32,
    #[serde(default)]
    pub(super) description: String,
}

/// Answers where nothing but an error matters.
#[derive(Deserialize)]
pub(super) struct Done {}

/// The answer to a message that was published into a stream.
#[derive(Deserialize)]
pub(super) struct PublishAnswer {
    pub(super) stream: String,
    pub(super) seq: u64,
}

/// What a stream is, and where it ends; as its leader says.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct StreamInfo {
    /// When it was made: another stream of the same name has another time.
    pub(super) created: String,
    pub(super) config: StreamConfig,
    pub(super) state: StreamState,
    #[serde(default)]
    pub(super) cluster: Option<ClusterInfo>,
}

/// How a stream is kept. Numbers without a limit are -1.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(super) struct StreamConfig {
    pub(super) name: String,
    #[serde(default)]
    pub(super) subjects: Vec<String>,
    #[serde(default)]
    pub(super) retention: String,
    #[serde(default)]
    pub(super) storage: String,
    #[serde(default)]
    pub(super) num_replicas: u32,
    #[serde(default)]
    pub(super) discard: String,
    #[serde(default = "unlimited")]
    pub(super) max_msgs: i64,
    #[serde(default = "unlimited")]
    pub(super) max_bytes: i64,
    #[serde(default)]
    pub(super) max_age: i64,
    #[serde(default = "unlimited")]
    pub(super) max_msgs_per_subject: i64,
    #[serde(default = "unlimited")]
    pub(super) max_msg_size: i64,
    #[serde(default = "unlimited")]
    pub(super) max_consumers: i64,
    #[serde(default)]
    pub(super) no_ack: bool,
    #[serde(default)]
    pub(super) sealed: bool,
    #[serde(default)]
    pub(super) deny_delete: bool,
    #[serde(default)]
    pub(super) deny_purge: bool,
    #[serde(default)]
    pub(super) allow_rollup_hdrs: bool,
    /// `async`: acknowledged before it is written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) persist_mode: Option<String>,
    /// Messages of another stream.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) mirror: Option<serde_json::Value>,
    /// Messages of other streams.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) sources: Option<serde_json::Value>,
}

fn unlimited() -> i64 {
    -1
}

/// What a stream has.
#[derive(Clone, Copy, Debug, Deserialize)]
pub(super) struct StreamState {
    /// The oldest message, or the next one if there is none; 0 if there never was one.
    pub(super) first_seq: u64,
    /// The newest message that there ever was.
    pub(super) last_seq: u64,
}

/// Who has replicas of a stream.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct ClusterInfo {
    #[serde(default)]
    pub(super) leader: Option<String>,
    #[serde(default)]
    pub(super) replicas: Vec<PeerInfo>,
}

/// A server that has a replica, and does not lead.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct PeerInfo {
    pub(super) name: String,
}

/// Asks for messages before `seq` to be dropped.
#[derive(Serialize)]
pub(super) struct PurgeRequest {
    pub(super) seq: u64,
}

/// Asks for a message.
#[derive(Serialize)]
pub(super) struct MessageRequest {
    pub(super) seq: u64,
}

/// A message.
#[derive(Deserialize)]
pub(super) struct MessageAnswer {
    pub(super) message: StoredMessage,
}

/// A message as the API gives it.
#[derive(Deserialize)]
pub(super) struct StoredMessage {
    pub(super) seq: u64,
    /// In base 64; absent if there are no bytes.
    #[serde(default)]
    pub(super) data: String,
}

/// Asks for a consumer.
#[derive(Serialize)]
pub(super) struct ConsumerRequest<'a> {
    pub(super) stream_name: &'a str,
    pub(super) config: ConsumerConfig<'a>,
    pub(super) action: &'static str,
}

/// How a consumer reads. Times are in nanoseconds.
#[derive(Serialize)]
pub(super) struct ConsumerConfig<'a> {
    pub(super) name: &'a str,
    pub(super) deliver_policy: &'static str,
    pub(super) opt_start_seq: u64,
    pub(super) ack_policy: &'static str,
    pub(super) replay_policy: &'static str,
    pub(super) max_waiting: u32,
    pub(super) num_replicas: u32,
    pub(super) mem_storage: bool,
    pub(super) inactive_threshold: u64,
}

/// Asks a consumer for its next messages. Times are in nanoseconds.
#[derive(Serialize)]
pub(super) struct PullRequest {
    pub(super) batch: u32,
    pub(super) expires: u64,
    pub(super) idle_heartbeat: u64,
}

/// What a server says of itself at its monitoring port, `/varz`.
#[derive(Deserialize)]
pub(super) struct ServerVariables {
    pub(super) server_name: String,
    pub(super) version: String,
    #[serde(default)]
    pub(super) jetstream: JetStreamVariables,
}

/// How its JetStream is set up.
#[derive(Default, Deserialize)]
pub(super) struct JetStreamVariables {
    pub(super) config: Option<JetStreamConfig>,
}

/// Its settings; absent where JetStream is off.
#[derive(Deserialize)]
pub(super) struct JetStreamConfig {
    /// `sync_interval: always`.
    #[serde(default)]
    pub(super) sync_always: bool,
    /// Else how often, in nanoseconds.
    #[serde(default)]
    pub(super) sync_interval: i64,
}

/// 2 and 12 of `2.12.1`.
pub(super) fn version_of(version: &str) -> Option<(u32, u32)> {
    let mut parts = version.trim_start_matches('v').split('.');
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_says_its_number_by_where_it_would_be_acknowledged() {
        assert_eq!(sequence_of("$JS.ACK.log.c.1.77.5.1764424147107593678.3"), Some(77));
        assert_eq!(sequence_of("$JS.ACK.hub.acc.log.c.1.78.5.1764424147107593678.3"), Some(78));
        assert_eq!(sequence_of("$JS.ACK.hub.acc.log.c.1.79.5.1764424147107593678.3.token"), Some(79));
        for other in
            ["", "_INBOX.a", "$JS.ACK.log.c.1.x.5.1.3", "$JS.ACK.log.c.1.0.5.1.3", "a.b.c.d.e.6.g.h.i"]
        {
            assert_eq!(sequence_of(other), None, "{other}");
        }
    }

    #[test]
    fn answers_are_read_as_servers_write_them() {
        let failed = r#"{"type":"t","error":{"code":404,"err_code":10059,"description":"stream not found"}}"#;
        let failed: Answer<StreamInfo> = serde_json::from_str(failed).unwrap();
        assert_eq!(failed.error.map(|error| error.err_code), Some(STREAM_NOT_FOUND));
        let found = r#"{"type":"t","total":0,"config":{"name":"log","subjects":["log"],"retention":"limits",
            "max_consumers":-1,"max_msgs":-1,"max_bytes":-1,"max_age":0,"max_msgs_per_subject":-1,"max_msg_size":-1,
            "discard":"new","storage":"file","num_replicas":3,"duplicate_window":120000000000,"compression":"none",
            "allow_direct":false,"mirror_direct":false,"sealed":false,"deny_delete":true,"deny_purge":false,
            "allow_rollup_hdrs":false,"consumer_limits":{},"allow_msg_ttl":false,"metadata":{"_nats.ver":"2.15.1"}},
            "created":"2026-11-29T13:49:07.1Z","state":{"messages":2,"bytes":90,"first_seq":4,
            "first_ts":"2026-11-29T13:49:08Z","last_seq":5,"last_ts":"2026-11-29T13:49:08Z","consumer_count":0},
            "cluster":{"name":"t","raft_group":"S-R3F","leader":"m1","replicas":[{"name":"m0","current":true,
            "active":4,"peer":"p"},{"name":"m2","current":true,"offline":true,"active":5,"peer":"q"}]}}"#;
        let found: Answer<StreamInfo> = serde_json::from_str(found).unwrap();
        let found = found.content.unwrap();
        assert_eq!((found.state.first_seq, found.state.last_seq, found.config.num_replicas), (4, 5, 3));
        let cluster = found.cluster.unwrap();
        assert_eq!((cluster.leader.as_deref(), cluster.replicas.len()), (Some("m1"), 2));
        let published: Answer<PublishAnswer> =
            serde_json::from_str(r#"{"stream":"log","seq":9,"duplicate":false}"#).unwrap();
        let published = published.content.unwrap();
        assert_eq!((published.stream.as_str(), published.seq), ("log", 9));
        let variables = r#"{"server_name":"m0","version":"2.15.1","jetstream":{"config":{"sync_interval":120000000000,
            "sync_always":true,"strict":true},"stats":{}}}"#;
        let variables: ServerVariables = serde_json::from_str(variables).unwrap();
        assert!(variables.jetstream.config.unwrap().sync_always);
        let without: ServerVariables =
            serde_json::from_str(r#"{"server_name":"m0","version":"2.15.1","jetstream":{}}"#).unwrap();
        assert!(without.jetstream.config.is_none());
    }

    #[test]
    fn versions_are_two_numbers() {
        assert_eq!(version_of("2.12.1"), Some((2, 12)));
        assert_eq!(version_of("v2.15.0-RC.1"), Some((2, 15)));
        assert_eq!([version_of("2"), version_of(""), version_of("x.1")], [None; 3]);
    }
}
