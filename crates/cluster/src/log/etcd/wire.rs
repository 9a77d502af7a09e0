//! Wire: the requests and answers of etcd's API version 3 that a log uses, with the fields that it uses.
//!
//! What an answer has beside them is skipped, as protocol buffers demand. So no generated code is needed, and no
//! compiler of protocol buffers to build it.
//!
//! Source: etcd 3.4, `etcdserver/etcdserverpb/rpc.proto`, `mvcc/mvccpb/kv.proto`, `etcdserver/api/v3rpc/rpctypes`.

use crate::record::message::MESSAGE_BYTES_MAX;
use bytes::Bytes;

/// Asks for versions of keys.
pub(super) const RANGE: &str = "/etcdserverpb.KV/Range";
/// Writes a version of a key.
pub(super) const PUT: &str = "/etcdserverpb.KV/Put";
/// Forgets old versions.
pub(super) const COMPACT: &str = "/etcdserverpb.KV/Compact";
/// Streams versions as they are written.
pub(super) const WATCH: &str = "/etcdserverpb.Watch/Watch";
/// Says who a member is.
pub(super) const STATUS: &str = "/etcdserverpb.Maintenance/Status";
/// Gives a token for a user and a password.
pub(super) const AUTHENTICATE: &str = "/etcdserverpb.Auth/Authenticate";

/// Metadata: the member must know a leader, or refuse.
pub(super) const REQUIRE_LEADER: (&str, &str) = ("hasleader", "true");
/// Metadata: who asks.
pub(super) const TOKEN: &str = "token";

/// Bytes that an answer may have. A watch that is behind sends up to 1,001 versions at once if it finds them before it
/// has announced itself, though it was asked for fragments.
pub(super) const RESPONSE_BYTES_MAX: usize = 1_100 * (MESSAGE_BYTES_MAX + 1024);

/// [`Event::kind`] of a deletion; everything else is a put.
pub(super) const DELETED: i32 = 1;

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct ResponseHeader {
    #[prost(uint64, tag = "1")]
    pub(super) cluster_id: u64,
    /// The newest revision of the store, whichever key it changed.
    #[prost(int64, tag = "3")]
    pub(super) revision: i64,
}

/// A version of a key.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct KeyValue {
    /// The revision that wrote its first version; another one after a deletion.
    #[prost(int64, tag = "2")]
    pub(super) create_revision: i64,
    /// The revision that wrote it: the position of a message.
    #[prost(int64, tag = "3")]
    pub(super) mod_revision: i64,
    /// How many there were of the key with it: 1 for the first, and the first after a deletion; 0 for a deletion.
    #[prost(int64, tag = "4")]
    pub(super) version: i64,
    #[prost(bytes = "bytes", tag = "5")]
    pub(super) value: Bytes,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct RangeRequest {
    #[prost(bytes = "bytes", tag = "1")]
    pub(super) key: Bytes,
    /// The version as of this revision; the newest one for 0.
    #[prost(int64, tag = "4")]
    pub(super) revision: i64,
    /// From the member's own copy, without asking the others: it may lag.
    #[prost(bool, tag = "7")]
    pub(super) serializable: bool,
    /// Without the value.
    #[prost(bool, tag = "8")]
    pub(super) keys_only: bool,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct RangeResponse {
    #[prost(message, optional, tag = "1")]
    pub(super) header: Option<ResponseHeader>,
    #[prost(message, repeated, tag = "2")]
    pub(super) kvs: Vec<KeyValue>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct PutRequest {
    #[prost(bytes = "bytes", tag = "1")]
    pub(super) key: Bytes,
    #[prost(bytes = "bytes", tag = "2")]
    pub(super) value: Bytes,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct PutResponse {
    /// Its revision is that of the put.
    #[prost(message, optional, tag = "1")]
    pub(super) header: Option<ResponseHeader>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct CompactionRequest {
    /// The newest version of each key up to here stays, and those behind.
    #[prost(int64, tag = "1")]
    pub(super) revision: i64,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct CompactionResponse {}

/// One of the two: fields of a `oneof` look on the wire as any others.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct WatchRequest {
    #[prost(message, optional, tag = "1")]
    pub(super) create: Option<WatchCreateRequest>,
    #[prost(message, optional, tag = "3")]
    pub(super) progress: Option<WatchProgressRequest>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct WatchCreateRequest {
    #[prost(bytes = "bytes", tag = "1")]
    pub(super) key: Bytes,
    /// The first revision; the one behind the newest for 0.
    #[prost(int64, tag = "3")]
    pub(super) start_revision: i64,
    /// Answers larger than a request may be come in several.
    #[prost(bool, tag = "8")]
    pub(super) fragment: bool,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct WatchProgressRequest {}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct WatchResponse {
    #[prost(message, optional, tag = "1")]
    pub(super) header: Option<ResponseHeader>,
    #[prost(bool, tag = "3")]
    pub(super) created: bool,
    #[prost(bool, tag = "4")]
    pub(super) canceled: bool,
    /// Why it was cancelled, if not 0: versions before this revision were forgotten.
    #[prost(int64, tag = "5")]
    pub(super) compact_revision: i64,
    #[prost(string, tag = "6")]
    pub(super) cancel_reason: String,
    #[prost(message, repeated, tag = "11")]
    pub(super) events: Vec<Event>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct Event {
    #[prost(int32, tag = "1")]
    pub(super) kind: i32,
    #[prost(message, optional, tag = "2")]
    pub(super) kv: Option<KeyValue>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct StatusRequest {}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct StatusResponse {
    #[prost(message, optional, tag = "1")]
    pub(super) header: Option<ResponseHeader>,
    #[prost(string, tag = "2")]
    pub(super) version: String,
    /// Alarms that are on, and whether it knows no leader, as text.
    #[prost(string, repeated, tag = "8")]
    pub(super) errors: Vec<String>,
    /// A member that only copies, and refuses requests.
    #[prost(bool, tag = "10")]
    pub(super) is_learner: bool,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct AuthenticateRequest {
    #[prost(string, tag = "1")]
    pub(super) name: String,
    #[prost(string, tag = "2")]
    pub(super) password: String,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct AuthenticateResponse {
    #[prost(string, tag = "2")]
    pub(super) token: String,
}

#[cfg(test)]
mod tests {
    use super::*;
    use prost::Message as _;

    /// Bytes as etcd's own Go client and server 3.4 write them: the fields' numbers are theirs.
    #[test]
    fn messages_have_the_bytes_of_etcd() {
        let put = PutRequest { key: Bytes::from_static(b"log"), value: Bytes::from_static(b"m") };
        assert_eq!(put.encode_to_vec(), b"\x0a\x03log\x12\x01m");
        let range = RangeRequest {
            key: Bytes::from_static(b"log"),
            revision: 300,
            serializable: true,
            keys_only: true,
        };
        assert_eq!(range.encode_to_vec(), b"\x0a\x03log\x20\xac\x02\x38\x01\x40\x01");
        let create =
            WatchCreateRequest { key: Bytes::from_static(b"log"), start_revision: 7, fragment: true };
        let watch = WatchRequest { create: Some(create), progress: None };
        assert_eq!(watch.encode_to_vec(), b"\x0a\x09\x0a\x03log\x18\x07\x40\x01");
        let progress = WatchRequest { create: None, progress: Some(WatchProgressRequest {}) };
        assert_eq!(progress.encode_to_vec(), b"\x1a\x00");
        assert_eq!(CompactionRequest { revision: 5 }.encode_to_vec(), b"\x08\x05");
        let login = AuthenticateRequest { name: "a".to_owned(), password: "b".to_owned() };
        assert_eq!(login.encode_to_vec(), b"\x0a\x01a\x12\x01b");
    }

    #[test]
    fn answers_are_read_and_fields_that_nobody_uses_are_skipped() {
        // header { cluster_id 1, member_id 2, revision 3, raft_term 4 }, watch_id 9, created, events [put of log = m,
        // version 2 at revision 3, with prev_kv].
        let bytes = b"\x0a\x08\x08\x01\x10\x02\x18\x03\x20\x04\x10\x09\x18\x01\x5a\x12\x12\x0e\x0a\x03log\x10\x02\x18\x03\x20\x02\x2a\x01m\x1a\x00";
        let response = WatchResponse::decode(bytes.as_slice()).unwrap();
        let kv =
            KeyValue { create_revision: 2, mod_revision: 3, version: 2, value: Bytes::from_static(b"m") };
        let expected = WatchResponse {
            header: Some(ResponseHeader { cluster_id: 1, revision: 3 }),
            created: true,
            events: vec![Event { kind: 0, kv: Some(kv) }],
            ..WatchResponse::default()
        };
        assert_eq!(response, expected);
        // Negative numbers take ten bytes.
        let compacted = WatchResponse::decode(
            b"\x10\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x20\x01\x28\x07\x32\x03why".as_slice(),
        );
        let compacted = compacted.unwrap();
        assert!(compacted.canceled && compacted.compact_revision == 7 && compacted.cancel_reason == "why");
        assert!(WatchResponse::decode(b"\x5a\x7f".as_slice()).is_err(), "an event that is cut off");
    }
}
