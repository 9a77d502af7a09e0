//! Loss: one piece of damaged data, and the part of it that is missing.

use std::path::PathBuf;

use evergraph_graph::id::{Direction, GroupId, VertexId};
use evergraph_graph::timestamp::Timestamp;

/// Bytes of a file that can't be used, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    /// The file.
    pub file: PathBuf,
    /// Where they begin.
    pub offset: u64,
    /// How many they are.
    pub length: u64,
    /// What is wrong.
    pub problem: String,
}

/// What kind of thing is damaged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LossKind {
    /// Commits of the log: all that they did.
    Commits,
    /// A bulk load that no manifest names any more.
    Load,
    /// Vertices of a group, with all their properties, but for those that the log added since: one that it only
    /// changed is missing too, and is counted.
    Vertices,
    /// A property of a group's vertices.
    VertexProperty,
    /// Edges: both sides of them are damaged, or each says something else.
    Edges,
    /// Edges that are there, but whose end isn't.
    LooseEdges,
    /// A property of edges, or all of them: they lie on the out side only.
    EdgeProperty,
    /// A unique index, since its values occur twice now.
    Index,
    /// All notes, whatever they say: what follows a source has to begin anew.
    Notes,
    /// Damage without loss: the other side had the data, or there was none.
    Nothing,
}

impl LossKind {
    /// Its name in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Commits => "commits",
            Self::Load => "load",
            Self::Vertices => "vertices",
            Self::VertexProperty => "vertex_property",
            Self::Edges => "edges",
            Self::LooseEdges => "loose_edges",
            Self::EdgeProperty => "edge_property",
            Self::Index => "index",
            Self::Notes => "notes",
            Self::Nothing => "nothing",
        }
    }
}

/// Vertices with consecutive ids, both ends included.
pub type IdRange = (VertexId, VertexId);

/// One thing that is damaged or missing. Fields that don't belong to its kind, or that nobody can know,
/// are `None`.
#[derive(Clone, Debug, PartialEq)]
pub struct Loss {
    /// What kind of thing.
    pub kind: LossKind,
    /// What is wrong, and what came of it, for people.
    pub problem: String,
    /// The damaged file.
    pub file: Option<PathBuf>,
    /// Where the damaged part begins, in bytes.
    pub offset: Option<u64>,
    /// Its length in bytes.
    pub length: Option<u64>,
    /// The label of the vertices, or of those where the edges begin.
    pub label: Option<String>,
    /// The vertices, or where the edges begin (on the side `in`: end).
    pub vertices: Option<IdRange>,
    /// The edge type.
    pub edge_type: Option<String>,
    /// The side of the damaged list.
    pub side: Option<Direction>,
    /// At the other end of missing edges: vertices of these.
    pub others: Vec<IdRange>,
    /// The property; `None` for a property that can't be named, or all.
    pub property: Option<String>,
    /// The first and last missing commit; the last may be unknown.
    pub commits: Option<(Timestamp, Option<Timestamp>)>,
    /// How many vertices, edges or values are missing, if that is known.
    pub count: Option<u64>,
    /// How many there can be at most, if that is known.
    pub count_max: Option<u64>,
}

impl Loss {
    /// A loss without further details.
    #[must_use]
    pub fn new(kind: LossKind, problem: impl Into<String>) -> Self {
        Self {
            kind,
            problem: problem.into(),
            file: None,
            offset: None,
            length: None,
            label: None,
            vertices: None,
            edge_type: None,
            side: None,
            others: Vec::new(),
            property: None,
            commits: None,
            count: None,
            count_max: None,
        }
    }

    /// Whether something is missing for it.
    #[must_use]
    pub fn is_missing(&self) -> bool {
        self.kind != LossKind::Nothing
    }

    /// The same, at a damaged place.
    #[must_use]
    pub fn at(self, damage: &Damage) -> Self {
        let Damage { file, offset, length, .. } = damage;
        Self { file: Some(file.clone()), offset: Some(*offset), length: Some(*length), ..self }
    }
}

/// The ids of `group` below row `rows`, which is at least 1.
#[must_use]
pub fn ids(group: GroupId, rows: u16) -> IdRange {
    (VertexId::new(group, 0), VertexId::new(group, rows.max(1) - 1))
}
