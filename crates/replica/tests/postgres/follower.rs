//! A reader of a stream, which writes down what came, one line a message.

use crate::describer::Describer;
use crate::server::TestDatabase;
use evergraph_graph::cancel::CancelFlag;
use evergraph_replica::lsn::Lsn;
use evergraph_replica::pgoutput::decoder::Decoder;
use evergraph_replica::pgoutput::message::Message;
use evergraph_replica::source::batch::Change;
use evergraph_replica::source::contract::{ChangeStream, LogicalMessages, StreamRequest};
use evergraph_replica::source::postgres::change_stream::PostgresChanges;
use evergraph_replica::source::postgres::settings::ConnectionSettings;
use evergraph_replica::source::postgres::slot::{self, SlotLifetime};
use std::time::{Duration, Instant};

/// What ends a wait that a test does not expect to end.
const WAIT_MAX: Duration = Duration::from_secs(60);

/// A reader of the slot `replica` and the publication `replica`.
pub struct Follower {
    stream: Box<PostgresChanges>,
    decoder: Decoder,
    describer: Describer,
    /// The end of the newest commit.
    pub end: Lsn,
    /// The position of the newest keepalive.
    pub keepalive: Lsn,
}

impl Follower {
    /// Makes the publication of all tables, and the slot, and begins.
    pub fn begin(database: &TestDatabase) -> Self {
        database.run("CREATE PUBLICATION replica FOR ALL TABLES WITH (publish_via_partition_root = true)");
        Self::begin_with_slot(&database.settings())
    }

    /// Makes the slot and begins.
    pub fn begin_with_slot(settings: &ConnectionSettings) -> Self {
        // Its snapshot is not used.
        drop(
            slot::create(
                settings,
                &slot_name(settings),
                SlotLifetime::Permanent,
                &|_| (),
                &CancelFlag::default(),
            )
            .unwrap(),
        );
        Self::resume(settings, Lsn::ZERO)
    }

    /// Goes on with the slot, from `start`.
    pub fn resume(settings: &ConnectionSettings, start: Lsn) -> Self {
        let stream =
            PostgresChanges::begin(settings, &request(settings, start), &CancelFlag::default()).unwrap();
        Self {
            stream: Box::new(stream),
            decoder: Decoder::new(),
            describer: Describer::default(),
            end: Lsn::ZERO,
            keepalive: Lsn::ZERO,
        }
    }

    /// All lines until the transaction that says `end`, which [`END`] makes.
    pub fn lines(&mut self) -> Vec<String> {
        let (began, mut lines) = (Instant::now(), Vec::new());
        loop {
            assert!(began.elapsed() < WAIT_MAX, "nothing said `end` behind {lines:#?}");
            let Some(batch) = self.stream.next_batch(Duration::from_millis(500)).unwrap() else { continue };
            let mut is_over = false;
            for change in batch.changes() {
                match change {
                    Change::Keepalive { log_end, .. } => self.keepalive = log_end,
                    Change::Message { bytes, .. } => {
                        let message = self.decoder.decode(bytes).unwrap();
                        is_over |= matches!(&message, Message::Logical(logical) if logical.prefix == "end");
                        if let Message::Commit(commit) | Message::StreamCommit { commit, .. } = &message {
                            self.end = commit.end_lsn;
                        }
                        lines.extend(self.describer.line(&message));
                    }
                }
            }
            if is_over {
                return lines;
            }
        }
    }

    /// Takes keepalives, and whatever else comes, for `time`, and confirms them.
    pub fn confirm_keepalives(&mut self, time: Duration) {
        let began = Instant::now();
        while began.elapsed() < time {
            let Some(batch) = self.stream.next_batch(Duration::from_millis(100)).unwrap() else { continue };
            for change in batch.changes() {
                if let Change::Keepalive { log_end, .. } = change {
                    self.stream.confirm(log_end);
                }
            }
        }
    }

    pub fn confirm(&self, position: Lsn) {
        self.stream.confirm(position);
    }

    pub fn stream(&mut self) -> &mut PostgresChanges {
        &mut self.stream
    }

    pub fn stop(self) {
        self.stream.stop().unwrap();
    }
}

/// Statements that say `end` in the stream.
pub const END: &str = "SELECT pg_logical_emit_message(false, 'end', '')";

/// What a test's stream asks for.
pub fn request(settings: &ConnectionSettings, start: Lsn) -> StreamRequest {
    StreamRequest {
        slot: slot_name(settings),
        publications: vec!["replica".into()],
        start,
        logical_messages: LogicalMessages::Sent,
    }
}

/// A slot's name is the whole server's, a test has a database of its own.
pub fn slot_name(settings: &ConnectionSettings) -> String {
    format!("replica_{}", settings.database)
}
