//! Filling: rows of one transaction on their way into the builder of a bulk load, and rows of the graph that it changes besides.
//!
//! ```text
//! inserted row  ──> batches of its table ──> builder: vertices, and edges whose ends are there already
//! updated row of a vertex ──> its newest cells, kept apart: properties of a vertex that the graph has
//! anything else ──> not taken: the transaction is written row by row
//! ```
//!
//! Whether a row may be loaded is asked twice: of its kind when it comes, of the graph when all rows are there.

use crate::apply::bulk_plan::BulkPlan;
use crate::apply::limits::TransactionLimits;
use crate::copy::graph_builder::{BuiltGraph, GraphBuilder};
use crate::copy::options::CopyOptions;
use crate::copy::row_batch::{BatchCollector, RowBatches};
use crate::copy::table_readers::RowCollector as _;
use crate::planted::{Bug, planted};
use crate::translate::row_change::{CellChange, NewRow, RowContent, RowEvent, RowKey};
use crate::translate::rules::{RuleNumber, RulePlan, Rules};
use evergraph_files::import::existing_graph::ExistingGraph;
use evergraph_graph::cancel::CancelFlag;
use evergraph_graph::error::Result;
use evergraph_graph::value::Value;
use std::collections::HashMap;

/// Rows of a rule that are handed to the builder at once.
pub(super) const BATCH_ROWS: usize = 8192;

/// Bytes of values of these rows, beyond which fewer rows are handed over.
const BATCH_BYTES: usize = 1 << 20;

/// Rows of the graph that may change with a load: more of them cost less one by one.
const CHANGED_ROWS_MAX: usize = 4096;

/// Rows of each table on their way to a builder.
pub(super) struct Filling<'p> {
    plan: &'p BulkPlan,
    builder: GraphBuilder<'p>,
    /// Of each read of the pass.
    collectors: Vec<BatchCollector>,
    /// Of each collector, its rows and the bytes of their values.
    counts: Vec<(usize, usize)>,
    /// Of each rule, the read of its table, and its number in the pass.
    places: Vec<(usize, RuleNumber)>,
    /// Whether rows of each rule came.
    has_rows: Vec<bool>,
    /// Of each rule for whose vertices foreign keys may wait, the keys that came, if they are needed.
    keys: Vec<Vec<Value>>,
    keys_bytes: usize,
    /// The cells of rows that the graph has.
    changed: HashMap<(RuleNumber, Value), Vec<CellChange>>,
    changed_bytes: usize,
    /// The table whose rows the builder refused.
    refused: Option<String>,
}

impl<'p> Filling<'p> {
    /// No rows yet, beside `known`.
    ///
    /// # Errors
    /// As [`GraphBuilder::new`].
    pub(super) fn new(
        rules: &Rules,
        plan: &'p BulkPlan,
        limits: &TransactionLimits,
        known: ExistingGraph,
    ) -> Result<Self> {
        let pass = &plan.pass;
        let options = CopyOptions::new(limits.bulk_memory_bytes, &limits.folder);
        let builder = GraphBuilder::new(&plan.plan, pass, &options, known)?;
        let mut places = vec![(0, 0); rules.len()];
        for (number, read) in pass.reads.iter().enumerate() {
            // The pass has the same tables, in another order.
            let of_table = |rules: &Rules| rules.of_table(read.table).map(|(_, rules)| rules);
            let (ours, theirs) = (of_table(rules), of_table(pass.rules()));
            let both = ours.into_iter().flatten().zip(theirs.into_iter().flatten());
            both.for_each(|(rule, in_pass)| places[rule] = (number, in_pass));
        }
        let collectors = (0..pass.reads.len()).map(|read| BatchCollector::new(pass, read)).collect();
        Ok(Self {
            plan,
            builder,
            collectors,
            counts: vec![(0, 0); pass.reads.len()],
            places,
            has_rows: vec![false; rules.len()],
            keys: vec![Vec::new(); rules.len()],
            keys_bytes: 0,
            changed: HashMap::new(),
            changed_bytes: 0,
            refused: None,
        })
    }

    /// The same, for rows that come before their commit: edges are stored as soon as their ends are there.
    pub(super) fn eager(self) -> Self {
        Self { builder: self.builder.eager(), ..self }
    }

    /// Looks at `known` from here on: a newer state of the graph, or nothing while no row comes.
    pub(super) fn renew_known(&mut self, known: ExistingGraph) {
        self.builder.renew_known(known);
    }

    /// Takes what became of a row, whose cells are among `cells`; whether it can. `keeps_keys` says of each rule whether its
    /// keys are needed.
    ///
    /// # Errors
    /// As [`Filling::insert`].
    pub(super) fn take_event(
        &mut self,
        rules: &Rules,
        rule: RuleNumber,
        event: &RowEvent,
        cells: &[CellChange],
        keeps_keys: &[bool],
    ) -> Result<bool> {
        match event {
            RowEvent::Inserted(NewRow { key, content, .. }) => match *content {
                // It is not in the graph, whatever happens to it: an update says that it is new.
                RowContent::Hidden => Ok(true),
                RowContent::Shown { keeps: true, .. } => Ok(false),
                RowContent::Shown { cells: first, keeps: false } => {
                    let cells = &cells[first..first + rules.width(rule)];
                    self.insert(rule, key, cells, keeps_keys[rule])?;
                    Ok(true)
                }
            },
            RowEvent::Updated { old_key: None, new, .. } => {
                let RowContent::Shown { cells: first, .. } = new.content else { return Ok(false) };
                Ok(matches!(rules.rule(rule), RulePlan::Vertex(_))
                    && self.change(rule, &new.key, &cells[first..first + rules.width(rule)]))
            }
            RowEvent::Deleted { .. } => Ok(planted(Bug::EarlyDeleteIgnored)),
            RowEvent::Updated { .. } | RowEvent::Truncated => Ok(false),
        }
    }

    /// Adds a row that is new.
    ///
    /// # Errors
    /// `invalid` for a key that came before or that the graph has; what spilling meets.
    pub(super) fn insert(
        &mut self,
        rule: RuleNumber,
        key: &RowKey,
        cells: &[CellChange],
        keeps_key: bool,
    ) -> Result<()> {
        self.has_rows[rule] = true;
        if keeps_key {
            self.keys_bytes += size_of::<Value>() + key.first.heap_bytes();
            self.keys[rule].push(key.first.clone());
        }
        let (read, in_pass) = self.places[rule];
        self.collectors[read].push(in_pass, key, cells);
        let (rows, bytes) = &mut self.counts[read];
        *rows += 1;
        *bytes += key.heap_bytes() + cells.iter().map(CellChange::heap_bytes).sum::<usize>();
        if *rows < BATCH_ROWS && *bytes < BATCH_BYTES { Ok(()) } else { self.hand_over() }
    }

    /// Keeps the cells of a row that the graph has; whether there is room.
    fn change(&mut self, rule: RuleNumber, key: &RowKey, cells: &[CellChange]) -> bool {
        let known = self.changed.entry((rule, key.first.clone()));
        let known = known.or_insert_with(|| vec![CellChange::Kept; cells.len()]);
        for (known, cell) in known.iter_mut().zip(cells) {
            if *cell != CellChange::Kept {
                self.changed_bytes += cell.heap_bytes();
                known.clone_from(cell);
            }
        }
        self.changed_bytes += key.heap_bytes() + size_of_val(cells);
        self.changed.len() <= CHANGED_ROWS_MAX
    }

    /// Hands the rows of all reads to the builder: all vertices first, since edges mostly come behind their ends.
    pub(super) fn hand_over(&mut self) -> Result<()> {
        self.counts.fill((0, 0));
        let mut edges_of_reads = Vec::with_capacity(self.collectors.len());
        for read in 0..self.collectors.len() {
            let RowBatches { vertices, edges, .. } = self.collectors[read].take();
            let name = &self.plan.pass.reads[read].name;
            for (vertex, batch) in self.plan.pass.table(read).vertices.iter().zip(vertices) {
                let added = self.builder.add_vertices(name, vertex, batch);
                added.inspect_err(|_| self.refused = Some(name.to_string()))?;
            }
            edges_of_reads.push(edges);
        }
        for (read, edges) in edges_of_reads.into_iter().enumerate() {
            for (at, batch) in edges.into_iter().enumerate() {
                let added = self.builder.add_edges((read, at), batch);
                added.inspect_err(|_| self.refused = Some(self.plan.pass.reads[read].name.to_string()))?;
            }
        }
        Ok(())
    }

    /// Whether a new vertex of a rule of vertices has this key, as far as rows were handed over; `true` also where nobody
    /// knows yet.
    pub(super) fn may_have(&self, rules: &Rules, rule: RuleNumber, key: &Value) -> bool {
        let RulePlan::Vertex(vertex) = rules.rule(rule) else { return false };
        self.has_rows[rule] && self.builder.may_have(&vertex.label, vertex.key.value_type(), key)
    }

    /// Whether new rows of a rule came.
    pub(super) fn has_rows(&self, rule: RuleNumber) -> bool {
        self.has_rows[rule]
    }

    /// The keys of new rows of a rule, if they are needed.
    pub(super) fn keys(&self, rule: RuleNumber) -> &[Value] {
        &self.keys[rule]
    }

    /// Rows that the graph has: rule, key and newest cells.
    pub(super) fn changed(&self) -> impl Iterator<Item = (RuleNumber, &Value, &[CellChange])> {
        self.changed.iter().map(|((rule, key), cells)| (*rule, key, &**cells))
    }

    /// The table whose rows the builder refused, if it did.
    pub(super) fn refused(&self) -> Option<&str> {
        self.refused.as_deref()
    }

    /// Memory that it takes beside the builder's, in bytes, about.
    pub(super) fn heap_bytes(&self) -> usize {
        self.changed_bytes + self.keys_bytes
    }

    /// Everything was added and handed over.
    ///
    /// # Errors
    /// As [`GraphBuilder::finish`]; `cancelled`.
    pub(super) fn finish(mut self, cancel: &CancelFlag) -> Result<BuiltGraph> {
        self.builder.end_vertices(cancel)?;
        self.builder.finish(cancel)
    }
}
