//! Names: what a name in a query is the name of, by the step that takes it and by what traversers can be at.
//!
//! `by('name')` is a property where traversers are at vertices or edges, and a key where they are at maps, which no graph
//! lists. So a name is one of the graph only where that is certain.

/// What a name is the name of.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum NameKind {
    /// A label of vertices.
    Label,
    /// A label of edges: their type.
    EdgeType,
    /// A label of vertices or edges.
    AnyLabel,
    /// A property of vertices or edges.
    Property,
    /// A label of anything that has one: of a property it is the key.
    Any,
}

impl NameKind {
    /// What a name is that a step takes as `role` while traversers are `at` some places; `None` if that isn't certain.
    #[must_use]
    pub fn of(role: Role, at: Places) -> Option<Self> {
        Some(match role {
            Role::EdgeType => Self::EdgeType,
            Role::Label if at.is_within(Places::VERTEX) => Self::Label,
            Role::Label if at.is_within(Places::EDGE) => Self::EdgeType,
            Role::Label if at.is_within(Places::ELEMENT) => Self::AnyLabel,
            Role::Label if at != Places::default() => Self::Any,
            Role::Property if at.is_within(Places::ELEMENT) => Self::Property,
            Role::Key if at.is_within(Places::PROPERTY) => Self::Property,
            _ => return None,
        })
    }
}

/// What a step takes a name for.
#[derive(Clone, Copy, Debug)]
pub enum Role {
    /// The type of edges.
    EdgeType,
    /// The label of what traversers are at.
    Label,
    /// A property of what traversers are at.
    Property,
    /// The key of a property that traversers are at.
    Key,
}

/// What traversers can be at: some of these.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Places(u8);

impl Places {
    /// A vertex.
    pub const VERTEX: Self = Self(1);
    /// An edge.
    pub const EDGE: Self = Self(2);
    /// A property of a vertex or an edge, but not one of a property.
    pub const PROPERTY: Self = Self(4);
    /// Anything else.
    pub const OTHER: Self = Self(8);
    /// Where the body of the `repeat()` around began.
    pub const BODY: Self = Self(16);
    /// A vertex or an edge.
    pub const ELEMENT: Self = Self(1 | 2);

    /// What is in one of both.
    pub const fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether it is at one of `some`.
    pub const fn has(self, some: Self) -> bool {
        self.0 & some.0 != 0
    }

    /// Whether it is nowhere but at `all`.
    pub const fn is_within(self, all: Self) -> bool {
        self.0 != 0 && self.0 & !all.0 == 0
    }

    /// The same, the beginning of the body being at `begin`.
    pub const fn resolved(self, begin: Self) -> Self {
        if self.has(Self::BODY) { Self((self.0 & !Self::BODY.0) | begin.0) } else { self }
    }
}
