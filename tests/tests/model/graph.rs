//! Graph: the model of a database in plain maps, and the table of writes that conflict.
//!
//! Vertices and edges have numbers of their own, never used twice; the database's ids are the system's
//! affair.
//!
//! Source of the table: core-protocol section 2 ("write checks"), written down a second time, from
//! what a transaction changed in effect.

use std::collections::{BTreeMap, BTreeSet};

/// A label: the names of persons are unique.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Label {
    Person,
    Post,
}

/// A property.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Key {
    Name,
    Age,
}

/// An edge and its ends.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Edge {
    /// Of type KNOWS: others may run beside it.
    Parallel { source: u32, target: u32, number: u32 },
    /// Of type LIKES, which is simple: there is no other.
    Simple { source: u32, target: u32 },
}

impl Edge {
    pub fn ends(self) -> [u32; 2] {
        match self {
            Self::Parallel { source, target, .. } | Self::Simple { source, target } => [source, target],
        }
    }

    fn touches(self, vertex: u32) -> bool {
        self.ends().contains(&vertex)
    }
}

pub type Values = BTreeMap<Key, u8>;

/// A graph.
#[derive(Clone, Default, PartialEq, Debug)]
pub struct Graph {
    pub vertices: BTreeMap<u32, (Label, Values)>,
    pub edges: BTreeMap<Edge, Values>,
}

impl Graph {
    /// Whether a person has this name.
    pub fn has_name(&self, name: u8) -> bool {
        self.vertices.keys().any(|vertex| self.name_of(*vertex) == Some(name))
    }

    fn name_of(&self, vertex: u32) -> Option<u8> {
        let (label, values) = self.vertices.get(&vertex)?;
        values.get(&Key::Name).copied().filter(|_| *label == Label::Person)
    }
}

/// What a transaction changed, as others are checked against it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Write {
    AddVertex(u32),
    DeleteVertex(u32),
    SetVertex(u32, Key),
    AddEdge(Edge),
    ReplaceEdge(Edge),
    /// Deleted itself, or because one of its ends was.
    DeleteEdge(Edge),
    SetEdge(Edge, Key),
    /// A person newly has this name.
    TakeName(u8),
}

/// Whether `mine` is refused after `other`, which was committed since my transaction began.
pub fn clash(mine: Write, other: Write) -> bool {
    use Write::*;
    match (mine, other) {
        (SetVertex(vertex, key), SetVertex(set, same)) => (vertex, key) == (set, same),
        (SetVertex(vertex, _), DeleteVertex(gone)) => vertex == gone,
        (DeleteVertex(vertex), DeleteVertex(item) | SetVertex(item, _)) => vertex == item,
        (DeleteVertex(vertex), AddEdge(edge) | DeleteEdge(edge)) => edge.touches(vertex),
        (AddEdge(edge), DeleteVertex(gone)) => edge.touches(gone),
        (
            AddEdge(edge) | ReplaceEdge(edge) | DeleteEdge(edge),
            AddEdge(same) | ReplaceEdge(same) | DeleteEdge(same) | SetEdge(same, _),
        ) => edge == same,
        (SetEdge(edge, _), ReplaceEdge(same) | DeleteEdge(same)) => edge == same,
        (SetEdge(edge, key), SetEdge(same, set)) => (edge, key) == (same, set),
        (TakeName(name), TakeName(taken)) => name == taken,
        _ => false,
    }
}

/// A transaction: what it saw first, what it sees now, and what it set or put.
#[derive(Clone, Debug)]
pub struct Open {
    base: Graph,
    pub now: Graph,
    /// How many commits it sees.
    pub seen: usize,
    set_vertices: BTreeSet<(u32, Key)>,
    set_edges: BTreeSet<(Edge, Key)>,
    put_edges: BTreeSet<Edge>,
}

fn assign(values: &mut Values, key: Key, value: Option<u8>) {
    match value {
        Some(value) => values.insert(key, value),
        None => values.remove(&key),
    };
}

impl Open {
    pub fn begin(head: &Graph, seen: usize) -> Self {
        let (base, now) = (head.clone(), head.clone());
        let (set_vertices, set_edges, put_edges) = Default::default();
        Self { base, now, seen, set_vertices, set_edges, put_edges }
    }

    pub fn set_vertex(&mut self, vertex: u32, key: Key, value: Option<u8>) {
        assign(&mut self.now.vertices.get_mut(&vertex).unwrap().1, key, value);
        self.set_vertices.insert((vertex, key));
    }

    pub fn delete_vertex(&mut self, vertex: u32) {
        self.now.vertices.remove(&vertex);
        self.now.edges.retain(|edge, _| !edge.touches(vertex));
    }

    pub fn put_edge(&mut self, edge: Edge, values: Values) {
        self.now.edges.insert(edge, values);
        self.put_edges.insert(edge);
    }

    pub fn set_edge(&mut self, edge: Edge, key: Key, value: Option<u8>) {
        assign(self.now.edges.get_mut(&edge).unwrap(), key, value);
        self.set_edges.insert((edge, key));
    }

    /// What it changes in effect: of an item that it made and deleted, nothing.
    pub fn writes(&self) -> Vec<Write> {
        let (base, now) = (&self.base, &self.now);
        let mut writes = Vec::new();
        for vertex in base.vertices.keys().filter(|vertex| !now.vertices.contains_key(vertex)) {
            writes.push(Write::DeleteVertex(*vertex));
        }
        for edge in base.edges.keys().filter(|edge| !now.edges.contains_key(edge)) {
            writes.push(Write::DeleteEdge(*edge));
        }
        for vertex in now.vertices.keys() {
            if !base.vertices.contains_key(vertex) {
                writes.push(Write::AddVertex(*vertex));
            }
            let name = now.name_of(*vertex);
            writes.extend(name.filter(|_| base.name_of(*vertex) != name).map(Write::TakeName));
        }
        for edge in now.edges.keys() {
            if !base.edges.contains_key(edge) {
                writes.push(Write::AddEdge(*edge));
            } else if self.put_edges.contains(edge) {
                writes.push(Write::ReplaceEdge(*edge));
            } else {
                let set = self.set_edges.iter().filter(|(set, _)| set == edge);
                writes.extend(set.map(|(edge, key)| Write::SetEdge(*edge, *key)));
            }
        }
        let stays = |vertex| base.vertices.contains_key(vertex) && now.vertices.contains_key(vertex);
        let set = self.set_vertices.iter().filter(|(vertex, _)| stays(vertex));
        writes.extend(set.map(|(vertex, key)| Write::SetVertex(*vertex, *key)));
        writes
    }

    /// The newest graph with these writes.
    pub fn onto(&self, head: &Graph, writes: &[Write]) -> Graph {
        let (mut next, now) = (head.clone(), &self.now);
        for write in writes {
            match *write {
                Write::AddVertex(vertex) => {
                    next.vertices.insert(vertex, now.vertices[&vertex].clone());
                }
                Write::DeleteVertex(vertex) => {
                    next.vertices.remove(&vertex);
                }
                Write::SetVertex(vertex, key) => {
                    let value = now.vertices[&vertex].1.get(&key).copied();
                    assign(&mut next.vertices.get_mut(&vertex).unwrap().1, key, value);
                }
                Write::AddEdge(edge) | Write::ReplaceEdge(edge) => {
                    next.edges.insert(edge, now.edges[&edge].clone());
                }
                Write::DeleteEdge(edge) => {
                    next.edges.remove(&edge);
                }
                Write::SetEdge(edge, key) => {
                    let value = now.edges[&edge].get(&key).copied();
                    assign(next.edges.get_mut(&edge).unwrap(), key, value);
                }
                Write::TakeName(_) => {}
            }
        }
        next
    }
}
