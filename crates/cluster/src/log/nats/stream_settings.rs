//! Stream settings: how the stream of a log is made, and which streams are refused.

use crate::log::nats::api::{StreamConfig, StreamInfo};

/// Replicas of a log's stream: it survives the loss of one.
const REPLICAS: u32 = 3;

/// How the stream is made where there is none.
pub(super) fn new_stream(name: &str) -> StreamConfig {
    StreamConfig {
        name: name.to_owned(),
        subjects: vec![name.to_owned()],
        retention: "limits".to_owned(),
        storage: "file".to_owned(),
        num_replicas: REPLICAS,
        // A stream without room refuses, and forgets nothing by itself.
        discard: "new".to_owned(),
        max_msgs: -1,
        max_bytes: -1,
        max_age: 0,
        max_msgs_per_subject: -1,
        max_msg_size: -1,
        max_consumers: -1,
        no_ack: false,
        sealed: false,
        // Of messages one by one: what is trimmed is purged.
        deny_delete: true,
        deny_purge: false,
        allow_rollup_hdrs: false,
        persist_mode: None,
        mirror: None,
        sources: None,
    }
}

/// Refuses a stream that would lose messages, forget them by itself, or have others between them.
///
/// # Errors
/// What is wrong, and what to set.
pub(super) fn check(info: &StreamInfo) -> Result<(), String> {
    let config = &info.config;
    let is_limited = config.max_msgs >= 0 || config.max_bytes >= 0;
    let wrong = if config.num_replicas < REPLICAS {
        format!(
            "it has {} replicas, and a log needs {REPLICAS}: `nats stream edit {} --replicas {REPLICAS}`",
            config.num_replicas, config.name
        )
    } else if config.storage != "file" {
        format!("it is kept in {}, and a log needs storage `file`", config.storage)
    } else if config.persist_mode.as_deref().is_some_and(|mode| mode != "default") {
        "it has the persist mode `async`, and a log needs the default: messages are acknowledged once they are written"
            .to_owned()
    } else if config.no_ack {
        "it has `no_ack`, and a log needs to know what was written".to_owned()
    } else if config.retention != "limits" {
        format!("its retention is {}, and a log needs `limits`", config.retention)
    } else if config.max_age > 0 {
        "it forgets messages by their age (`max_age`), and a log keeps them until nodes trim it".to_owned()
    } else if config.max_msgs_per_subject >= 0 {
        "it forgets messages by their number for each subject (`max_msgs_per_subject`), and a log has one subject".to_owned()
    } else if is_limited && config.discard != "new" {
        "it forgets the oldest messages when it is full (discard policy `old`), and a log needs `new`, or no limit".to_owned()
    } else if config.sealed || config.deny_purge {
        "it is sealed, or denies purges: a log is appended to, and trimmed".to_owned()
    } else if config.allow_rollup_hdrs {
        "it allows roll-ups, by which a message replaces all before it".to_owned()
    } else if config.mirror.is_some() || config.sources.is_some() {
        "it has messages of other streams".to_owned()
    } else if config.subjects != [config.name.as_str()] {
        format!("it takes other subjects than {}, and a log has one subject", config.name)
    } else {
        return Ok(());
    };
    Err(format!("the stream {} cannot be a log: {wrong}", config.name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::nats::api::StreamState;

    fn info(change: impl FnOnce(&mut StreamConfig)) -> StreamInfo {
        let mut config = new_stream("log");
        change(&mut config);
        let state = StreamState { first_seq: 0, last_seq: 0 };
        StreamInfo { created: "now".to_owned(), config, state, cluster: None }
    }

    #[test]
    fn the_stream_that_is_made_can_be_a_log_and_others_cannot() {
        check(&info(|_| {})).unwrap();
        check(&info(|config| config.num_replicas = 5)).unwrap();
        check(&info(|config| config.max_bytes = 1 << 30)).unwrap();
        check(&info(|config| config.persist_mode = Some("default".to_owned()))).unwrap();
        let said = |change: fn(&mut StreamConfig)| check(&info(change)).unwrap_err();
        assert!(said(|config| config.num_replicas = 1).contains("nats stream edit log --replicas 3"));
        assert!(said(|config| config.storage = "memory".to_owned()).contains("storage `file`"));
        assert!(said(|config| config.persist_mode = Some("async".to_owned())).contains("persist mode"));
        assert!(said(|config| config.no_ack = true).contains("no_ack"));
        assert!(said(|config| config.retention = "workqueue".to_owned()).contains("`limits`"));
        assert!(said(|config| config.max_age = 1).contains("max_age"));
        assert!(said(|config| config.max_msgs_per_subject = 1).contains("max_msgs_per_subject"));
        let old = said(|config| (config.max_msgs, config.discard) = (10, "old".to_owned()));
        assert!(old.contains("discard policy `old`"), "{old}");
        assert!(said(|config| config.sealed = true).contains("sealed"));
        assert!(said(|config| config.deny_purge = true).contains("denies purges"));
        assert!(said(|config| config.allow_rollup_hdrs = true).contains("roll-ups"));
        assert!(said(|config| config.sources = Some(true.into())).contains("other streams"));
        assert!(said(|config| config.subjects.push("other".to_owned())).contains("other subjects than log"));
    }
}
