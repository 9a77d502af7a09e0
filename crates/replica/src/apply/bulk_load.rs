//! Bulk load: a transaction that inserts many rows and does nothing else becomes one commit by way of the copy's builder.
//!
//! ```text
//! rows of the fold, or of its temporary file ──> batches of each table ──> builder ──> one load, with notes and position
//! ```
//!
//! Written one by one, rows take several times the memory that they take here, and all of it at once; here blocks beyond the
//! options' memory go to a temporary file, as those of the copy do. A load changes no vertex and makes no edge of a row that is
//! there already, so that it is not for rows for which something in the graph waits.

use crate::apply::applier::{Applied, AppliedFigures, Applier, ApplyTimes, BulkOutcome};
use crate::apply::error::{ApplyError, ApplyResult};
use crate::apply::fold::TransactionFold;
use crate::apply::kept_rows::KeptRows;
use crate::apply::schema::{EndSchema, IfMissing};
use crate::copy::graph_builder::{BuiltGraph, GraphBuilder};
use crate::copy::options::CopyOptions;
use crate::copy::passes::CopyPass;
use crate::copy::row_batch::{BatchCollector, RowBatches};
use crate::copy::table_readers::RowCollector as _;
use crate::count_note::{COUNT_NOTE, CountNote};
use crate::position::{POSITION_NOTE, Position};
use crate::translate::pause::{Halt, Recovery};
use crate::translate::row_change::{CellChange, RowKey};
use crate::translate::rules::{RuleNumber, RulePlan, Rules};
use evergraph::ownership::Ownership;
use evergraph_files::import::existing_graph::ExistingGraph;
use evergraph_graph::cancel::CancelFlag;
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::look_up::{MatchCursor, Matches};
use evergraph_graph::value::Value;
use evergraph_graph::view::GraphView as _;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// Rows of a rule that are handed to the builder at once.
const BATCH_ROWS: usize = 8192;

/// Bytes of values of these rows, beyond which fewer rows are handed over.
const BATCH_BYTES: usize = 1 << 20;

/// Rows of each table on their way to a builder.
struct TableBatches<'p> {
    pass: &'p CopyPass,
    builder: GraphBuilder<'p>,
    /// Of each read of the pass.
    collectors: Vec<BatchCollector>,
    /// Of each collector, its rows and the bytes of their values.
    counts: Vec<(usize, usize)>,
    /// Of each rule, the read of its table, and its number in the pass.
    places: Vec<(usize, RuleNumber)>,
}

impl Applier {
    /// Loads the rows of `fold` in bulk, and sets the position: one commit, visible at once.
    ///
    /// # Errors
    /// As [`Applier::apply`]; `busy` if another load runs.
    pub(super) fn load(
        &mut self,
        ownership: &mut Ownership,
        fold: &TransactionFold,
        position: &Position,
    ) -> ApplyResult<BulkOutcome> {
        let began = Instant::now();
        let limits = fold.limits();
        let options = CopyOptions::new(limits.bulk_memory_bytes, &limits.folder);
        let pass = CopyPass::of_all(self.rules().plan(), options.missing);
        let known = ExistingGraph::of(ownership.database().snapshot());
        let builder = GraphBuilder::new(self.rules().plan(), &pass, &options, known)?;
        let mut batches = TableBatches::new(self.rules(), &pass, builder);
        if !self.add_rows(ownership, fold, &mut batches).map_err(not_loaded)? {
            return Ok(BulkOutcome::Awaited);
        }
        let (vertices, cancel) = (began.elapsed(), CancelFlag::default());
        let built = batches.finish(&cancel).map_err(not_loaded)?;
        let BuiltGraph { load, notes, missing_edges, .. } = built;
        let counts =
            self.count_waiting(fold, &notes, &missing_edges).inspect_err(|_| self.rows.take_back())?;
        let edges = began.elapsed() - vertices;
        let encoded = position.encode();
        let mut all_notes: Vec<(&str, &[u8])> =
            notes.iter().map(|(name, bytes)| (&**name, &**bytes)).collect();
        all_notes.push((POSITION_NOTE, &encoded));
        let encoded = counts.as_ref().map(CountNote::encode);
        all_notes.extend(encoded.as_ref().map(|counts| (COUNT_NOTE, &**counts)));
        let sorting = options.memory_shares().sorting;
        let loaded = ownership.load_within(sorting, &load, &all_notes, &|_| (), &cancel);
        let loaded = loaded.inspect_err(|_| self.rows.take_back()).map_err(not_loaded)?;
        self.rows.keep();
        self.keep_counts(counts);
        if !notes.is_empty() {
            let all_notes = ownership.database().snapshot().notes();
            self.rows = KeptRows::read(self.rules(), &all_notes, &self.rows.waiting_links())?;
        }
        let (vertices_added, edges_added) = (load.vertices_count(), load.edges_count());
        let figures = AppliedFigures { vertices_added, edges_added, ..AppliedFigures::default() };
        let commit = began.elapsed() - vertices - edges;
        let times = ApplyTimes { look_up: Duration::ZERO, vertices, edges, commit };
        let applied = Applied { timestamp: loaded.timestamp, tries: 1, figures, times };
        Ok(BulkOutcome::Loaded(applied))
    }

    /// Counts what waits after the load, of which `notes` and `missing_edges` say what is new. The counts, if they change.
    fn count_waiting(
        &mut self,
        fold: &TransactionFold,
        notes: &BTreeMap<String, Vec<u8>>,
        missing_edges: &BTreeMap<usize, u64>,
    ) -> ApplyResult<Option<CountNote>> {
        for rule in 0..self.rules().len() {
            let plan = self.rules().rule(rule);
            let missing = missing_edges.get(&plan.place()).filter(|_| matches!(plan, RulePlan::Vertex(_)));
            self.rows.count_links(rule, missing.map_or(0, |missing| *missing as i64));
        }
        self.rows.check_links()?;
        self.rows.check_room(notes)?;
        Ok(self.changed_counts(Some(fold)))
    }

    /// Adds all rows. Whether nothing in the graph waits for one of them.
    fn add_rows(
        &self,
        ownership: &Ownership,
        fold: &TransactionFold,
        batches: &mut TableBatches<'_>,
    ) -> Result<bool> {
        let mut keys: Vec<Vec<Value>> = vec![Vec::new(); self.rules().len()];
        let may_create: Vec<bool> = (0..keys.len()).map(|rule| self.may_create(rule)).collect();
        let mut is_awaited = false;
        fold.visit_inserted(&mut |rule, key, cells| {
            if is_awaited {
                return Ok(());
            }
            is_awaited = may_create[rule];
            if !is_awaited && matches!(self.rules().rule(rule), RulePlan::Vertex(_)) {
                is_awaited = self.rows.has_created(rule) || self.rows.is_waited_for(rule, &key.first);
                if !self.schema.waiting_links[rule].is_empty() {
                    keys[rule].push(key.first.clone());
                    if keys[rule].len() == BATCH_ROWS {
                        is_awaited |= self.do_links_wait(ownership, rule, &keys[rule])?;
                        keys[rule].clear();
                    }
                }
            }
            if is_awaited { Ok(()) } else { batches.push(rule, key, cells) }
        })?;
        for (rule, keys) in keys.iter().enumerate().filter(|(_, keys)| !keys.is_empty()) {
            is_awaited = is_awaited || self.do_links_wait(ownership, rule, keys)?;
        }
        Ok(!is_awaited)
    }

    /// Whether a rule's rows create vertices that are missing: something in the graph may wait for those, too.
    fn may_create(&self, rule: RuleNumber) -> bool {
        let creates = |end: &EndSchema| end.if_missing == IfMissing::Create;
        match self.rules().rule(rule) {
            RulePlan::Vertex(_) => self.schema.vertex(rule).links.iter().any(|link| creates(&link.end)),
            RulePlan::Edge(_) => {
                let edge = self.schema.edge(rule);
                creates(&edge.start) || creates(&edge.end)
            }
        }
    }

    /// Whether rows of the graph have foreign keys that wait for one of these keys.
    fn do_links_wait(&self, ownership: &Ownership, rule: RuleNumber, keys: &[Value]) -> Result<bool> {
        let snapshot = ownership.database().snapshot();
        for (of_row, link) in &self.schema.waiting_links[rule] {
            let schema = self.schema.vertex(*of_row);
            let Some((kept_key, _)) = &schema.links[*link].waiting else { continue };
            let (mut cursor, mut matches) = (MatchCursor::default(), Matches::default());
            let label = schema.label;
            snapshot.look_up_vertices(label, *kept_key, keys, &mut cursor, 1, &mut matches)?;
            if !matches.items.is_empty() {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

impl<'p> TableBatches<'p> {
    fn new(rules: &Rules, pass: &'p CopyPass, builder: GraphBuilder<'p>) -> Self {
        let mut places = vec![(0, 0); rules.len()];
        for (number, read) in pass.reads.iter().enumerate() {
            // The pass has the same tables, in another order.
            let of_table = |rules: &Rules| rules.of_table(read.table).map(|(_, rules)| rules);
            let (ours, theirs) = (of_table(rules), of_table(pass.rules()));
            let both = ours.into_iter().flatten().zip(theirs.into_iter().flatten());
            both.for_each(|(rule, in_pass)| places[rule] = (number, in_pass));
        }
        let collectors = (0..pass.reads.len()).map(|read| BatchCollector::new(pass, read)).collect();
        Self { pass, builder, collectors, counts: vec![(0, 0); pass.reads.len()], places }
    }

    fn push(&mut self, rule: RuleNumber, key: &RowKey, cells: &[CellChange]) -> Result<()> {
        let (read, in_pass) = self.places[rule];
        self.collectors[read].push(in_pass, key, cells);
        let (rows, bytes) = &mut self.counts[read];
        *rows += 1;
        *bytes += key.heap_bytes() + cells.iter().map(CellChange::heap_bytes).sum::<usize>();
        if *rows < BATCH_ROWS && *bytes < BATCH_BYTES { Ok(()) } else { self.take(read) }
    }

    /// Hands the rows of a read to the builder.
    fn take(&mut self, read: usize) -> Result<()> {
        self.counts[read] = (0, 0);
        let RowBatches { vertices, edges, .. } = self.collectors[read].take();
        let name = &self.pass.reads[read].name;
        for (vertex, batch) in self.pass.table(read).vertices.iter().zip(vertices) {
            self.builder.add_vertices(name, vertex, batch)?;
        }
        let mut edges = edges.into_iter().enumerate();
        edges.try_for_each(|(at, batch)| self.builder.add_edges((read, at), batch))
    }

    /// Everything was added.
    fn finish(mut self, cancel: &CancelFlag) -> Result<BuiltGraph> {
        (0..self.collectors.len()).try_for_each(|read| self.take(read))?;
        self.builder.end_vertices(cancel)?;
        self.builder.finish(cancel)
    }
}

/// What the load refuses of a row is the row's, or the graph and the source have parted.
fn not_loaded(error: Error) -> ApplyError {
    match error.kind() {
        ErrorKind::Limit if error.is_full_disk() => error.into(),
        ErrorKind::Invalid | ErrorKind::Limit => Halt {
            table: String::new(),
            column: None,
            cause: format!("a transaction of inserted rows cannot be loaded: {error}"),
            remedy: String::new(),
            recovery: Recovery::Resync,
        }
        .into(),
        _ => error.into(),
    }
}
