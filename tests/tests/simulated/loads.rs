//! Loads: a few vertices and edges as a bulk load, and what the model says that they make.
//!
//! Each edge has a new end. Edges with the same ends lie together: their discriminators count from zero.

use crate::front::model::Model;
use crate::simulated::history::State;
use crate::simulated::run::{Outcome, Run};
use crate::simulated::words::{LABELS, NAME, PARALLEL, WEIGHT};
use evergraph_bodies::edge_body::HUB_DEGREE;
use evergraph_graph::catalogue::Catalogue;
use evergraph_graph::error::ErrorKind;
use evergraph_graph::id::{EdgeId, VertexId};
use evergraph_graph::load::{EdgeBlock, EdgeTable, Load, VertexBlock, VertexChange, VertexTable};
use evergraph_graph::packed_column::PackedColumn;
use evergraph_graph::value::{Value, ValueType};
use evergraph_storage::durable_engine::DurableEngine as _;
use evergraph_storage::io::random::{Random, SplitMix64};
use evergraph_storage::ownership::OwnerChanges;
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;

/// Who shares the edges of a hub: more than a load has otherwise.
const HUB_TARGETS: usize = 16;

/// A load from the first label's vertices to the second's.
#[derive(Debug)]
pub struct SmallLoad {
    /// The names of new vertices, a list a label.
    names: [Vec<String>; 2],
    existing: [Vec<VertexId>; 2],
    /// Places in the new vertices, or behind them in the existing ones, and a weight.
    edges: Vec<(usize, usize, Option<i64>)>,
    /// Weights that vertices get that are there; an owner's load alone has some.
    changed: Vec<(VertexId, i64)>,
}

impl SmallLoad {
    pub fn choose(model: &Model, catalogue: &Catalogue, seed: u16) -> Self {
        let mut random = SplitMix64::new(u64::from(seed));
        let mut below = |bound: usize| (random.next_u64() % bound as u64) as usize;
        let names = [0, 1].map(|label| {
            (0..1 + below(4)).map(|row| format!("loaded {seed} {label} {row}")).collect::<Vec<_>>()
        });
        let existing = LABELS.map(|label| {
            let label = catalogue.label(label);
            let of_label = model.vertices.iter().filter(|(_, (of, _))| Some(*of) == label);
            of_label.map(|(vertex, _)| *vertex).take(below(4)).collect::<Vec<_>>()
        });
        let mut edges = BTreeMap::new();
        for _ in 0..below(9) {
            let [source, target] = [0, 1].map(|side| below(names[side].len() + existing[side].len()));
            if source < names[0].len() || target < names[1].len() {
                edges.insert((source, target), (below(3) > 0).then(|| below(100) as i64));
            }
        }
        let edges = edges.into_iter().map(|((source, target), weight)| (source, target, weight)).collect();
        Self { names, existing, edges, changed: Vec::new() }
    }

    /// Changing vertices that are there as well, if `catalogue` has the property by now.
    pub fn with_changes(mut self, catalogue: &Catalogue) -> Self {
        let count = if catalogue.key(WEIGHT).is_some() { self.existing[0].len() } else { 0 };
        let vertices = self.existing[0][..count].iter().enumerate();
        self.changed = vertices.map(|(number, vertex)| (*vertex, number as i64)).collect();
        self
    }

    /// Changes of vertices that are there, as the store takes them.
    pub fn changes(&self, catalogue: &Catalogue) -> Vec<VertexChange> {
        let change = |(vertex, weight): &(VertexId, i64)| VertexChange {
            vertex: *vertex,
            properties: catalogue
                .key(WEIGHT)
                .map(|key| (key, Some(Value::I64(*weight))))
                .into_iter()
                .collect(),
        };
        self.changed.iter().map(change).collect()
    }

    /// With one vertex more edges than a segment keeps with others: it becomes a hub. Each of its targets gets
    /// some hundred of them; one edge of thousands beside each other takes long to find, and is compared.
    pub fn with_hub(mut self) -> Self {
        self.edges.retain(|(source, ..)| *source != 0);
        let more =
            (self.names[1].len()..HUB_TARGETS).map(|row| format!("{} of a hub {row}", self.names[1][0]));
        let more: Vec<String> = more.collect();
        self.names[1].extend(more);
        self.edges.extend((0..HUB_DEGREE + 8).map(|edge| (0, edge * HUB_TARGETS / (HUB_DEGREE + 8), None)));
        self
    }

    /// As the store takes it.
    pub fn tables(&self) -> Load {
        let mut vertices = Vec::new();
        for side in [0, 1] {
            let names: Vec<Value> = self.names[side].iter().map(|name| Value::from(name.clone())).collect();
            let column = PackedColumn::from_values(names.iter().map(Some));
            let block = VertexBlock { rows: names.len(), columns: vec![column] };
            let properties = vec![(NAME.to_owned(), ValueType::String)];
            let mut table = VertexTable::new(LABELS[side], properties, vec![block]);
            table.existing.clone_from(&self.existing[side]);
            vertices.push(table);
        }
        let end = |side: usize, at: usize| match at.checked_sub(self.names[side].len()) {
            None => at as u32,
            Some(existing) => u32::MAX - existing as u32,
        };
        let ends = self.edges.iter().map(|(source, target, _)| (end(0, *source), end(1, *target)));
        let weights: Vec<Option<Value>> =
            self.edges.iter().map(|(.., weight)| weight.map(Value::I64)).collect();
        let column = PackedColumn::from_values(weights.iter().map(Option::as_ref));
        let block = EdgeBlock { columns: vec![column], ..EdgeBlock::bare(ends) };
        let properties = vec![(WEIGHT.to_owned(), ValueType::I64)];
        let edges = vec![EdgeTable::new(PARALLEL, 0, 1, properties, vec![block])];
        Load { vertices, edges }
    }

    /// What it makes of `before`, if the new vertices of each label begin at `firsts`.
    pub fn after(&self, before: &Model, catalogue: &Catalogue, firsts: &[VertexId]) -> Model {
        let known = "a load names what it has";
        let mut after = before.clone();
        let name_key = catalogue.key(NAME).expect(known);
        for side in [0, 1] {
            let label = catalogue.label(LABELS[side]).expect(known);
            for (row, name) in self.names[side].iter().enumerate() {
                let values = [(name_key, Value::from(name.clone()))].into();
                after.vertices.insert(VertexId(firsts[side].0 + row as u32), (label, values));
            }
        }
        for (vertex, weight) in &self.changed {
            let key = catalogue.key(WEIGHT).expect(known);
            let (_, values) = after.vertices.get_mut(vertex).expect("it was there before");
            values.insert(key, Value::I64(*weight));
        }
        let vertex = |side: usize, at: usize| match at.checked_sub(self.names[side].len()) {
            None => VertexId(firsts[side].0 + at as u32),
            Some(existing) => self.existing[side][existing],
        };
        let edge_type = catalogue.edge_type(PARALLEL).expect(known);
        let mut parallel = 0;
        let mut ends_before = None;
        for (source, target, weight) in &self.edges {
            parallel = if ends_before == Some((source, target)) { parallel + 1 } else { 0 };
            ends_before = Some((source, target));
            let (source, target) = (vertex(0, *source), vertex(1, *target));
            let weight_key = catalogue.key(WEIGHT).expect(known);
            let values = weight.map(|weight| (weight_key, Value::I64(weight))).into_iter().collect();
            after.edges.insert(EdgeId { source, edge_type, target, discriminator: parallel }, values);
        }
        after
    }
}

impl Run {
    /// A load, of the owner if there is one, and what may be found of it.
    pub fn load(&mut self, seed: u16, hub: bool) -> Outcome {
        let (before, healthy) = (self.published(), self.is_healthy());
        let groups_before = self.store().vertex_id_state().len();
        let load = SmallLoad::choose(&self.head.graph, &self.store().catalogue(), seed);
        let load = if hub { load.with_hub() } else { load };
        let is_changing = self.ownership.is_some() && self.store().engine().takes_vertex_changes();
        let load = if is_changing { load.with_changes(&self.store().catalogue()) } else { load };
        self.end_owned();
        let open = Arc::clone(self.store.as_ref().expect("open"));
        let (building, writing) = (&mut |_| Ok(()), &mut |_| ControlFlow::Continue(()));
        let (done, notes) = match self.ownership.is_some() {
            false => (open.load_within(u64::MAX, &load.tables(), building, writing), self.head.notes.clone()),
            true => {
                let (set, notes) = self.notes_of_load();
                let set: Vec<(&str, &[u8])> =
                    set.iter().map(|set| (&*set.name, set.bytes.as_deref().expect("it is set"))).collect();
                let vertices = load.changes(&self.store().catalogue());
                let changes = OwnerChanges { notes: &set, vertices: &vertices };
                let ownership = self.ownership.as_mut().expect("just seen");
                let done = open.load_owned(ownership, u64::MAX, &load.tables(), changes, building, writing);
                (done, notes)
            }
        };
        let newest = self.published();
        if newest > before {
            // Until it is acknowledged the commit may be there without what was loaded.
            let without = State { catalogue: None, ..State::clone(&self.head) };
            self.life().states.entry(newest).or_default().push(Arc::new(without));
            let groups = self.store().vertex_id_state();
            let firsts: Vec<VertexId> =
                groups[groups_before..].iter().map(|state| state.group.first()).collect();
            let graph = load.after(&self.head.graph, &self.store().catalogue(), &firsts);
            let seen = Arc::clone(&self.head);
            self.note(graph, notes, newest);
            if done.is_err() {
                // Nobody sees a load that is not durable.
                self.head = seen;
            }
        }
        match done {
            Ok(_) => {
                let position = self.directory.position();
                self.life().loads.insert(newest, position);
                self.require(newest);
                self.history.commits += 1;
                Ok(())
            }
            Err(error) if error.kind() == ErrorKind::Invalid => Ok(()),
            Err(error) if healthy => self.check_clear(&error),
            Err(_) => Ok(()),
        }
    }
}
