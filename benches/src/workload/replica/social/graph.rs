//! `Graph`: the steps that fixed plans of LDBC's reads are made of, on one snapshot.

use evergraph::{ReadByName as _, Snapshot, Value};
use evergraph_graph::catalogue::Catalogue;
use evergraph_graph::column::Column;
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::id::{Direction, EdgeId, KeyId, TypeId, VertexId};
use evergraph_graph::value::ValueType;
use evergraph_graph::view::{GraphView as _, NeighborBatch, NeighborCursor};
use std::collections::HashSet;

/// Neighbours that are read at once.
const BATCH: usize = 1 << 16;

/// Types of edges, resolved once.
#[derive(Clone, Copy, Debug)]
pub struct Types {
    pub knows: TypeId,
    pub creator: TypeId,
    pub reply: TypeId,
    pub container: TypeId,
    pub moderator: TypeId,
    pub member: TypeId,
    pub likes: TypeId,
    pub tag: TypeId,
    pub class: TypeId,
    pub subclass: TypeId,
    pub located: TypeId,
    pub part: TypeId,
    pub interest: TypeId,
    pub works: TypeId,
}

/// Keys of properties, resolved once.
#[derive(Clone, Copy, Debug)]
pub struct Keys {
    pub id: KeyId,
    pub first: KeyId,
    pub last: KeyId,
    pub gender: KeyId,
    pub birthday: KeyId,
    pub created: KeyId,
    pub browser: KeyId,
    pub address: KeyId,
    pub content: KeyId,
    pub image: KeyId,
    pub title: KeyId,
    pub name: KeyId,
    pub joined: KeyId,
    pub from: KeyId,
}

/// Names of the network, resolved once for all reads.
#[derive(Clone, Copy, Debug)]
pub struct Names {
    /// Types of edges.
    pub types: Types,
    /// Keys of properties.
    pub keys: Keys,
}

impl Names {
    /// Those of `catalogue`.
    ///
    /// # Errors
    /// `corrupt` if one is missing.
    pub fn new(catalogue: &Catalogue) -> Result<Self> {
        let missing = |name: &str| Error::new(ErrorKind::Corrupt, format!("the network has no name {name}"));
        let edge_type = |name: &str| catalogue.edge_type(name).ok_or_else(|| missing(name));
        let key = |name: &str| catalogue.key(name).ok_or_else(|| missing(name));
        Ok(Self {
            types: Types {
                knows: edge_type("KNOWS")?,
                creator: edge_type("HAS_CREATOR")?,
                reply: edge_type("REPLY_OF")?,
                container: edge_type("CONTAINER_OF")?,
                moderator: edge_type("HAS_MODERATOR")?,
                member: edge_type("HAS_MEMBER")?,
                likes: edge_type("LIKES")?,
                tag: edge_type("HAS_TAG")?,
                class: edge_type("HAS_TYPE")?,
                subclass: edge_type("IS_SUBCLASS_OF")?,
                located: edge_type("IS_LOCATED_IN")?,
                part: edge_type("IS_PART_OF")?,
                interest: edge_type("HAS_INTEREST")?,
                works: edge_type("WORK_AT")?,
            },
            keys: Keys {
                id: key("id")?,
                first: key("firstName")?,
                last: key("lastName")?,
                gender: key("gender")?,
                birthday: key("birthday")?,
                created: key("creationDate")?,
                browser: key("browserUsed")?,
                address: key("locationIP")?,
                content: key("content")?,
                image: key("imageFile")?,
                title: key("title")?,
                name: key("name")?,
                joined: key("joinDate")?,
                from: key("workFrom")?,
            },
        })
    }
}

/// A snapshot with its names.
pub struct Graph<'s> {
    /// What is read.
    pub view: &'s Snapshot,
    /// Types of edges.
    pub types: Types,
    /// Keys of properties.
    pub keys: Keys,
}

impl<'s> Graph<'s> {
    /// Of a snapshot.
    #[must_use]
    pub fn new(view: &'s Snapshot, names: Names) -> Self {
        Self { view, types: names.types, keys: names.keys }
    }

    /// The person of this id.
    pub fn person(&self, id: &Value) -> Result<Option<VertexId>> {
        self.view.find("Person", "id", id.clone())
    }

    /// The post or the comment of this id, and whether it is a post.
    pub fn message(&self, id: &Value) -> Result<Option<(VertexId, bool)>> {
        if let Some(post) = self.view.find("Post", "id", id.clone())? {
            return Ok(Some((post, true)));
        }
        Ok(self.view.find("Comment", "id", id.clone())?.map(|comment| (comment, false)))
    }

    /// All neighbours of `of`, with the row of each.
    pub fn step(&self, of: &[VertexId], edge_type: TypeId, direction: Direction) -> Result<NeighborBatch> {
        let (mut cursor, mut batch) = (NeighborCursor::default(), NeighborBatch::default());
        while !cursor.done {
            self.view.neighbors(of, Some(&[edge_type]), direction, &mut cursor, BATCH, &mut batch)?;
        }
        Ok(batch)
    }

    /// The vertices at which edges of `of` end.
    pub fn out(&self, of: &[VertexId], edge_type: TypeId) -> Result<Vec<VertexId>> {
        Ok(self.step(of, edge_type, Direction::Out)?.neighbors)
    }

    /// The vertices at which edges to `of` begin.
    pub fn back(&self, of: &[VertexId], edge_type: TypeId) -> Result<Vec<VertexId>> {
        Ok(self.step(of, edge_type, Direction::In)?.neighbors)
    }

    /// The one neighbour that every vertex of `of` has, in its order.
    ///
    /// # Errors
    /// `corrupt` if one has none, or several.
    pub fn each_out(&self, of: &[VertexId], edge_type: TypeId) -> Result<Vec<VertexId>> {
        let batch = self.step(of, edge_type, Direction::Out)?;
        if batch.len() != of.len() {
            let text =
                format!("{} vertices have {} neighbours of a kind that each has once", of.len(), batch.len());
            return Err(Error::new(ErrorKind::Corrupt, text));
        }
        Ok(batch.neighbors)
    }

    /// The friends of a person.
    pub fn friends(&self, person: VertexId) -> Result<Vec<VertexId>> {
        Ok(self.step(&[person], self.types.knows, Direction::Both)?.neighbors)
    }

    /// Friends, and their friends without the person, each once.
    pub fn circle(&self, person: VertexId) -> Result<Vec<VertexId>> {
        let friends = self.friends(person)?;
        let further = self.step(&friends, self.types.knows, Direction::Both)?.neighbors;
        let mut seen = HashSet::from([person]);
        Ok(friends.into_iter().chain(further).filter(|found| seen.insert(*found)).collect())
    }

    /// The post at which the thread of a message began.
    pub fn root(&self, mut message: VertexId) -> Result<VertexId> {
        while let [parent, ..] = self.out(&[message], self.types.reply)?[..] {
            message = parent;
        }
        Ok(message)
    }

    /// Values of a property.
    pub fn column(&self, of: &[VertexId], key: KeyId) -> Result<Column> {
        let mut column = Column::new(ValueType::Any);
        self.view.vertex_properties(of, key, &mut column)?;
        Ok(column)
    }

    /// Texts of a property; empty without a value.
    pub fn texts(&self, of: &[VertexId], key: KeyId) -> Result<Vec<String>> {
        let column = self.column(of, key)?;
        Ok((0..of.len())
            .map(|row| column.get(row).map(|value| value.to_string()).unwrap_or_default())
            .collect())
    }

    /// One text.
    pub fn text(&self, of: VertexId, key: KeyId) -> Result<String> {
        Ok(self.texts(&[of], key)?.remove(0))
    }

    /// Ids.
    pub fn ids(&self, of: &[VertexId]) -> Result<Vec<i64>> {
        let column = self.column(of, self.keys.id)?;
        let id = |row| column.get(row).and_then(|value| value.as_i64());
        (0..of.len()).map(|row| id(row).ok_or_else(|| no_value("an id"))).collect()
    }

    /// When vertices were created, in milliseconds.
    pub fn moments(&self, of: &[VertexId]) -> Result<Vec<i64>> {
        moments(&self.column(of, self.keys.created)?)
    }

    /// Moments of edges, in milliseconds.
    pub fn moments_of(&self, edges: &[EdgeId], key: KeyId) -> Result<Vec<i64>> {
        let mut column = Column::new(ValueType::Any);
        self.view.edge_properties(edges, key, &mut column)?;
        moments(&column)
    }

    /// Id and both names of a person.
    pub fn name_of(&self, person: VertexId) -> Result<Vec<String>> {
        let [id, first, last] = [self.keys.id, self.keys.first, self.keys.last];
        Ok(vec![self.text(person, id)?, self.text(person, first)?, self.text(person, last)?])
    }

    /// What a message says, or its picture.
    pub fn content(&self, message: VertexId) -> Result<String> {
        let content = self.text(message, self.keys.content)?;
        if content.is_empty() { self.text(message, self.keys.image) } else { Ok(content) }
    }
}

fn moments(column: &Column) -> Result<Vec<i64>> {
    let moment = |row| match column.get(row) {
        Some(Value::DateTime(moment)) => Ok(moment.epoch_milliseconds()),
        _ => Err(no_value("a moment")),
    };
    (0..column.len()).map(moment).collect()
}

fn no_value(what: &str) -> Error {
    Error::new(ErrorKind::Corrupt, format!("a row of the network has no value for {what}"))
}
