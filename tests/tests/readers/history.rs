//! History: commit t of a graph, and the graph that commits through t come to.
//!
//! ```text
//! 1          an index on the value of people
//! 2          thirty people
//! t          an edge is put, or deleted if it is there; a person gets the value t
//! 40, 80 ..  also another label and key, and the label's first vertex: a vertex group more
//! ```
//!
//! Each pair of people has its turn once in 900 commits, so after 1,800 the same edges are there again, with newer values.

use crate::model::Model;
use evergraph_engines::engine::AnyEngine;
use evergraph_graph::error::Result;
use evergraph_graph::id::{EdgeId, GroupId, KeyId, LabelId, TypeId, VertexId};
use evergraph_graph::index::IndexKind;
use evergraph_graph::look_up::{MatchCursor, Matches};
use evergraph_graph::timestamp::Timestamp;
use evergraph_graph::transaction::Transaction as _;
use evergraph_graph::value::Value;
use evergraph_graph::view::GraphView;
use evergraph_storage::indexing::{IndexRequest, OwnerName};
use evergraph_storage::io::directory::Directory;
use evergraph_storage::open::{OpenOptions, OpenStore};
use evergraph_storage::store::Store;
use std::ops::ControlFlow;
use std::sync::Arc;

const PEOPLE: u64 = 30;
/// So often a label comes, until there are so many.
const LABEL_EVERY: u64 = 40;
const LABELS_MAX: u64 = 12;
/// Commits after which the same edges are there again; all labels have come by then.
const PERIOD: u64 = 2 * PEOPLE * PEOPLE;
/// The graph at a later commit is computed from an earlier one.
const COMPUTED_MAX: u64 = 3 * PERIOD;

/// The number of the label that comes with commit `t`.
fn label_of(t: u64) -> Option<u64> {
    let label = t / LABEL_EVERY;
    (t.is_multiple_of(LABEL_EVERY) && (1..=LABELS_MAX).contains(&label)).then_some(label)
}

fn edge_of(t: u64) -> EdgeId {
    let person = |number: u64| VertexId((number % PEOPLE) as u32);
    EdgeId { source: person(t * 7), edge_type: TypeId(0), target: person(t * 13 + t / 30), discriminator: 0 }
}

fn changed_by(t: u64) -> VertexId {
    VertexId((t * 11 % PEOPLE) as u32)
}

fn value(t: u64) -> Value {
    Value::I64(t as i64)
}

/// Does what commits `from + 1` to `to` do.
pub fn go_on(model: &mut Model, from: Timestamp, to: Timestamp) {
    if to.0 - from.0 > COMPUTED_MAX {
        *model = graph_at(to);
        return;
    }
    for t in from.0 + 1..=to.0 {
        if t == 1 {
            continue;
        }
        if t == 2 {
            let person = |row| (VertexId(row), (LabelId(0), [(KeyId(0), value(0))].into()));
            model.vertices = (0..PEOPLE as u32).map(person).collect();
            continue;
        }
        let edge = edge_of(t);
        if model.edges.remove(&edge).is_none() {
            model.edges.insert(edge, [(KeyId(0), value(t))].into());
        }
        let person = model.vertices.get_mut(&changed_by(t)).expect("nobody goes");
        person.1.insert(KeyId(0), value(t));
        if let Some(label) = label_of(t) {
            let vertex = VertexId::new(GroupId(label as u32), 0);
            let number = label as u16;
            model.vertices.insert(vertex, (LabelId(number), [(KeyId(number), value(t))].into()));
        }
    }
}

/// The graph at `timestamp`. Cost: that of a few thousand commits at most, so that a process that begins late computes no
/// hours of them.
pub fn graph_at(timestamp: Timestamp) -> Model {
    let skipped = timestamp.0.saturating_sub(COMPUTED_MAX - PERIOD) / PERIOD * PERIOD;
    let mut model = Model::default();
    go_on(&mut model, Timestamp::ZERO, Timestamp(timestamp.0 - skipped));
    let people = model.vertices.values_mut().filter(|person| person.0 == LabelId(0));
    for values in people.map(|person| &mut person.1).chain(model.edges.values_mut()) {
        for number in values.values_mut() {
            let Value::I64(number) = number else { unreachable!("all values are numbers of commits") };
            *number += skipped as i64;
        }
    }
    model
}

#[test]
fn a_graph_that_is_computed_from_an_earlier_one_is_what_all_commits_come_to() {
    let (mut model, mut through) = (Model::default(), Timestamp::ZERO);
    for to in (0..9).map(|number| Timestamp(COMPUTED_MAX - 2 + number * 631)) {
        while through < to {
            let next = Timestamp(to.0.min(through.0 + 900));
            go_on(&mut model, through, next);
            through = next;
        }
        assert!(graph_at(to) == model, "the graph at {to} is another one");
    }
}

/// Commits what follows the newest commit.
pub fn commit(store: &Store<AnyEngine>) -> Result<()> {
    let t = store.timeline().published().next().0;
    if t == 1 {
        let owner = OwnerName::Label("Person");
        let request = IndexRequest { owner, key: "value", kind: IndexKind::Ordered, unique: false };
        store.create_index(&request, &mut |_| Ok(()))?;
        assert_eq!(store.timeline().published().0, t, "an index is one commit");
        return Ok(());
    }
    let edge = edge_of(t);
    let mut tx = store.begin();
    let (label, key) = (tx.label("Person")?, tx.key("value")?);
    let edge_type = tx.edge_type("KNOWS")?;
    if t == 2 {
        for _ in 0..PEOPLE {
            tx.add_vertex(label, &[(key, value(0))])?;
        }
    } else {
        let mut found = Vec::new();
        tx.has_edges(&[edge], &mut found)?;
        match found[0] {
            true => tx.delete_edge(edge)?,
            false => drop(tx.put_edge(edge.source, edge_type, edge.target, &[(key, value(t))])?),
        }
        tx.set_vertex_property(changed_by(t), key, Some(value(t)))?;
        if let Some(number) = label_of(t) {
            let (label, key) = (tx.label(&format!("City{number}"))?, tx.key(&format!("name{number}"))?);
            tx.add_vertex(label, &[(key, value(t))])?;
        }
    }
    tx.commit()?;
    assert_eq!(store.timeline().published().0, t, "each commit is one of the history");
    Ok(())
}

/// Compares what look-ups of the people's values say with `model`.
pub fn check_look_ups(view: &impl GraphView, model: &Model) {
    let people = model.vertices.iter().filter(|(_, (label, _))| *label == LabelId(0));
    let people: Vec<(Value, VertexId)> =
        people.filter_map(|(vertex, (_, values))| Some((values.get(&KeyId(0))?.clone(), *vertex))).collect();
    if people.is_empty() {
        return;
    }
    let mut values: Vec<Value> = people.iter().map(|person| person.0.clone()).collect();
    values.sort();
    values.dedup();
    let (mut found, mut cursor) = (Matches::default(), MatchCursor::default());
    while !cursor.done {
        view.look_up_vertices(LabelId(0), KeyId(0), &values, &mut cursor, 9, &mut found).unwrap();
    }
    let pairs =
        found.rows.iter().zip(&found.items).map(|(row, vertex)| (values[*row as usize].clone(), *vertex));
    let (mut pairs, mut expected): (Vec<_>, _) = (pairs.collect(), people);
    pairs.sort();
    expected.sort();
    assert!(pairs == expected, "look-ups find other people than there are");
}

/// Opens the database to write it.
pub fn open_writer(directory: &Arc<dyn Directory>) -> OpenStore<AnyEngine> {
    let options = OpenOptions { engine: Some("mapped"), ..OpenOptions::default() };
    OpenStore::open(Arc::clone(directory), &options).unwrap()
}

/// Makes a checkpoint.
pub fn checkpoint(open: &OpenStore<AnyEngine>) {
    open.checkpoint(&mut |_| ControlFlow::Continue(())).unwrap();
}

/// So many commits, merged every few, so that bodies are written, freed, and written again.
pub fn write(open: &OpenStore<AnyEngine>, commits: u64) {
    for at in 0..commits {
        commit(open.store()).unwrap();
        if at % 8 == 7 {
            open.store().engine().merge_everything();
        }
    }
}
