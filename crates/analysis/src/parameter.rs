//! Parameter: what may be chosen about an algorithm, as data: its kind and range, and its default.

use evergraph_algorithms::range::{RealRange, WholeRange};
use evergraph_graph::id::Direction;

/// What may be chosen about an algorithm.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Parameter {
    /// Its name, with underscores: `missing_weight`.
    pub name: &'static str,
    /// One sentence. A vertex is `this vertex` in it, several are `these vertices`.
    pub summary: &'static str,
    /// What stands for its value in the help of a program: `N`.
    pub symbol: &'static str,
    /// What its values are.
    pub kind: Kind,
    /// What counts where nothing is chosen.
    pub default: DefaultValue,
    /// The parameter without which this one says nothing.
    pub needs: Option<&'static str>,
    /// For a boolean: how a program says false.
    pub flag: Option<Flag>,
}

/// An option of a program that stands for `false`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Flag {
    /// Its name.
    pub name: &'static str,
    /// One sentence.
    pub summary: &'static str,
}

/// What the values of a parameter are.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Kind {
    /// True or false.
    Boolean,
    /// A count or a length.
    Whole(WholeRange),
    /// A real number.
    Real(RealRange),
    /// One of some directions, each with a sentence.
    Direction(&'static [(Direction, &'static str)]),
    /// A vertex.
    Vertex,
    /// One vertex or more.
    Vertices,
    /// An edge property whose values are numbers.
    EdgeProperty,
}

/// What counts where nothing is chosen.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum DefaultValue {
    /// It must be chosen.
    Required,
    /// The algorithm does without; the text says what happens then, if that isn't plain.
    Nothing(&'static str),
    /// This.
    Boolean(bool),
    /// This number.
    Whole(u64),
    /// This number. An infinite one means that there is no limit.
    Real(f64),
    /// This direction.
    Direction(Direction),
    /// The property of this name.
    Property(&'static str),
}

impl Parameter {
    const fn new(name: &'static str, symbol: &'static str, kind: Kind, default: DefaultValue) -> Self {
        Self { name, summary: "", symbol, kind, default, needs: None, flag: None }
    }

    /// A count or length from `least` on.
    #[must_use]
    pub const fn whole(name: &'static str, symbol: &'static str, least: u64, default: DefaultValue) -> Self {
        Self::new(name, symbol, Kind::Whole(WholeRange { least, most: u32::MAX as u64 }), default)
    }

    /// The same up to `most`.
    #[must_use]
    pub const fn most(mut self, most: u64) -> Self {
        if let Kind::Whole(WholeRange { least, .. }) = self.kind {
            self.kind = Kind::Whole(WholeRange { least, most });
        }
        self
    }

    /// A real number.
    #[must_use]
    pub const fn real(name: &'static str, symbol: &'static str, range: RealRange, default: f64) -> Self {
        Self::new(name, symbol, Kind::Real(range), DefaultValue::Real(default))
    }

    /// A real number that may be missing; the text says what happens then.
    #[must_use]
    pub const fn optional_real(
        name: &'static str,
        symbol: &'static str,
        range: RealRange,
        otherwise: &'static str,
    ) -> Self {
        Self::new(name, symbol, Kind::Real(range), DefaultValue::Nothing(otherwise))
    }

    /// A direction, any of the three.
    #[must_use]
    pub const fn direction(default: Direction) -> Self {
        Self::directions(DIRECTIONS, default)
    }

    /// A direction, one of some.
    #[must_use]
    pub const fn directions(choices: &'static [(Direction, &'static str)], default: Direction) -> Self {
        Self::new("direction", "DIRECTION", Kind::Direction(choices), DefaultValue::Direction(default))
    }

    /// A vertex that must be named.
    #[must_use]
    pub const fn vertex(name: &'static str) -> Self {
        Self::new(name, "N", Kind::Vertex, DefaultValue::Required)
    }

    /// Vertices, at least one.
    #[must_use]
    pub const fn vertices(name: &'static str) -> Self {
        Self::new(name, "N", Kind::Vertices, DefaultValue::Required)
    }

    /// An edge property.
    #[must_use]
    pub const fn edge_property(name: &'static str, default: DefaultValue) -> Self {
        Self::new(name, "PROPERTY", Kind::EdgeProperty, default)
    }

    /// True by default; a program says false by `flag`.
    #[must_use]
    pub const fn boolean(name: &'static str, flag: Flag) -> Self {
        let parameter = Self::new(name, "", Kind::Boolean, DefaultValue::Boolean(true));
        Self { flag: Some(flag), ..parameter }
    }

    /// The same with what it means, in a sentence.
    #[must_use]
    pub const fn means(mut self, summary: &'static str) -> Self {
        self.summary = summary;
        self
    }

    /// The same, of no use without the parameter `other`.
    #[must_use]
    pub const fn needing(mut self, other: &'static str) -> Self {
        self.needs = Some(other);
        self
    }

    /// The same, but nothing need be chosen.
    #[must_use]
    pub const fn optional(mut self) -> Self {
        self.default = DefaultValue::Nothing("");
        self
    }
}

/// All directions, with what they mean.
const DIRECTIONS: &[(Direction, &str)] = &[
    (Direction::Out, "From source to target."),
    (Direction::In, "Against the edges."),
    (Direction::Both, "Both ways: the graph is read as undirected."),
];

/// A weight that may be chosen.
#[doc(hidden)]
pub const WEIGHT: Parameter =
    Parameter::edge_property("weight", DefaultValue::Nothing("every edge counts 1"))
        .means("The edge property that is the weight: a number, not negative.");

/// The weight of edges that have none.
#[doc(hidden)]
pub const MISSING_WEIGHT: Parameter =
    Parameter::optional_real("missing_weight", "W", RealRange::Any, "such an edge is an error")
        .means("The weight of edges without the property.")
        .needing("weight");

/// How many vertices are drawn.
#[doc(hidden)]
pub const SAMPLE: Parameter = Parameter::whole("sample", "N", 1, DefaultValue::Nothing("exact, from all"))
    .means("Estimate from this many vertices, chosen at random.");

/// Which are drawn.
#[doc(hidden)]
pub const SEED: Parameter = Parameter::whole("seed", "N", 0, DefaultValue::Whole(0))
    .most(u64::MAX)
    .means("Seed of the random choice.")
    .needing("sample");

/// The name of `direction`: `out`, `in` or `both`.
#[must_use]
pub fn direction_name(direction: Direction) -> &'static str {
    match direction {
        Direction::Out => "out",
        Direction::In => "in",
        Direction::Both => "both",
    }
}
