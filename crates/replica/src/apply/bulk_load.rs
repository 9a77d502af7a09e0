//! Bulk load: a transaction that inserts many rows becomes one commit by way of the copy's builder.
//!
//! ```text
//! rows of the fold, or of its temporary file ──┐
//! rows of an open transaction, ahead of time ──┴─> filling ──> one load, with changed vertices, notes and position
//! ```
//!
//! Written one by one, rows take several times the memory that they take here, and all of it at once; here blocks beyond the
//! options' memory go to a temporary file, as those of the copy do. A load makes no edge of a row that is there already, so
//! that it is not for rows for which something in the graph waits; of vertices that are there it changes properties alone.
//!
//! What refuses the load of rows that memory holds as well, the ordinary way meets again, and tells by its row.

use crate::apply::applier::{Applied, AppliedFigures, Applier, ApplyTimes, BulkOutcome};
use crate::apply::attempt::link_ends;
use crate::apply::bulk_plan::BulkPlan;
use crate::apply::error::{ApplyError, ApplyResult};
use crate::apply::filling::{BATCH_ROWS, Filling};
use crate::apply::fold::TransactionFold;
use crate::apply::kept_rows::KeptRows;
use crate::apply::schema::{EndSchema, IfMissing};
use crate::copy::graph_builder::BuiltGraph;
use crate::copy::options::CopyOptions;
use crate::count_note::{COUNT_NOTE, CountNote};
use crate::planted::{Bug, planted};
use crate::position::{POSITION_NOTE, Position};
use crate::translate::loss::LossCounts;
use crate::translate::pause::{Halt, Recovery};
use crate::translate::row_change::CellChange;
use crate::translate::rules::{RuleNumber, RulePlan, link_cells};
use evergraph::Snapshot;
use evergraph::database::ImportProgress;
use evergraph::ownership::{OwnerChanges, Ownership};
use evergraph_files::import::existing_graph::ExistingGraph;
use evergraph_graph::cancel::CancelFlag;
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::id::{EdgeId, VertexId};
use evergraph_graph::load::VertexChange;
use evergraph_graph::look_up::{MatchCursor, Matches};
use evergraph_graph::value::Value;
use evergraph_graph::view::GraphView as _;
use std::collections::BTreeMap;
use std::slice::from_ref;
use std::sync::Arc;
use std::time::{Duration, Instant};

impl Applier {
    /// Loads the rows of `fold` in bulk, and sets the position: one commit, visible at once.
    ///
    /// # Errors
    /// As [`Applier::apply`]; `busy` if another load runs; `cancelled`.
    pub(super) fn load(
        &mut self,
        ownership: &mut Ownership,
        fold: &TransactionFold,
        position: &Position,
    ) -> ApplyResult<BulkOutcome> {
        let began = Instant::now();
        let plan = BulkPlan::new(Arc::clone(self.rules().plan()));
        let known = ExistingGraph::of(ownership.database().snapshot());
        let mut filling = Filling::new(self.rules(), &plan, fold.limits(), known)?;
        let added = self.add_rows(ownership, fold, &mut filling).and_then(|is_free| {
            filling.hand_over()?;
            Ok(is_free)
        });
        let table = filling.refused().map(str::to_owned);
        let loaded = match added {
            Ok(false) => return Ok(BulkOutcome::Awaited),
            Ok(true) => self.load_filled(ownership, filling, &[], fold, position, began),
            Err(error) => Err(error.into()),
        };
        match loaded {
            Ok(applied) => Ok(BulkOutcome::Loaded(applied)),
            Err(ApplyError::Graph(error)) if !fold.is_spilled() && error.kind() == ErrorKind::Invalid => {
                Ok(BulkOutcome::Awaited)
            }
            Err(ApplyError::Graph(error)) => Err(not_loaded(error, table)),
            Err(halt) => Err(halt),
        }
    }

    /// Loads what `filling` has, all of which was handed over, with `changes`, with what the rows of `fold` lost and the
    /// position. Nothing in the graph waits for it.
    pub(super) fn load_filled(
        &mut self,
        ownership: &mut Ownership,
        filling: Filling<'_>,
        changes: &[VertexChange],
        fold: &TransactionFold,
        position: &Position,
        began: Instant,
    ) -> ApplyResult<Applied> {
        let (vertices, cancel) = (began.elapsed(), self.cancel.clone());
        let BuiltGraph { load, notes, missing_edges, .. } = filling.finish(&cancel)?;
        let counts = self
            .count_waiting(fold.losses(), &notes, &missing_edges)
            .inspect_err(|_| self.rows.take_back())?;
        let edges = began.elapsed() - vertices;
        let encoded = position.encode();
        let mut all_notes: Vec<(&str, &[u8])> =
            notes.iter().map(|(name, bytes)| (&**name, &**bytes)).collect();
        all_notes.push((POSITION_NOTE, &encoded));
        let encoded = counts.as_ref().map(CountNote::encode);
        all_notes.extend(encoded.as_ref().map(|counts| (COUNT_NOTE, &**counts)));
        let limits = fold.limits();
        let sorting = CopyOptions::new(limits.bulk_memory_bytes, &limits.folder).memory_shares().sorting;
        // Only until it is installed: what stops it later leaves a store that takes no more commits.
        let building = CancelFlag::default();
        let tell = |progress: &ImportProgress<'_>| {
            if matches!(progress, ImportProgress::Building(_)) && cancel.is_cancelled() {
                building.cancel();
            }
        };
        let owner = OwnerChanges { notes: &all_notes, vertices: changes };
        let loaded = ownership.load_within(sorting, &load, owner, &tell, &building);
        let loaded = loaded.inspect_err(|_| self.rows.take_back())?;
        self.rows.keep();
        self.keep_counts(counts);
        if !notes.is_empty() {
            let all_notes = ownership.database().snapshot().notes();
            self.rows = KeptRows::read(self.rules(), &all_notes, &self.rows.waiting_links())?;
        }
        let figures = AppliedFigures {
            vertices_added: load.vertices_count(),
            edges_added: load.edges_count(),
            vertices_changed: changes.len() as u64,
            ..AppliedFigures::default()
        };
        let commit = began.elapsed() - vertices - edges;
        let times = ApplyTimes { look_up: Duration::ZERO, vertices, edges, commit };
        Ok(Applied { timestamp: loaded.timestamp, tries: 1, figures, times })
    }

    /// Counts what waits after the load, of which `notes` and `missing_edges` say what is new. The counts, if they change.
    fn count_waiting(
        &mut self,
        losses: &LossCounts,
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
        Ok(self.changed_counts(Some(losses)))
    }

    /// Adds all rows. Whether nothing in the graph waits for one of them: keys that are in a file do not say that later.
    fn add_rows(
        &self,
        ownership: &Ownership,
        fold: &TransactionFold,
        filling: &mut Filling<'_>,
    ) -> Result<bool> {
        let (may_create, awaited_rules) = (self.creating_rules(), self.awaited_rules());
        let mut keys: Vec<Vec<Value>> = vec![Vec::new(); self.rules().len()];
        let (mut is_awaited, mut rows) = (false, 0_usize);
        fold.visit_inserted(&mut |rule, key, cells| {
            rows += 1;
            if rows.is_multiple_of(BATCH_ROWS) {
                self.cancel.check()?;
            }
            is_awaited = is_awaited
                || may_create[rule]
                || self.rows.has_created(rule)
                || self.rows.is_waited_for(rule, &key.first);
            if !is_awaited && awaited_rules[rule] {
                keys[rule].push(key.first.clone());
                if keys[rule].len() == BATCH_ROWS {
                    is_awaited = self.do_links_wait(ownership, rule, &keys[rule])?;
                    keys[rule].clear();
                }
            }
            if is_awaited { Ok(()) } else { filling.insert(rule, key, cells, false) }
        })?;
        for (rule, keys) in keys.iter().enumerate().filter(|(_, keys)| !keys.is_empty()) {
            is_awaited = is_awaited || self.do_links_wait(ownership, rule, keys)?;
        }
        Ok(!is_awaited)
    }

    /// Whether something in the graph waits for new vertices of a filling that kept their keys, and handed all rows over; also if
    /// nobody knows, since keys are in a file.
    pub(super) fn is_awaited(&self, ownership: &Ownership, filling: &Filling<'_>) -> Result<bool> {
        let rules = self.rules();
        let touched = (0..rules.len()).filter(|rule| filling.has_rows(*rule));
        for rule in touched.filter(|rule| matches!(rules.rule(*rule), RulePlan::Vertex(_))) {
            if self.rows.has_created(rule) {
                return Ok(true);
            }
            for keys in filling.keys(rule).chunks(BATCH_ROWS) {
                if self.do_links_wait(ownership, rule, keys)? {
                    return Ok(true);
                }
            }
        }
        Ok(self.rows.ends_of_waiting().any(|(rule, key)| filling.may_have(rules, rule, key)))
    }

    /// What becomes of vertices that are there; `None` if their rows change more than properties.
    pub(super) fn vertex_changes(
        &self,
        snapshot: &Snapshot,
        filling: &Filling<'_>,
    ) -> Result<Option<Vec<VertexChange>>> {
        let find = |rule: RuleNumber, key: &Value| -> Result<Option<VertexId>> {
            let (schema, mut found) = (self.schema.vertex(rule), Vec::with_capacity(1));
            snapshot.look_up(schema.label, schema.key, from_ref(key), &mut found)?;
            Ok(found[0])
        };
        let mut changes = Vec::new();
        for (rule, key, cells) in filling.changed() {
            let RulePlan::Vertex(plan) = self.rules().rule(rule) else { return Ok(None) };
            if filling.may_have(self.rules(), rule, key) || self.rows.is_created(rule, key) {
                if planted(Bug::EarlyChangeForgotten) {
                    continue;
                }
                return Ok(None);
            }
            let Some(vertex) = find(rule, key)? else { return Ok(None) };
            let schema = self.schema.vertex(rule);
            for (number, link) in schema.links.iter().enumerate() {
                let first = link_cells(plan, number).start;
                match &cells[first] {
                    CellChange::Kept if link.properties.is_empty() => continue,
                    CellChange::Value(end) if link.properties.is_empty() => {
                        let Some(other) = find(link.end.rule, end)? else { return Ok(None) };
                        let (source, target) = link_ends(link, vertex, other);
                        let edge = EdgeId { source, edge_type: link.edge_type, target, discriminator: 0 };
                        let mut is_there = Vec::with_capacity(1);
                        snapshot.has_edges(&[edge], &mut is_there)?;
                        // A row has one edge of a foreign key: it is this one, and stays.
                        if !is_there[0] {
                            return Ok(None);
                        }
                    }
                    _ => return Ok(None),
                }
            }
            let own = schema.properties.iter().zip(cells);
            let own = own.filter(|(_, cell)| **cell != CellChange::Kept);
            let properties = own.map(|(key, cell)| (*key, cell.value().cloned())).collect();
            changes.push(VertexChange { vertex, properties });
        }
        Ok(Some(changes))
    }

    /// Of each rule, whether its rows create vertices that are missing: something in the graph may wait for those, too.
    pub(super) fn creating_rules(&self) -> Vec<bool> {
        let creates = |end: &EndSchema| end.if_missing == IfMissing::Create;
        let may_create = |rule: RuleNumber| match self.rules().rule(rule) {
            RulePlan::Vertex(_) => self.schema.vertex(rule).links.iter().any(|link| creates(&link.end)),
            RulePlan::Edge(_) => {
                let edge = self.schema.edge(rule);
                creates(&edge.start) || creates(&edge.end)
            }
        };
        (0..self.rules().len()).map(may_create).collect()
    }

    /// Of each rule, whether foreign keys may wait for its vertices.
    pub(super) fn awaited_rules(&self) -> Vec<bool> {
        self.schema.waiting_links.iter().map(|links| !links.is_empty()).collect()
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

/// What the load refuses of a row is the row's, or the graph and the source have parted; `table` is the row's, if it is known.
fn not_loaded(error: Error, table: Option<String>) -> ApplyError {
    match error.kind() {
        ErrorKind::Limit if error.is_full_disk() => error.into(),
        ErrorKind::Invalid | ErrorKind::Limit => Halt {
            table: table.unwrap_or_default(),
            column: None,
            cause: format!("a transaction of inserted rows cannot be loaded: {error}"),
            remedy: String::new(),
            recovery: Recovery::ResyncParted,
        }
        .into(),
        _ => error.into(),
    }
}
