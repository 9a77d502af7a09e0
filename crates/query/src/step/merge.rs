//! `mergeV()`, `mergeE()`: find what a map describes, or add it, row by row.
//!
//! ```text
//! row -> map -> index | list of an end | scan of a label -> found: onMatch of each, and all go on
//!                                                        -> none:  onCreate extends the map, and the new one goes on
//! ```
//!
//! Each row sees what those before it added. Children are asked for one row at a time, since they may read what the row before
//! wrote; those of `onMatch` are at the element that was found. A null in a map stands for a property that isn't there, as a
//! graph without nulls keeps it: so merging the same map twice finds the second time what the first added.
//!
//! Two transactions that merge the same at once: at the level `Serializable` one of them fails with a conflict, and finds
//! what the other added when it is run again. At the level `Snapshot` neither sees the other's, and both add one, unless a
//! unique index is on one of the properties: then the second to commit fails, as with any two equal values.
//!
//! Source: TinkerPop 3.8.1, `MergeVertexStep` and `MergeEdgeStep`, whose messages these are.

use crate::batch::column::{Column, Data};
use crate::batch::{Batch, Rows};
use crate::execute::context::Context;
use crate::execute::limits::MemoryShare;
use crate::execute::pipeline::Step;
use crate::plan::merge::{Description, End, MergeEntry, MergeSubject, PropertyPattern, Role};
use crate::plan::new_element::{DEFAULT_EDGE_LABEL, DEFAULT_LABEL, NO_OWN_EDGE_IDS, NO_OWN_IDS};
use crate::plan::operator::{Scan, Test};
use crate::plan::predicate::Predicate;
use crate::step::by::Projection;
use crate::step::property::{PropertyValue, of_new_edge, of_new_vertex, set_of_edge, set_of_vertex};
use crate::step::{look_up, source};
use crate::value::item::Item;
use crate::write::Writer as _;
use evergraph_graph::error::{Error, Result};
use evergraph_graph::id::{Direction, EdgeId, LabelId, TypeId, VertexId};
use evergraph_graph::next_reads::NextReads;
use evergraph_graph::value::Value;
use evergraph_graph::view::{NeighborBatch, NeighborCursor};
use std::collections::{BTreeMap, BTreeSet};

/// Edges of an end that are looked at between two looks at the clock.
const LOOKED_AT: usize = 1 << 14;

/// A map that describes an element, ready to run.
pub enum MergeMap {
    /// As the query spells it out.
    Literal(Description),
    /// What this is of the traverser.
    Of(Projection),
}

/// Finds what a map describes, or adds it, for each row, which stands for one traverser: see [`super::unbulk`].
pub struct Merge {
    kind: MergeSubject,
    map: MergeMap,
    on_create: Option<MergeMap>,
    on_match: Option<MergeMap>,
    ends: [Option<MergeMap>; 2],
    /// The row whose turn it is, and what of it hasn't gone on yet.
    row: usize,
    found: Option<std::vec::IntoIter<Item>>,
}

impl Merge {
    /// What `map` describes, with what is said for when it is found and when it isn't, and for the ends of an edge.
    #[must_use]
    pub fn new(
        kind: MergeSubject,
        map: MergeMap,
        on_create: Option<MergeMap>,
        on_match: Option<MergeMap>,
        ends: [Option<MergeMap>; 2],
    ) -> Self {
        Self { kind, map, on_create, on_match, ends, row: 0, found: None }
    }

    /// Asks together for what the rows of `batch` look for one by one, if that takes messages and each row is its map: what
    /// traversals give may depend on what rows before it write. What is added meanwhile is in own writes.
    fn announce(&self, batch: &Batch, cx: &mut Context<'_>) -> Result<()> {
        let (MergeMap::Of(Projection::Itself), true) = (&self.map, cx.heeds_ahead() && batch.len() > 1)
        else {
            return Ok(());
        };
        // A map that says nothing of the kind is an error when its row comes.
        let wanted = batch.current.items().map(|item| description(Some(item), self.kind, Role::Wanted));
        let wanted: Vec<Description> = wanted.filter_map(Result::ok).collect();
        match self.kind {
            MergeSubject::Vertices => announce_vertices(&wanted, cx),
            MergeSubject::Edges => announce_edges(&wanted, cx),
        }
    }

    /// The elements of one row, found or added.
    fn merged(&mut self, row: &Batch, cx: &mut Context<'_>) -> Result<Vec<Item>> {
        let wanted = self.map.describe(row, self.kind, Role::Wanted, cx)?;
        let found = match self.kind {
            MergeSubject::Vertices => find_vertices(&wanted, cx)?.into_iter().map(Item::Vertex).collect(),
            MergeSubject::Edges => {
                let ends = self.resolved(&wanted, row, cx)?;
                find_edges(&wanted, &ends, cx)?.into_iter().map(Item::Edge).collect::<Vec<_>>()
            }
        };
        if found.is_empty() {
            return Ok(vec![self.add(wanted, row, cx)?]);
        }
        if let Some(on_match) = &mut self.on_match {
            for item in &found {
                let here = Batch { current: Column::of_items(vec![item.clone()]), ..row.clone() };
                let set = on_match.describe(&here, self.kind, Role::OnMatch, cx)?;
                for property in set.properties {
                    let written = written(property, cx)?;
                    match item {
                        Item::Vertex(vertex) => set_of_vertex(*vertex, written, cx)?,
                        Item::Edge(edge) => set_of_edge(*edge, written, cx)?,
                        _ => {}
                    }
                }
            }
        }
        Ok(found)
    }

    /// What `wanted` says of the ends of an edge, as vertices that may be there or not.
    fn resolved(
        &mut self,
        wanted: &Description,
        row: &Batch,
        cx: &mut Context<'_>,
    ) -> Result<[Option<Item>; 2]> {
        let mut ends = [None, None];
        for (at, end) in wanted.ends.iter().enumerate() {
            ends[at] = match end {
                None => None,
                Some(End::Is(item)) => Some(item.clone()),
                Some(End::Asked) => Some(Item::Vertex(self.asked(at, row, cx)?)),
            };
        }
        Ok(ends)
    }

    /// The vertex that `option(Merge.outV, ...)` or `option(Merge.inV, ...)` says.
    fn asked(&mut self, end: usize, row: &Batch, cx: &mut Context<'_>) -> Result<VertexId> {
        let (token, place) = [("outV", "OUT"), ("inV", "IN")][end];
        let Some(map) = &mut self.ends[end] else {
            return Err(Error::invalid(format!(
                "option({token}) must be specified if it is used for {place}"
            )));
        };
        let wanted = match map {
            MergeMap::Literal(wanted) => wanted.clone(),
            MergeMap::Of(of) => match of.of(row, cx)?.pop().flatten() {
                Some(Item::Vertex(vertex)) => return Ok(vertex),
                given => description(given, MergeSubject::Vertices, Role::Wanted)?,
            },
        };
        let found = find_vertices(&wanted, cx)?;
        found.first().copied().ok_or_else(|| {
            Error::invalid(format!("Could not resolve vertex for option({token}): no vertex is as it says"))
        })
    }

    /// Adds what `wanted` describes, and `onCreate` says more of.
    fn add(&mut self, mut wanted: Description, row: &Batch, cx: &mut Context<'_>) -> Result<Item> {
        if let Some(on_create) = &mut self.on_create {
            let more = on_create.describe(row, self.kind, Role::Wanted, cx)?;
            wanted = wanted.extended(&more).map_err(Error::invalid)?;
        }
        if wanted.id.is_some() {
            let text = if self.kind == MergeSubject::Vertices { NO_OWN_IDS } else { NO_OWN_EDGE_IDS };
            return Err(Error::invalid(text));
        }
        let ends = match self.kind {
            MergeSubject::Vertices => None,
            MergeSubject::Edges => Some(self.resolved(&wanted, row, cx)?),
        };
        let properties = std::mem::take(&mut wanted.properties);
        let properties =
            properties.into_iter().map(|property| written(property, cx)).collect::<Result<Vec<_>>>()?;
        let Some([source, target]) = ends else {
            let label = cx.writer()?.label(wanted.label.as_deref().unwrap_or(DEFAULT_LABEL))?;
            let properties = of_new_vertex(label, properties, cx)?;
            return Ok(Item::Vertex(cx.writer()?.add_vertex(label, &properties)?));
        };
        let source = there(source, "Out", cx)?;
        let target = there(target, "In", cx)?;
        let edge_type = cx.writer()?.edge_type(wanted.label.as_deref().unwrap_or(DEFAULT_EDGE_LABEL))?;
        let properties = of_new_edge(properties, cx)?;
        Ok(Item::Edge(cx.writer()?.add_edge(source, edge_type, target, &properties)?))
    }
}

impl MergeMap {
    /// What the map says for the one row of `row`.
    fn describe(
        &mut self,
        row: &Batch,
        kind: MergeSubject,
        role: Role,
        cx: &mut Context<'_>,
    ) -> Result<Description> {
        match self {
            Self::Literal(description) => Ok(description.clone()),
            Self::Of(of) => description(of.of(row, cx)?.pop().flatten(), kind, role),
        }
    }
}

/// What a map that a traversal gave says.
fn description(given: Option<Item>, kind: MergeSubject, role: Role) -> Result<Description> {
    let entries: Vec<(Item, Item)> = match given {
        Some(Item::Map(map)) => map.entries().to_vec(),
        Some(Item::Value(Value::Map(map))) => {
            let entries = map.as_slice().iter().cloned();
            entries.map(|(key, value)| (Item::Value(key), Item::Value(value))).collect()
        }
        // Null says as little as an empty map.
        Some(Item::Null) => Vec::new(),
        Some(other) => {
            let text = format!("{}() needs a map, and its traversal gives {}", kind.step(), other.kind());
            return Err(Error::invalid(text));
        }
        None => {
            return Err(Error::invalid(format!(
                "The provided traverser does not map to a value: {}() needs a map, and its traversal gives nothing",
                kind.step()
            )));
        }
    };
    let entries = entries.into_iter().map(|(key, value)| (key, MergeEntry::Item(value)));
    Description::of(entries, kind, role).map_err(Error::invalid)
}

fn written(property: PropertyPattern, cx: &mut Context<'_>) -> Result<PropertyValue> {
    let PropertyPattern { key, value, cardinality } = property;
    let key = cx.writer()?.key(&key)?;
    Ok(PropertyValue { key, value, cardinality, properties: Vec::new() })
}

/// What must hold of an element that a map describes, but for its id and ends.
fn tests(wanted: &Description) -> Vec<Test> {
    let mut tests = Vec::with_capacity(1 + wanted.properties.len());
    if let Some(label) = &wanted.label {
        tests.push(Test::Label(Predicate::equal_to(Item::from(&**label))));
    }
    tests.extend(wanted.properties.iter().map(|PropertyPattern { key, value, .. }| match value {
        Item::Null => Test::HasNot(key.clone()),
        value => Test::Property(key.clone(), Predicate::equal_to(value.clone())),
    }));
    tests
}

fn announce_vertices(wanted: &[Description], cx: &mut Context<'_>) -> Result<()> {
    let catalogue = cx.catalogue();
    let (mut scans, mut keys) = (Vec::new(), BTreeSet::new());
    for wanted in wanted.iter().filter(|wanted| wanted.id.is_none()) {
        let tests = tests(wanted);
        let labels = source::labels(&tests, |name| catalogue.label(name));
        scans.push((tests, labels));
        keys.extend(wanted.properties.iter().filter_map(|property| catalogue.key(&property.key)));
    }
    let found = look_up::found_together::<LabelId>(&scans, cx)?;
    // They are tested again.
    cx.view().ahead(NextReads::Labels(&found));
    keys.into_iter().for_each(|key| cx.view().ahead(NextReads::VertexProperties(&found, key)));
    Ok(())
}

/// Of edges whose ends are said: whether these are there, how many edges they have, and the shorter list.
fn announce_edges(wanted: &[Description], cx: &Context<'_>) -> Result<()> {
    let catalogue = cx.catalogue();
    let (mut ends, mut between) = (Vec::new(), BTreeMap::<TypeId, Vec<[VertexId; 2]>>::new());
    for wanted in wanted.iter().filter(|wanted| wanted.id.is_none()) {
        let vertex = |end: &Option<End>| match end {
            Some(End::Is(item)) => source::vertex_of_id(item).ok().flatten(),
            _ => None,
        };
        let vertices = wanted.ends.each_ref().map(vertex);
        ends.extend(vertices.iter().flatten());
        let edge_type = wanted.label.as_deref().and_then(|label| catalogue.edge_type(label));
        if let ([Some(source), Some(target)], Some(edge_type)) = (vertices, edge_type) {
            between.entry(edge_type).or_default().push([source, target]);
        }
    }
    let view = cx.view();
    view.ahead(NextReads::Labels(&ends));
    for (edge_type, pairs) in &between {
        let [sources, targets] = [0, 1].map(|end| pairs.iter().map(|pair| pair[end]).collect::<Vec<_>>());
        view.ahead(NextReads::Degrees(&sources, Some(*edge_type), Direction::Out));
        view.ahead(NextReads::Degrees(&targets, Some(*edge_type), Direction::In));
    }
    let mut labels = Vec::new();
    view.labels(&ends, &mut labels)?;
    // Who isn't there has no edges.
    let there = ends.into_iter().zip(labels).filter_map(|(end, label)| label.map(|_| end));
    let there: BTreeSet<VertexId> = there.collect();
    for (edge_type, mut pairs) in between {
        pairs.retain(|pair| pair.iter().all(|end| there.contains(end)));
        let [sources, targets] = [0, 1].map(|end| pairs.iter().map(|pair| pair[end]).collect::<Vec<_>>());
        let [mut out, mut into] = [Vec::new(), Vec::new()];
        view.degrees(&sources, Some(&[edge_type]), Direction::Out, &mut out)?;
        view.degrees(&targets, Some(&[edge_type]), Direction::In, &mut into)?;
        let [mut by_source, mut by_target] = [Vec::new(), Vec::new()];
        for (pair, (out, into)) in pairs.into_iter().zip(out.into_iter().zip(into)) {
            if out <= into { by_source.push(pair[0]) } else { by_target.push(pair[1]) }
        }
        view.ahead(NextReads::EdgesOfType(&by_source, edge_type, Direction::Out));
        view.ahead(NextReads::EdgesOfType(&by_target, edge_type, Direction::In));
    }
    Ok(())
}

fn find_vertices(wanted: &Description, cx: &mut Context<'_>) -> Result<Vec<VertexId>> {
    let ids = wanted.id.as_ref().map(|id| vec![id.clone()]);
    source::find_vertices(&Scan { ids, tests: tests(wanted) }, cx)
}

fn find_edges(wanted: &Description, ends: &[Option<Item>; 2], cx: &mut Context<'_>) -> Result<Vec<EdgeId>> {
    let mut vertices = [None, None];
    for (vertex, end) in vertices.iter_mut().zip(ends) {
        let Some(end) = end else { continue };
        // Who isn't there has no edges.
        let [found] = source::live_vertices(std::slice::from_ref(end), cx)?[..] else {
            return Ok(Vec::new());
        };
        *vertex = Some(found);
    }
    let tests = tests(wanted);
    let ids = wanted.id.as_ref().map(|id| vec![id.clone()]);
    let is_between = |edge: &EdgeId| {
        let [source, target] = vertices;
        source.is_none_or(|source| source == edge.source) && target.is_none_or(|target| target == edge.target)
    };
    if ids.is_some() || vertices == [None, None] {
        let mut found = source::find_edges(&Scan { ids, tests }, cx)?;
        found.retain(is_between);
        return Ok(found);
    }
    let types = match wanted.label.as_deref().map(|label| cx.catalogue().edge_type(label)) {
        None => None,
        Some(Some(edge_type)) => Some([edge_type]),
        Some(None) => return Ok(Vec::new()),
    };
    let types = types.as_ref().map(<[_; 1]>::as_slice);
    let (vertex, direction) = match vertices {
        [Some(source), None] => (source, Direction::Out),
        [None, Some(target)] => (target, Direction::In),
        // The end with the shorter list.
        [Some(source), Some(target)] => {
            let mut degrees = Vec::with_capacity(2);
            cx.view().degrees(&[source], types, Direction::Out, &mut degrees)?;
            cx.view().degrees(&[target], types, Direction::In, &mut degrees)?;
            if degrees[0] <= degrees[1] { (source, Direction::Out) } else { (target, Direction::In) }
        }
        [None, None] => return Ok(Vec::new()),
    };
    let (mut found, mut cursor, mut batch) =
        (Vec::new(), NeighborCursor::default(), NeighborBatch::default());
    let mut holding = MemoryShare::default();
    while !cursor.done {
        cx.charge.check()?;
        batch.clear();
        cx.view().neighbors(&[vertex], types, direction, &mut cursor, LOOKED_AT, &mut batch)?;
        let before = found.len();
        found.extend(batch.edges.iter().copied().filter(is_between));
        holding.join(cx.charge.holding((found.len() - before) * size_of::<EdgeId>())?);
    }
    source::passing_edges(found, &tests, cx)
}

/// The vertex at an end of an edge that is about to be added.
fn there(end: Option<Item>, which: &str, cx: &Context<'_>) -> Result<VertexId> {
    let Some(end) = end else {
        return Err(Error::invalid(format!(
            "{which} Vertex not specified in onCreate - edge cannot be created"
        )));
    };
    source::live_vertices(std::slice::from_ref(&end), cx)?.first().copied().ok_or_else(|| {
        let id = end.as_value().map_or_else(|| end.kind(), ToString::to_string);
        Error::invalid(format!("Vertex id could not be resolved from mergeE: {id}"))
    })
}

impl Step for Merge {
    fn process(&mut self, input: &mut Option<Batch>, cx: &mut Context<'_>) -> Result<Option<Batch>> {
        let Some(batch) = input.take() else { return Ok(None) };
        let limit = cx.charge.batch_rows();
        if self.row == 0 && self.found.is_none() {
            self.announce(&batch, cx)?;
        }
        let (mut rows, mut items) = (Vec::new(), Vec::new());
        while self.row < batch.len() && items.len() < limit {
            cx.charge.check()?;
            let mut found = match self.found.take() {
                Some(found) => found,
                None => self.merged(&batch.slice(self.row, self.row + 1), cx)?.into_iter(),
            };
            items.extend(found.by_ref().take(limit - items.len()));
            rows.resize(items.len(), self.row as u32);
            if found.len() == 0 {
                self.row += 1;
            } else {
                self.found = Some(found);
            }
        }
        let column = match self.kind {
            MergeSubject::Vertices => Data::Vertices(items.iter().filter_map(Item::as_vertex).collect()),
            MergeSubject::Edges => Data::Edges(items.iter().filter_map(Item::as_edge).collect()),
        };
        let made = batch.clone().follow(&Rows::Some(rows.into()), Column::new(column));
        if self.row < batch.len() {
            *input = Some(batch);
        } else {
            self.row = 0;
        }
        Ok(Some(made))
    }

    fn reset(&mut self, _origins: u32) {
        (self.row, self.found) = (0, None);
    }
}
