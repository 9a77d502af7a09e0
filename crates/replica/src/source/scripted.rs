//! `ScriptedSource`: recorded messages in place of a database, which may break off, repeat itself and lie.
//!
//! It keeps its slot as PostgreSQL does: what was confirmed comes no more, unless the source crashed meanwhile, since slots are
//! saved at its checkpoints alone. A new stream sends transactions from their beginning, whatever a broken one had sent of them.
//! Relations that an earlier stream described come first of all.

use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use evergraph_graph::cancel::CancelFlag;

use crate::lsn::Lsn;
use crate::mapping::server_state::ServerState;
use crate::pgoutput::relation::Oid;
use crate::postgres_time::PostgresTime;
use crate::source::batch::{BATCH_BYTES, ChangeBatch, RowBatch};
use crate::source::catalogue::{Catalogue, Operations, Publication, PublishedTable};
use crate::source::contract::{ChangeStream, CopyRequest, RowStream, Source, SourceIdentity, StreamRequest};
use crate::source::error::{SourceError, SourceResult};
use crate::source::replica_source::{ExportedSlot, PartitionOrigin, ReplicaSource, TableRewrite};
use crate::source::sent_transactions::SentTransactions;
use crate::source::slot_state::{PLUGIN, SlotState};
use crate::source::slot_wait::SlotWait;
use crate::source::table_cuts::{CutRules, TableCuts};
use crate::wire::server_error::ServerError;

/// How long a wait for nothing takes.
const SILENCE: Duration = Duration::from_millis(2);

/// What a scripted stream sends next.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ScriptStep {
    /// Messages, of whole transactions or of blocks.
    Messages(Vec<Vec<u8>>),
    /// A keepalive with this position.
    Keepalive(Lsn),
    /// Nothing, for one wait.
    Silence,
    /// The connection breaks; the next stream goes on behind this step, with what was not confirmed before it.
    Break,
    /// As [`ScriptStep::Break`], and the source forgets what was confirmed since its last checkpoint.
    Crash,
    /// The source makes a checkpoint: what was confirmed is remembered.
    Checkpoint,
    /// The source refuses with this SQLSTATE.
    Refuse(&'static str),
    /// The source's catalogue is this from here on. Nothing of it is in the stream.
    Catalogue(Box<Catalogue>),
    /// Somebody drops the slot, and the connection breaks.
    DropSlot,
}

/// Recorded messages in place of a database.
#[derive(Clone, Debug)]
pub struct ScriptedSource {
    identity: SourceIdentity,
    tables: Vec<ScriptedTable>,
    slot: Arc<Mutex<Slot>>,
}

/// A table to copy.
#[derive(Clone, Debug)]
struct ScriptedTable {
    schema: String,
    name: String,
    /// As COPY sends them, with all columns of the catalogue's table.
    rows: Vec<Vec<u8>>,
    /// After how many rows the connection breaks.
    broken_after: Option<usize>,
}

#[derive(Debug, Default)]
struct Slot {
    catalogue: Catalogue,
    /// Its name, if a reader made it by name.
    name: Option<String>,
    was_dropped: bool,
    /// The end of the log, as far as the script says.
    log_end: Lsn,
    steps: VecDeque<ScriptStep>,
    sent: SentTransactions,
    confirmed: Lsn,
    saved: Lsn,
    /// Every position that was confirmed, in order.
    confirmations: Vec<Lsn>,
    /// What it says of new partitions; that they were attached, unless somebody chose.
    partition_origin: Option<PartitionOrigin>,
}

impl ScriptedSource {
    /// A source that says of itself `identity` and `catalogue`, and whose streams send `steps`.
    #[must_use]
    pub fn new(
        identity: SourceIdentity,
        catalogue: Catalogue,
        steps: impl IntoIterator<Item = ScriptStep>,
    ) -> Self {
        let log_end = identity.log_end;
        let slot = Slot { catalogue, log_end, steps: steps.into_iter().collect(), ..Slot::default() };
        Self { identity, tables: Vec::new(), slot: Arc::new(Mutex::new(slot)) }
    }

    /// The same with a table to copy. Where the catalogue has the table, rows have its columns, in their order, and a copy
    /// gets those that it asks for.
    #[must_use]
    pub fn with_rows(mut self, schema: &str, table: &str, rows: Vec<Vec<u8>>) -> Self {
        let (schema, name) = (schema.to_owned(), table.to_owned());
        self.tables.push(ScriptedTable { schema, name, rows, broken_after: None });
        self
    }

    /// The same, whose connection breaks after `rows` rows of the table that was added last.
    ///
    /// # Panics
    /// If there is no table.
    #[must_use]
    pub fn broken_after(mut self, rows: usize) -> Self {
        self.tables.last_mut().expect("a table was added").broken_after = Some(rows);
        self
    }

    /// Appends steps, for streams that have come to the end of the script.
    pub fn go_on(&self, steps: impl IntoIterator<Item = ScriptStep>) {
        lock(&self.slot).steps.extend(steps);
    }

    /// Says `origin` of each new partition from here on.
    pub fn say_of_partitions(&self, origin: PartitionOrigin) {
        lock(&self.slot).partition_origin = Some(origin);
    }

    /// Steps that no stream has come to.
    #[must_use]
    pub fn steps_left(&self) -> usize {
        lock(&self.slot).steps.len()
    }

    /// Every position that was confirmed, in order.
    #[must_use]
    pub fn confirmations(&self) -> Vec<Lsn> {
        lock(&self.slot).confirmations.clone()
    }
}

fn lock(slot: &Mutex<Slot>) -> MutexGuard<'_, Slot> {
    slot.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

fn refused(doing: &str, sqlstate: &str, message: &str) -> SourceError {
    SourceError::Server {
        doing: doing.to_owned(),
        error: Box::new(ServerError {
            severity: "ERROR".into(),
            sqlstate: sqlstate.into(),
            message: message.into(),
            ..ServerError::default()
        }),
    }
}

fn broken() -> SourceError {
    SourceError::Io {
        doing: "read the scripted stream".to_owned(),
        error: io::Error::new(io::ErrorKind::ConnectionReset, "the script breaks the connection here"),
    }
}

impl Source for ScriptedSource {
    fn identity(&mut self) -> SourceResult<SourceIdentity> {
        Ok(SourceIdentity { log_end: lock(&self.slot).log_end, ..self.identity.clone() })
    }

    fn catalogue(&mut self) -> SourceResult<Catalogue> {
        Ok(lock(&self.slot).catalogue.clone())
    }

    /// A row is a page.
    fn cut(&mut self, tables: &[CopyRequest], rules: CutRules) -> SourceResult<TableCuts> {
        let pages = |table: &CopyRequest| {
            let known = self.tables.iter();
            let mut known = known.filter(|known| known.schema == table.schema && known.name == table.table);
            known.next().map_or(0, |known| known.rows.len() as u64)
        };
        Ok(TableCuts::new(tables.iter().map(|table| rules.ranges(&[pages(table)])).collect(), None))
    }

    fn copy(&mut self, request: &CopyRequest, _: &CancelFlag) -> SourceResult<Box<dyn RowStream>> {
        let (schema, table) = (&request.schema, &request.table);
        let is_asked = |known: &&ScriptedTable| known.schema == *schema && known.name == *table;
        let Some(found) = self.tables.iter().find(is_asked) else {
            return Err(SourceError::Invalid(format!("the script has no table {schema}.{table}")));
        };
        let slot = lock(&self.slot);
        let columns = slot.catalogue.table(schema, table).map(|known| {
            let place = |name: &String| {
                let place = known.columns.iter().position(|column| *column.name == **name);
                place.ok_or_else(|| {
                    SourceError::Invalid(format!("the script has no column {schema}.{table}.{name}"))
                })
            };
            request.columns.iter().map(place).collect::<SourceResult<Vec<usize>>>()
        });
        let columns = columns.transpose()?;
        let (first, end) = (request.pages.first as usize, request.pages.end.map(|end| end as usize));
        let rows = found
            .rows
            .iter()
            .skip(first)
            .take(end.map_or(usize::MAX, |end| end - first))
            .map(|row| columns.as_ref().map_or_else(|| row.clone(), |columns| columns_of(row, columns)));
        Ok(Box::new(ScriptedRows { rows: rows.collect(), broken_after: found.broken_after }))
    }

    fn stream(&mut self, request: &StreamRequest) -> SourceResult<Box<dyn ChangeStream>> {
        let slot = lock(&self.slot);
        if slot.was_dropped {
            return Err(refused("follow the script", "42704", "the slot was dropped"));
        }
        let start = request.start.max(slot.confirmed);
        let again = slot.sent.again(start);
        drop(slot);
        Ok(Box::new(ScriptedStream { slot: Arc::clone(&self.slot), again, is_over: false }))
    }
}

impl ReplicaSource for ScriptedSource {
    fn place(&self) -> String {
        format!("a script of {}", self.identity.database)
    }

    fn another(&self, _: &CancelFlag) -> Box<dyn ReplicaSource> {
        Box::new(self.clone())
    }

    fn server_state(&mut self) -> SourceResult<ServerState> {
        Ok(ServerState {
            version: self.identity.server_version,
            wal_level: "logical".into(),
            slots_max: 10,
            slots_used: 0,
            senders_max: 10,
            senders_used: 0,
            role: "script".into(),
            database: self.identity.database.clone(),
            may_replicate: true,
            may_create: true,
            is_standby: false,
            encoding: "UTF8".into(),
            is_read_only: false,
            has_rds_role: false,
            idle_slots: Vec::new(),
        })
    }

    fn slot_state(&mut self, name: &str) -> SourceResult<Option<SlotState>> {
        let slot = lock(&self.slot);
        Ok((slot.name.as_deref() == Some(name)).then(|| SlotState {
            plugin: Some(PLUGIN.into()),
            database: Some(self.identity.database.clone()),
            active_process: None,
            restart_lsn: Some(slot.saved),
            confirmed_lsn: Some(slot.confirmed),
            wal_status: Some("reserved".into()),
            safe_bytes: None,
            kept_bytes: Some(slot.log_end.bytes_since(slot.saved)),
        }))
    }

    fn create_slot(
        &mut self,
        name: &str,
        _: &dyn Fn(&SlotWait),
        _: &CancelFlag,
    ) -> SourceResult<ExportedSlot> {
        let mut slot = lock(&self.slot);
        if slot.name.is_some() {
            return Err(refused("make a slot of the script", "42710", "the script has a slot"));
        }
        (slot.name, slot.was_dropped) = (Some(name.to_owned()), false);
        (slot.confirmed, slot.saved) = (slot.log_end, slot.log_end);
        Ok(ExportedSlot::new(slot.log_end, None, ()))
    }

    fn drop_slot(&mut self, name: &str) -> SourceResult<()> {
        let mut slot = lock(&self.slot);
        if slot.name.as_deref() != Some(name) {
            return Err(refused("drop a slot of the script", "42704", "the script has no such slot"));
        }
        (slot.name, slot.was_dropped) = (None, true);
        Ok(())
    }

    fn create_publication(&mut self, name: &str, tables: &[(String, String)]) -> SourceResult<()> {
        let mut slot = lock(&self.slot);
        let published = tables.iter().filter_map(|(schema, table)| {
            let columns = slot.catalogue.table(schema, table)?.columns.iter();
            Some(PublishedTable {
                schema: schema.as_str().into(),
                table: table.as_str().into(),
                columns: columns.map(|column| column.name.clone()).collect(),
                row_filter: None,
            })
        });
        let publication = Publication {
            name: name.into(),
            has_all_tables: false,
            operations: Operations { inserts: true, updates: true, deletes: true, truncates: true },
            is_by_root: true,
            tables: published.collect(),
        };
        slot.catalogue.publications.push(publication);
        Ok(())
    }

    fn drop_publication(&mut self, name: &str) -> SourceResult<()> {
        lock(&self.slot).catalogue.publications.retain(|publication| &*publication.name != name);
        Ok(())
    }

    fn slots_of_database(&mut self) -> SourceResult<Vec<String>> {
        Ok(lock(&self.slot).name.iter().cloned().collect())
    }

    fn timeline_end(&mut self, _: u32, _: u32) -> SourceResult<Option<Lsn>> {
        Ok(None)
    }

    fn filled_columns(&mut self, _: Oid, _: &[Box<str>], _: TableRewrite) -> SourceResult<Vec<String>> {
        Ok(Vec::new())
    }

    fn partition_origin(&mut self, _: Oid) -> SourceResult<Option<PartitionOrigin>> {
        Ok(Some(lock(&self.slot).partition_origin.unwrap_or(PartitionOrigin::Attached)))
    }
}

/// A row of COPY with these columns alone. A tab within a column is escaped, so that each one that stands there separates.
fn columns_of(row: &[u8], columns: &[usize]) -> Vec<u8> {
    let cells: Vec<&[u8]> = row.strip_suffix(b"\n").unwrap_or(row).split(|byte| *byte == b'\t').collect();
    let mut cut: Vec<u8> =
        columns.iter().filter_map(|column| cells.get(*column)).copied().collect::<Vec<_>>().join(&b'\t');
    cut.push(b'\n');
    cut
}

struct ScriptedRows {
    rows: VecDeque<Vec<u8>>,
    broken_after: Option<usize>,
}

impl RowStream for ScriptedRows {
    fn next_batch(&mut self, batch: &mut RowBatch) -> SourceResult<bool> {
        batch.clear();
        while batch.size_bytes() < BATCH_BYTES {
            if self.broken_after == Some(0) && batch.is_empty() {
                return Err(broken());
            }
            if self.broken_after == Some(0) {
                break;
            }
            let Some(row) = self.rows.pop_front() else { break };
            self.broken_after = self.broken_after.map(|rows| rows - 1);
            batch.push(&row);
        }
        Ok(!batch.is_empty())
    }
}

struct ScriptedStream {
    slot: Arc<Mutex<Slot>>,
    /// What is sent again before the script goes on.
    again: Vec<Vec<u8>>,
    is_over: bool,
}

impl ChangeStream for ScriptedStream {
    fn next_batch(&mut self, time_max: Duration) -> SourceResult<Option<ChangeBatch>> {
        if self.is_over {
            return Err(broken());
        }
        let mut slot = lock(&self.slot);
        let mut batch = ChangeBatch::default();
        if !self.again.is_empty() {
            for message in self.again.drain(..) {
                batch.push_message(Lsn::ZERO, Lsn::ZERO, PostgresTime::default(), &message);
            }
            return Ok(Some(batch));
        }
        match slot.steps.pop_front() {
            None | Some(ScriptStep::Silence) => {
                drop(slot);
                std::thread::sleep(time_max.min(SILENCE));
                return Ok(None);
            }
            Some(ScriptStep::Messages(messages)) => {
                for message in messages {
                    batch.push_message(Lsn::ZERO, Lsn::ZERO, PostgresTime::default(), &message);
                    slot.sent.add(message);
                }
                slot.log_end = slot.log_end.max(slot.sent.end());
            }
            Some(ScriptStep::Keepalive(position)) => {
                slot.log_end = slot.log_end.max(position);
                batch.push_keepalive(position, PostgresTime::default());
            }
            Some(ScriptStep::Catalogue(catalogue)) => {
                slot.catalogue = *catalogue;
                return Ok(None);
            }
            Some(ScriptStep::DropSlot) => {
                (slot.name, slot.was_dropped) = (None, true);
                self.is_over = true;
                return Err(broken());
            }
            Some(ScriptStep::Break) => {
                self.is_over = true;
                return Err(broken());
            }
            Some(ScriptStep::Crash) => {
                slot.confirmed = slot.saved;
                self.is_over = true;
                return Err(broken());
            }
            Some(ScriptStep::Checkpoint) => {
                slot.saved = slot.confirmed;
                let saved = slot.saved;
                slot.sent.forget(saved);
                return Ok(None);
            }
            Some(ScriptStep::Refuse(sqlstate)) => {
                self.is_over = true;
                return Err(refused("read the scripted stream", sqlstate, "the script refuses here"));
            }
        }
        Ok(Some(batch))
    }

    fn confirm(&self, position: Lsn) {
        let mut slot = lock(&self.slot);
        slot.confirmations.push(position);
        slot.confirmed = slot.confirmed.max(position);
    }

    fn stop(self: Box<Self>) -> SourceResult<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::batch::Change;

    fn begin(xid: u8) -> Vec<u8> {
        let mut message = vec![b'B'];
        message.extend([0; 16]);
        message.extend([0, 0, 0, xid]);
        message
    }

    fn commit(end: u8) -> Vec<u8> {
        let mut message = vec![b'C', 0];
        message.extend([0; 15]);
        message.push(end);
        message.extend([0; 8]);
        message
    }

    fn source(steps: Vec<ScriptStep>) -> ScriptedSource {
        let identity = SourceIdentity {
            system: "1".into(),
            timeline: 1,
            database: "shop".into(),
            log_end: Lsn::ZERO,
            server_version: 150_000,
        };
        ScriptedSource::new(identity, Catalogue::default(), steps)
    }

    fn request(start: u64) -> StreamRequest {
        StreamRequest {
            slot: "s".into(),
            publications: vec!["p".into()],
            start: Lsn::new(start),
            logical_messages: Default::default(),
        }
    }

    /// The first letters of all messages until the stream breaks, and the error.
    fn letters(stream: &mut dyn ChangeStream) -> String {
        let mut letters = String::new();
        loop {
            match stream.next_batch(Duration::ZERO) {
                Ok(Some(batch)) => letters.extend(batch.changes().map(|change| match change {
                    Change::Message { bytes, .. } => char::from(bytes[0]),
                    Change::Keepalive { .. } => 'k',
                })),
                Ok(None) | Err(_) => return letters,
            }
        }
    }

    #[test]
    fn a_crash_sends_again_what_was_confirmed_since_the_checkpoint() {
        let relation = b"R\0\0\0\x07\0t\0d\0\0".to_vec();
        let first = vec![begin(1), relation, commit(10)];
        let half = vec![begin(3)];
        let mut source = source(vec![
            ScriptStep::Messages(first),
            ScriptStep::Messages(vec![begin(2), commit(20)]),
            ScriptStep::Messages(half),
            ScriptStep::Break,
            ScriptStep::Messages(vec![commit(30)]),
            ScriptStep::Crash,
        ]);
        let mut stream = source.stream(&request(0)).unwrap();
        assert_eq!(letters(&mut *stream), "BRCBCB");
        stream.confirm(Lsn::new(10));
        assert!(stream.next_batch(Duration::ZERO).is_err());
        // Behind 10: the description, the second transaction, and the third from its beginning.
        let mut stream = source.stream(&request(0)).unwrap();
        stream.confirm(Lsn::new(20));
        assert_eq!(letters(&mut *stream), "RBCBC");
        // The crash forgot both; the reader's own position makes up for it.
        assert!(letters(&mut *source.clone().stream(&request(0)).unwrap()).starts_with("RBRCBCBC"));
        let mut stream = source.stream(&request(30)).unwrap();
        assert_eq!(stream.next_batch(Duration::ZERO).unwrap().unwrap().changes().count(), 1);
        assert_eq!(source.confirmations(), [Lsn::new(10), Lsn::new(20)]);
    }
}
