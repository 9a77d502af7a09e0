//! `V()`, `E()`, `inject()`: where traversers come from.

use crate::batch::column::{Column, Data};
use crate::batch::path::PathId;
use crate::batch::{Batch, Rows};
use crate::execute::context::Context;
use crate::execute::limits::MemoryShare;
use crate::execute::pipeline::Step;
use crate::plan::element_reads::{ElementPart, ElementRead};
use crate::plan::operator::{Name, Scan, Test};
use crate::plan::predicate::{Operand, Predicate};
use crate::step::filter::passes;
use crate::step::{foreseen, look_up};
use crate::value::element_id::edge_of_text;
use crate::value::item::Item;
use evergraph_graph::error::{Error, Result};
use evergraph_graph::filter::Comparison;
use evergraph_graph::id::{EdgeId, LabelId, TypeId, VertexId};
use evergraph_graph::view::{EdgeCursor, VertexCursor};

/// Elements that a scan which can't be resumed reads at once.
const SCANNED: usize = 1 << 16;

/// Vertices of the graph for each row.
pub struct Vertices {
    scan: Scan,
    row: usize,
    cursor: VertexCursor,
    /// What is left of the ids that were named.
    named: Option<std::vec::IntoIter<VertexId>>,
    /// The memory of those.
    holding: MemoryShare,
    /// What is read of those that are found, by the tests and behind them.
    reads: Vec<ElementRead>,
}

impl Vertices {
    /// The vertices of `scan`.
    #[must_use]
    pub fn new(scan: Scan) -> Self {
        let (cursor, holding) = (VertexCursor::default(), MemoryShare::default());
        Self { scan, row: 0, cursor, named: None, holding, reads: Vec::new() }
    }

    /// The same, which announces what is read of what it finds.
    #[must_use]
    pub fn foreseeing(self, reads: Vec<ElementRead>) -> Self {
        Self { reads, ..self }
    }

    fn next(&mut self, limit: usize, cx: &mut Context<'_>) -> Result<Vec<VertexId>> {
        let mut vertices = Vec::new();
        let labels = labels(&self.scan.tests, |name| cx.catalogue().label(name));
        if self.named.is_none() && self.cursor == VertexCursor::default() {
            let named = match &self.scan.ids {
                Some(ids) => Some(live_vertices(ids, cx)?),
                None => look_up::named(&self.scan.tests, labels.as_deref(), cx)?,
            };
            let named = match named {
                None if cx.writes() => Some(all_vertices(labels.as_deref(), &mut self.holding, cx)?),
                named => named,
            };
            self.named = named.map(Vec::into_iter);
        }
        if let Some(named) = &mut self.named {
            vertices.extend(named.take(limit));
            self.cursor.done = named.len() == 0;
            return Ok(vertices);
        }
        match labels {
            Some(labels) if labels.is_empty() => self.cursor.done = true,
            labels => cx.view().scan_vertices(labels.as_deref(), &mut self.cursor, limit, &mut vertices)?,
        }
        Ok(vertices)
    }
}

impl Step for Vertices {
    fn process(&mut self, input: &mut Option<Batch>, cx: &mut Context<'_>) -> Result<Option<Batch>> {
        let Some(batch) = input else { return Ok(None) };
        let found = self.next(cx.charge.batch_rows(), cx)?;
        let rows = Rows::Some(vec![self.row as u32; found.len()].into());
        let made = batch.clone().follow(&rows, Column::new(Data::Vertices(found)));
        // A scan of a label finds nothing else: it need not be read, either.
        let by_label = if self.named.is_none() { tested_by_scan(&self.scan.tests) } else { None };
        let is_read = |read: &&ElementRead| by_label.is_none() || read.part != ElementPart::Label;
        foreseen::announce(self.reads.iter().filter(is_read), &made, cx);
        if self.cursor.done {
            (self.cursor, self.named, self.holding) = (VertexCursor::default(), None, MemoryShare::default());
            self.row += 1;
            if self.row == batch.len() {
                self.row = 0;
                *input = None;
            }
        }
        let (tests, more) = match by_label {
            Some(at) => (&self.scan.tests[..at], &self.scan.tests[at + 1..]),
            None => (&self.scan.tests[..], &[][..]),
        };
        let made = passes(made, tests, cx)?;
        passes(made, more, cx).map(Some)
    }

    fn reset(&mut self, _origins: u32) {
        (self.row, self.cursor, self.named) = (0, VertexCursor::default(), None);
        self.holding = MemoryShare::default();
    }
}

/// Edges of the graph for each row.
pub struct Edges {
    scan: Scan,
    row: usize,
    cursor: EdgeCursor,
    named: Option<std::vec::IntoIter<EdgeId>>,
    /// The memory of those.
    holding: MemoryShare,
}

impl Edges {
    /// The edges of `scan`.
    #[must_use]
    pub fn new(scan: Scan) -> Self {
        Self { scan, row: 0, cursor: EdgeCursor::default(), named: None, holding: MemoryShare::default() }
    }

    fn next(&mut self, limit: usize, cx: &mut Context<'_>) -> Result<Vec<EdgeId>> {
        let mut edges = Vec::new();
        let types = labels(&self.scan.tests, |name| cx.catalogue().edge_type(name));
        if self.named.is_none() && self.cursor == EdgeCursor::default() {
            let named = match &self.scan.ids {
                Some(ids) => Some(live_edges(ids, cx)?),
                None => look_up::named(&self.scan.tests, types.as_deref(), cx)?,
            };
            let named = match named {
                None if cx.writes() => Some(all_edges(types.as_deref(), &mut self.holding, cx)?),
                named => named,
            };
            self.named = named.map(Vec::into_iter);
        }
        if let Some(named) = &mut self.named {
            edges.extend(named.take(limit));
            self.cursor.done = named.len() == 0;
            return Ok(edges);
        }
        match types {
            Some(types) if types.is_empty() => self.cursor.done = true,
            types => cx.view().scan_edges(types.as_deref(), &mut self.cursor, limit, &mut edges)?,
        }
        Ok(edges)
    }
}

impl Step for Edges {
    fn process(&mut self, input: &mut Option<Batch>, cx: &mut Context<'_>) -> Result<Option<Batch>> {
        let Some(batch) = input else { return Ok(None) };
        let found = self.next(cx.charge.batch_rows(), cx)?;
        let rows = Rows::Some(vec![self.row as u32; found.len()].into());
        let made = batch.clone().follow(&rows, Column::new(Data::Edges(found)));
        if self.cursor.done {
            (self.cursor, self.named, self.holding) = (EdgeCursor::default(), None, MemoryShare::default());
            self.row += 1;
            if self.row == batch.len() {
                self.row = 0;
                *input = None;
            }
        }
        passes(made, &self.scan.tests, cx).map(Some)
    }

    fn reset(&mut self, _origins: u32) {
        (self.row, self.cursor, self.named) = (0, EdgeCursor::default(), None);
        self.holding = MemoryShare::default();
    }
}

/// The present vertices of `scan`.
///
/// # Errors
/// Errors of reading; `limit`.
pub fn find_vertices(scan: &Scan, cx: &mut Context<'_>) -> Result<Vec<VertexId>> {
    let labels = labels(&scan.tests, |name| cx.catalogue().label(name));
    let mut holding = MemoryShare::default();
    let all = match &scan.ids {
        Some(ids) => live_vertices(ids, cx)?,
        None => match look_up::named(&scan.tests, labels.as_deref(), cx)? {
            Some(found) => found,
            None => all_vertices(labels.as_deref(), &mut holding, cx)?,
        },
    };
    let mut passing = Vec::new();
    for some in all.chunks(SCANNED) {
        cx.charge.check()?;
        let batch = Batch::new(Column::new(Data::Vertices(some.to_vec())), vec![0; some.len()]);
        passing.extend(passes(batch, &scan.tests, cx)?.current.vertices().unwrap_or_default());
    }
    Ok(passing)
}

/// As [`find_vertices`], of edges.
///
/// # Errors
/// Errors of reading; `limit`.
pub fn find_edges(scan: &Scan, cx: &mut Context<'_>) -> Result<Vec<EdgeId>> {
    let types = labels(&scan.tests, |name| cx.catalogue().edge_type(name));
    let mut holding = MemoryShare::default();
    let all = match &scan.ids {
        Some(ids) => live_edges(ids, cx)?,
        None => match look_up::named(&scan.tests, types.as_deref(), cx)? {
            Some(found) => found,
            None => all_edges(types.as_deref(), &mut holding, cx)?,
        },
    };
    passing_edges(all, &scan.tests, cx)
}

/// Those of `edges` for which all `tests` hold.
///
/// # Errors
/// Errors of reading; `limit`.
pub fn passing_edges(edges: Vec<EdgeId>, tests: &[Test], cx: &mut Context<'_>) -> Result<Vec<EdgeId>> {
    let mut passing = Vec::new();
    for some in edges.chunks(SCANNED) {
        cx.charge.check()?;
        let batch = Batch::new(Column::new(Data::Edges(some.to_vec())), vec![0; some.len()]);
        passing.extend(passes(batch, tests, cx)?.current.edges().unwrap_or_default());
    }
    Ok(passing)
}

/// All vertices that there are now: a scan that goes on while its query writes would meet what that added.
fn all_vertices(
    labels: Option<&[LabelId]>,
    holding: &mut MemoryShare,
    cx: &mut Context<'_>,
) -> Result<Vec<VertexId>> {
    let (mut all, mut cursor) = (Vec::new(), VertexCursor::default());
    while !cursor.done && labels.is_none_or(|labels| !labels.is_empty()) {
        cx.charge.check()?;
        let before = all.len();
        cx.view().scan_vertices(labels, &mut cursor, SCANNED, &mut all)?;
        holding.join(cx.charge.holding((all.len() - before) * size_of::<VertexId>())?);
    }
    Ok(all)
}

/// As [`all_vertices`], of edges.
fn all_edges(
    types: Option<&[TypeId]>,
    holding: &mut MemoryShare,
    cx: &mut Context<'_>,
) -> Result<Vec<EdgeId>> {
    let (mut all, mut cursor) = (Vec::new(), EdgeCursor::default());
    while !cursor.done && types.is_none_or(|types| !types.is_empty()) {
        cx.charge.check()?;
        let before = all.len();
        cx.view().scan_edges(types, &mut cursor, SCANNED, &mut all)?;
        holding.join(cx.charge.holding((all.len() - before) * size_of::<EdgeId>())?);
    }
    Ok(all)
}

/// The only labels or types that can pass, if a test names them.
pub(crate) fn labels<T: Ord>(tests: &[Test], number: impl Fn(&Name) -> Option<T>) -> Option<Vec<T>> {
    let names = tests.iter().find_map(|test| match test {
        Test::Label(predicate) => predicate.only(),
        _ => None,
    })?;
    let names = names.iter().filter_map(Item::as_str);
    let mut numbers: Vec<T> = names.filter_map(|name| number(&Name::from(name))).collect();
    numbers.sort();
    numbers.dedup();
    Some(numbers)
}

/// The test that says no more than that an element has one of [`labels`], if there is one.
fn tested_by_scan(tests: &[Test]) -> Option<usize> {
    let at =
        tests.iter().position(|test| matches!(test, Test::Label(predicate) if predicate.only().is_some()))?;
    let names = match &tests[at] {
        Test::Label(Predicate::Compare(Comparison::Equal, Operand::Item(name))) => std::slice::from_ref(name),
        Test::Label(Predicate::Within(names)) => names.as_slice(),
        _ => return None,
    };
    names.iter().all(|name| name.as_str().is_some()).then_some(at)
}

/// The vertices of `ids` that exist, in their order.
///
/// # Errors
/// `invalid` for what is no id; errors of reading.
pub fn live_vertices(ids: &[Item], cx: &Context<'_>) -> Result<Vec<VertexId>> {
    let vertices = ids.iter().map(vertex_of_id).collect::<Result<Vec<_>>>()?;
    let vertices: Vec<VertexId> = vertices.into_iter().flatten().collect();
    let mut labels: Vec<Option<LabelId>> = Vec::new();
    cx.view().labels(&vertices, &mut labels)?;
    Ok(vertices.into_iter().zip(labels).filter_map(|(vertex, label)| label.map(|_| vertex)).collect())
}

pub(super) fn vertex_of_id(id: &Item) -> Result<Option<VertexId>> {
    match id {
        Item::Vertex(vertex) => Ok(Some(*vertex)),
        Item::Value(value) => {
            let whole =
                value.as_i64().or_else(|| value.as_f64().filter(|id| id.fract() == 0.0).map(|id| id as i64));
            let number = whole.or_else(|| value.as_str().and_then(|text| text.parse().ok()));
            Ok(number.and_then(|number| u32::try_from(number).ok()).map(VertexId))
        }
        Item::Null => Ok(None),
        _ => Err(Error::invalid("the id of a vertex is a number, or the vertex itself")),
    }
}

/// The edges of `ids` that are there, in their order.
fn live_edges(ids: &[Item], cx: &Context<'_>) -> Result<Vec<EdgeId>> {
    let edge = |id: &Item| match id {
        Item::Edge(edge) => Ok(Some(*edge)),
        Item::Value(value) => Ok(value.as_str().and_then(edge_of_text)),
        Item::Null => Ok(None),
        _ => Err(Error::invalid("the id of an edge is a text as id() gives it, or the edge itself")),
    };
    let edges = ids.iter().map(edge).collect::<Result<Vec<_>>>()?;
    let edges: Vec<EdgeId> = edges.into_iter().flatten().collect();
    let mut found = Vec::new();
    cx.view().has_edges(&edges, &mut found)?;
    Ok(edges.into_iter().zip(found).filter_map(|(edge, found)| found.then_some(edge)).collect())
}

/// Items, before the incoming traversers.
pub struct Inject {
    items: Vec<Item>,
    behind: bool,
    /// Whether nobody comes who would go on.
    first: bool,
    given: bool,
    origins: u32,
    /// Whether paths begin here: those of who passes don't grow.
    reads_paths: bool,
}

impl Inject {
    /// These items; alone if they come `first`.
    #[must_use]
    pub fn new(items: Vec<Item>, first: bool, reads_paths: bool) -> Self {
        Self { items, behind: false, first, given: false, origins: 1, reads_paths }
    }

    /// These items behind the traverser itself: a child that begins with `inject()` has its parent's traverser before.
    #[must_use]
    pub fn behind(items: Vec<Item>, reads_paths: bool) -> Self {
        Self { behind: true, ..Self::new(items, false, reads_paths) }
    }

    fn give(&mut self, cx: &mut Context<'_>) -> Result<Option<Batch>> {
        if std::mem::replace(&mut self.given, true) || self.items.is_empty() {
            return Ok(None);
        }
        let times = self.origins as usize;
        let rows = times.saturating_mul(self.items.len());
        cx.charge.room().check(rows.saturating_mul(size_of::<(Item, u32)>()))?;
        let items: Vec<Item> = (0..times).flat_map(|_| self.items.iter().cloned()).collect();
        let origin = (0..self.origins).flat_map(|origin| vec![origin; self.items.len()]).collect();
        let path = |item: &Item| cx.extend_path(PathId::ROOT, item.clone());
        let paths = self.reads_paths.then(|| items.iter().map(path).collect::<Result<Vec<PathId>>>());
        let mut batch = Batch::new(Column::of_items(items), origin);
        batch.path = paths.transpose()?;
        Ok(Some(batch))
    }
}

impl Step for Inject {
    fn process(&mut self, input: &mut Option<Batch>, cx: &mut Context<'_>) -> Result<Option<Batch>> {
        if self.behind
            && let Some(rows) = input.take()
        {
            let all: Vec<Batch> = [Some(rows), self.give(cx)?].into_iter().flatten().collect();
            return Ok(Some(Batch::concat(&all).sort_by_origin()));
        }
        if self.first {
            *input = None;
        }
        Ok(self.give(cx)?.or_else(|| input.take()))
    }

    fn finish(&mut self, cx: &mut Context<'_>) -> Result<Option<Batch>> {
        self.give(cx)
    }

    fn reset(&mut self, origins: u32) {
        (self.given, self.origins) = (false, origins);
    }
}
