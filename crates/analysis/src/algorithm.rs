//! Algorithm: an entry of the table: what people and programs read of it, and what runs it.

use crate::answer::Answer;
use crate::arguments::Arguments;
use crate::column::ColumnDescription;
use crate::input::Input;
use crate::parameter::Parameter;
use evergraph_algorithms::control::Control;
use evergraph_graph::error::Result;
use std::fmt;

/// An algorithm.
pub struct Algorithm {
    /// Its name, with underscores: `personalized_pagerank`.
    pub name: &'static str,
    /// What question it belongs to.
    pub group: Group,
    /// What it answers, in a sentence.
    pub summary: &'static str,
    /// What else to know of the answer, in lines of at most 100 characters. May be empty.
    pub details: &'static str,
    /// A command line behind `evergraph run`.
    pub example: &'static str,
    /// What may be chosen.
    pub parameters: &'static [Parameter],
    /// How it reads the graph.
    pub reads: Reads,
    /// The columns of its answer, one of them that of vertices.
    pub columns: &'static [ColumnDescription],
    /// Which rows are worth a look.
    pub order: Order,
    /// The figures of its answer.
    pub figures: &'static [&'static str],
    /// What it costs.
    pub cost: Cost,
    /// Whether it can be stopped.
    pub stops: Stops,
    /// What runs it.
    pub(crate) kernel: Kernel,
}

/// What runs an algorithm.
pub(crate) type Kernel = fn(&Input<'_>, &Arguments, &Control<'_>) -> Result<Answer>;

/// What a question is about, in the order of help and guide.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Group {
    /// Who matters?
    WhoMatters,
    /// How does one get from here to there, and who is near?
    WaysAndNeighbourhoods,
    /// What hangs together, and what comes first?
    ComponentsAndOrder,
    /// Who is close-knit?
    CommunitiesAndDensity,
}

/// How an algorithm reads the graph.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reads {
    /// Along a direction that is a parameter.
    Direction,
    /// Each edge both ways.
    BothWays,
    /// From source to target.
    SourceToTarget,
}

/// Which rows of an answer are worth a look. The values are those of the last column, unless said otherwise.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Order {
    /// Those with the highest values.
    Highest,
    /// Those with the lowest, of those that have one.
    Nearest,
    /// Groups, the largest first: the value is the number of the group.
    Groups,
    /// The first: rows are in order.
    InOrder,
    /// The first path; a first column, if it isn't that of vertices, numbers them.
    Paths,
    /// The first cycles, numbered by the first column.
    Cycles,
}

/// What an algorithm costs, with *E* and *V* for the edges and vertices in scope.
#[derive(Clone, Copy, Debug)]
pub struct Cost {
    /// Reading: `*E* a round`.
    pub time: &'static str,
    /// Memory beside the graph: `32 B · *V*`.
    pub memory: &'static str,
    /// The same in bytes, at most, with what is reserved ahead; `None` where it depends on the answer.
    pub memory_bytes: Option<fn(&GraphSize) -> u64>,
}

/// The size of the part of a graph that an algorithm reads, and the number of threads that read it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct GraphSize {
    /// Ids of vertices: those in scope, and the gaps between them.
    pub vertices: u64,
    /// Edges in scope.
    pub edges: u64,
    /// Threads.
    pub threads: u64,
}

/// Whether an algorithm can be stopped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stops {
    /// Within a fraction of a second.
    Soon,
}

impl Algorithm {
    /// Runs it on `input`.
    ///
    /// # Errors
    /// `not_found` for a name or vertex that isn't there; `invalid` for lengths that don't fit together, or a weight
    /// that is none; `limit` if its state doesn't fit into the budget of `control`; `cancelled`; those of freezing.
    pub fn run(&self, input: &Input<'_>, arguments: &Arguments, control: &Control<'_>) -> Result<Answer> {
        input.expect_rows(self.row_bytes());
        let answer = (self.kernel)(input, arguments, control)?;
        debug_assert_eq!(answer.columns.len() + 1, self.columns.len(), "{}", self.name);
        debug_assert!(
            answer.figures.iter().map(|(name, _)| name).eq(self.figures),
            "{}: {:?}",
            self.name,
            answer.figures
        );
        Ok(answer)
    }

    /// What an answer takes for each vertex beyond what the kernel reserved: most of that is free when rows are made.
    #[must_use]
    pub fn row_bytes(&self) -> u64 {
        let rows = match self.order {
            Order::Highest | Order::Nearest | Order::InOrder => 4 + 8 * (self.columns.len() as u64 - 1),
            // A vertex, a number, and what numbers groups by their sizes.
            Order::Groups => 28,
            Order::Paths | Order::Cycles => return 0,
        };
        let many = 1 << 20;
        let size = GraphSize { vertices: many, edges: 0, threads: 1 };
        let kernel = self.cost.memory_bytes.map_or(0, |bytes| bytes(&size) / many);
        // The kernel's result is there still, a number a vertex.
        (rows + 4).saturating_sub(kernel)
    }

    /// Its name on a command line: with hyphens.
    #[must_use]
    pub fn command(&self) -> String {
        self.name.replace('_', "-")
    }
}

impl Group {
    /// All of them, in order.
    pub const ALL: [Self; 4] = [
        Self::WhoMatters,
        Self::WaysAndNeighbourhoods,
        Self::ComponentsAndOrder,
        Self::CommunitiesAndDensity,
    ];

    /// What it is called.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Self::WhoMatters => "Who matters",
            Self::WaysAndNeighbourhoods => "Ways and neighbourhoods",
            Self::ComponentsAndOrder => "Components and order",
            Self::CommunitiesAndDensity => "Communities and density",
        }
    }
}

impl Reads {
    /// Why there is no direction to choose, unless there is.
    #[must_use]
    pub fn without_direction(self) -> Option<&'static str> {
        match self {
            Self::Direction => None,
            Self::BothWays => Some("reads edges both ways"),
            Self::SourceToTarget => Some("follows edges from source to target"),
        }
    }
}

impl fmt::Debug for Algorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Algorithm").field("name", &self.name).finish_non_exhaustive()
    }
}
