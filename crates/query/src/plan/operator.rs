//! Operators: the elements of a plan.

use crate::plan::algorithm::{Analysis, ShortestPaths};
use crate::plan::call::Call;
use crate::plan::function::{Function, PathPart};
use crate::plan::io::Io;
use crate::plan::merge::{Merge, NewProperty};
use crate::plan::pattern::Match;
use crate::plan::predicate::{Predicate, Quantifier};
use crate::value::combine::Combine;
use crate::value::item::{Item, Token};
use evergraph_graph::id::Direction;
use std::sync::Arc;
use std::time::Duration;

/// A name in the graph: of a label, an edge type or a property. Its number is looked up when the plan runs.
pub type Name = Arc<str>;

/// The plan of a query.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Plan {
    /// The operators, in order.
    pub root: Traversal,
    /// The names of the frame's slots, by number.
    pub slots: Vec<Name>,
    /// The names of side effects, by number.
    pub side_effects: Vec<Name>,
    /// What side effects are to begin with.
    pub given: Vec<SideEffectStart>,
    /// The seed of random steps, for the same choice in each run; without it each run chooses anew.
    pub seed: Option<i64>,
    /// Options of the query: `with('evaluationTimeout', 500)`.
    pub options: Vec<(Name, Item)>,
    /// The sack that every traverser starts with, if there is one.
    pub sack: Option<Sack>,
    /// Whether equal traversers that a `barrier()` merges still count as several.
    pub bulks: bool,
    /// Whether the paths of traversers are used.
    pub reads_paths: bool,
    /// Whether it writes to the graph.
    pub writes: bool,
    /// Whether it contains values that are new in each run, as `UUID()` is: another run needs another plan.
    pub once: bool,
    /// The kind of its result.
    pub outcome: Outcome,
}

/// The kind of a query's result.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Outcome {
    /// The results of its steps.
    #[default]
    Results,
    /// What each step did: `g.V().profile()`.
    Profile,
    /// What each step would do, without running: `g.V().explain()`.
    Explanation,
}

impl Plan {
    /// A plan with the operators of `of` alone, and the same names.
    #[must_use]
    pub fn part(&self, of: &Traversal) -> Self {
        Self {
            root: of.clone(),
            slots: self.slots.clone(),
            side_effects: self.side_effects.clone(),
            given: Vec::new(),
            seed: self.seed,
            options: Vec::new(),
            sack: self.sack.clone(),
            bulks: self.bulks,
            reads_paths: self.reads_paths,
            writes: self.writes,
            once: self.once,
            outcome: Outcome::Results,
        }
    }

    /// The last value that the query gives to an option: `with('evaluationTimeout', 500)`.
    fn option(&self, name: &str) -> Option<&Item> {
        self.options.iter().rev().find(|(key, _)| **key == *name).map(|(_, item)| item)
    }

    /// Whether an unknown name is an error: `with('strict')`.
    #[must_use]
    pub fn is_strict(&self) -> bool {
        self.option("strict").is_some_and(|item| item.as_bool() == Some(true))
    }

    /// The timeout in the query itself, if there is one: `with('evaluationTimeout', 500)`, in milliseconds.
    #[must_use]
    pub fn timeout(&self) -> Option<Duration> {
        let milliseconds = self.option("evaluationTimeout")?.as_value()?.as_i64()?;
        u64::try_from(milliseconds).ok().map(Duration::from_millis)
    }

    /// The file that it reads or writes, if any.
    #[must_use]
    pub fn io(&self) -> Option<&Io> {
        match self.root.operators.as_slice() {
            [Operator::Io(io)] if self.outcome == Outcome::Results => Some(io),
            _ => None,
        }
    }
}

/// What a side effect is to begin with.
#[derive(Clone, PartialEq, Debug)]
pub struct SideEffectStart {
    /// The side effect.
    pub number: usize,
    /// What it is.
    pub item: Item,
    /// How others join it; items gather in it if nothing is said.
    pub join: Option<Combine>,
}

/// What traversers carry along: `withSack(1.0, sum)`.
#[derive(Clone, PartialEq, Debug)]
pub struct Sack {
    /// Its initial value.
    pub initial: Item,
    /// The operator that merges two sacks. Without it a `barrier()` merges no traversers.
    pub merge: Option<Combine>,
}

/// Operators that run one after the other.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Traversal {
    /// The operators.
    pub operators: Vec<Operator>,
}

/// One operation on traversers.
#[derive(Clone, PartialEq, Debug)]
pub enum Operator {
    /// Vertices of the graph, for each traverser: all, or the given ones.
    Vertices(Scan),
    /// Edges of the graph, likewise.
    Edges(Scan),
    /// These items, before the incoming traversers.
    Inject {
        /// The items.
        items: Vec<Item>,
        /// Whether there are no incoming traversers: the query begins here.
        first: bool,
    },
    /// From vertices over their edges.
    Expand(Expand),
    /// The same, with rows at one vertex merged: rules use it where a barrier waits for all rows anyway.
    Bulk,
    /// A traversal on several threads if there are many rows; each thread returns a part of the result.
    Parallel(Traversal),
    /// A traversal from `V()` on that runs where the vertices lie, if the graph lies on several nodes; each node returns a part
    /// of the result.
    Travel(Traversal),
    /// Within such a traversal: rows go to the nodes that keep what they are at, those at one vertex merged.
    Exchange,
    /// From edges to their ends.
    EdgeEnds(EdgeEnd),
    /// From elements to their properties: all, or those with these keys.
    Properties {
        /// The keys; all if empty.
        keys: Vec<Name>,
        /// Whether the result is their values, not the properties.
        values: bool,
    },
    /// From collections to their items.
    Unfold,
    /// From items to the results of a function.
    Map(Function),
    /// Items for which all tests hold.
    Filter(Vec<Test>),
    /// Items for which a traversal has a result, or has none.
    Where {
        /// The traversal.
        of: Traversal,
        /// Whether it must have a result.
        gives: bool,
    },
    /// Rows for which a predicate holds between modulated slots: `where('a', neq('b')).by('age')`.
    WhereBy {
        /// The slot on the left side of the predicate; the current item if `None`.
        left: Option<usize>,
        /// The predicate, whose operands are slots.
        predicate: Predicate,
        /// Modulators of the left side, then of the operands, used in turn.
        by: Vec<By>,
    },
    /// Items for which one of several traversals has a result.
    Any(Vec<Traversal>),
    /// Traversers with a simple path, or with a cyclic one.
    SimplePath {
        /// Whether the path must be simple.
        simple: bool,
        /// The part of the path that counts.
        part: PathPart,
        /// Modulators of its steps, used in turn.
        by: Vec<By>,
    },
    /// Gives the current item a name.
    As(usize),
    /// Items of a range.
    Range {
        /// How many are skipped.
        skip: u64,
        /// How many go on, at most.
        limit: u64,
    },
    /// The last items, so many.
    Tail(u64),
    /// Items that come within so many milliseconds of the first.
    TimeLimit(u64),
    /// Each item with this probability.
    Coin(f64),
    /// A random sample of so many items, by weight.
    Sample {
        /// How many go on, at most.
        count: u64,
        /// The weight; equal weights if `None`.
        by: Option<By>,
    },
    /// Ends the query with this message when a traverser comes.
    Fail(Box<str>),
    /// Each item once, compared by itself or by these.
    Dedup {
        /// The slots to compare in place of the item.
        slots: Vec<usize>,
        /// Modulators of each.
        by: Vec<By>,
    },
    /// One result for all traversers.
    Reduce(Reducer),
    /// All traversers, sorted.
    Order(Vec<(By, Sorting)>),
    /// The first items of that order, so many; others do not go on.
    Top(Vec<(By, Sorting)>, u64),
    /// Groups by key, with the result of a traversal for each.
    Group(Group),
    /// Paths, merged into one tree.
    Tree {
        /// The side effect that it goes to; the tree is the result if `None`.
        into: Option<usize>,
        /// Modulators of the steps, used in turn.
        by: Vec<By>,
    },
    /// Gathers the current edges, with their ends, in this side effect.
    Subgraph(usize),
    /// Gathers the current items in a side effect.
    Aggregate {
        /// The side effect.
        into: usize,
        /// The modulator of each.
        by: By,
    },
    /// The content of side effects, after all traversers have passed.
    Cap(Vec<usize>),
    /// The results of several traversals.
    Union(Vec<Traversal>),
    /// The results of the first traversal that has any.
    Coalesce(Vec<Traversal>),
    /// The results of a traversal, or the traverser itself if there are none.
    Optional(Traversal),
    /// The results of the option that matches.
    Choose(Choose),
    /// The results of all options that match.
    Branch(Branch),
    /// The results of a traversal that runs for each traverser alone; the path stays known in it.
    Local(Traversal),
    /// The first result of a traversal, or all of them.
    Child {
        /// The traversal.
        of: Traversal,
        /// Whether all results go on.
        all: bool,
    },
    /// Runs a traversal for its side effects.
    SideEffect(Traversal),
    /// Combines the sack of each traverser with a modulated value.
    SetSack {
        /// The operator that combines them.
        how: Combine,
        /// The modulator.
        by: By,
    },
    /// Waits for all traversers, and merges those that cannot be told apart.
    Barrier {
        /// Whether their sacks are divided into parts of one whole.
        normalises: bool,
    },
    /// Runs a traversal again and again.
    Repeat(Box<Repeat>),
    /// All solutions of patterns.
    Match(Match),
    /// The results of a service of the application for each traverser.
    Call(Box<Call>),
    /// Computes a property of every vertex; all traversers go on.
    Analysis(Box<Analysis>),
    /// All shortest paths from each vertex.
    ShortestPaths(Box<ShortestPaths>),
    /// Adds a vertex for each traverser.
    AddVertex {
        /// Its label.
        label: By,
        /// Its properties.
        properties: Vec<NewProperty>,
    },
    /// Adds an edge for each traverser.
    AddEdge {
        /// Its type.
        edge_type: By,
        /// Its source; the current vertex if `None`.
        from: By,
        /// Its target; the current vertex if `None`.
        to: By,
        /// Its properties.
        properties: Vec<NewProperty>,
    },
    /// Sets properties of each element.
    SetProperties(Vec<NewProperty>),
    /// Finds what a map describes, or adds it, for each traverser.
    Merge(Box<Merge>),
    /// Deletes each element.
    Drop,
    /// Imports a file, or exports the graph to one.
    Io(Io),
}

impl Operator {
    /// `dedup()`: each item once.
    pub const EACH_ONCE: Self = Self::Dedup { slots: Vec::new(), by: Vec::new() };

    /// Its address, which identifies it while its plan is not moved.
    #[must_use]
    pub fn place(&self) -> usize {
        std::ptr::from_ref(self).addr()
    }
}

/// Elements of the graph.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Scan {
    /// Their ids, or the elements themselves; all if `None`.
    pub ids: Option<Vec<Item>>,
    /// Tests on each; rules move them here, so that an index may answer them.
    pub tests: Vec<Test>,
}

/// From vertices over their edges.
#[derive(Clone, PartialEq, Debug)]
pub struct Expand {
    /// The direction of the edges.
    pub direction: Direction,
    /// The types of the edges; all if `None`.
    pub types: Option<Vec<Name>>,
    /// The result: the edges, or the vertices at their other ends.
    pub to: ExpandTo,
    /// Tests on the edges: only edges for which this has a result count; all, if it has no operator. They are
    /// not part of the path.
    pub edges: Traversal,
    /// The same for the vertices at the other ends.
    pub vertices: Traversal,
}

impl Expand {
    /// Over all edges of these types.
    #[must_use]
    pub fn new(direction: Direction, types: Option<Vec<Name>>, to: ExpandTo) -> Self {
        Self { direction, types, to, edges: Traversal::default(), vertices: Traversal::default() }
    }
}

/// The result of an expansion.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ExpandTo {
    /// The vertices at the other ends.
    Neighbors,
    /// The edges. The vertex that each was reached from goes into this slot, if `otherV()` needs it later.
    Edges(Option<usize>),
    /// Their number.
    Count,
}

/// An end of an edge.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EdgeEnd {
    /// Where it starts.
    Source,
    /// Where it ends.
    Target,
    /// Both, the start first.
    Both,
    /// The end that is not in this slot.
    Other(usize),
}

/// A test on an item.
#[derive(Clone, PartialEq, Debug)]
pub enum Test {
    /// It has this property.
    Has(Name),
    /// It does not have this property.
    HasNot(Name),
    /// A predicate on this property.
    Property(Name, Predicate),
    /// A predicate on its label or type, as a text.
    Label(Predicate),
    /// A predicate on its id.
    Id(Predicate),
    /// A predicate on its key, if it is a property.
    Key(Predicate),
    /// A predicate on its value, if it is a property.
    Value(Predicate),
    /// A predicate on the item itself.
    Is(Predicate),
    /// A predicate on a slot.
    Slot(usize, Predicate),
    /// A predicate on so many of its items, if it is a collection.
    Elements(Quantifier, Predicate),
}

impl Test {
    /// What must hold.
    #[must_use]
    pub fn predicate(&self) -> Option<&Predicate> {
        match self {
            Self::Has(_) | Self::HasNot(_) => None,
            Self::Property(_, predicate)
            | Self::Label(predicate)
            | Self::Id(predicate)
            | Self::Key(predicate)
            | Self::Value(predicate)
            | Self::Is(predicate)
            | Self::Slot(_, predicate)
            | Self::Elements(_, predicate) => Some(predicate),
        }
    }

    /// The same where `predicate` must hold.
    #[must_use]
    pub fn with(&self, predicate: Predicate) -> Self {
        match self {
            Self::Has(key) => Self::Has(Arc::clone(key)),
            Self::HasNot(key) => Self::HasNot(Arc::clone(key)),
            Self::Property(key, _) => Self::Property(Arc::clone(key), predicate),
            Self::Label(_) => Self::Label(predicate),
            Self::Id(_) => Self::Id(predicate),
            Self::Key(_) => Self::Key(predicate),
            Self::Value(_) => Self::Value(predicate),
            Self::Is(_) => Self::Is(predicate),
            Self::Slot(slot, _) => Self::Slot(*slot, predicate),
            Self::Elements(quantifier, _) => Self::Elements(*quantifier, predicate),
        }
    }
}

/// A modulator: `by('name')`, `by(T.id)`, `by(out().count())`, or none.
#[derive(Clone, PartialEq, Debug)]
pub enum By {
    /// The item itself.
    Itself,
    /// This item, for every traverser.
    Item(Item),
    /// A property of the element, or the value of a map for this key.
    Key(Name),
    /// A part that every element has.
    Token(Token),
    /// A slot of the frame.
    Slot(usize),
    /// The first result of a traversal.
    Child(Traversal),
    /// Another modulator, with null where it has no result.
    OrNull(Box<By>),
}

/// How `order()` sorts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sorting {
    /// Ascending.
    Ascending,
    /// Descending.
    Descending,
    /// Shuffled.
    Shuffle,
}

/// A reduction of all items to one.
#[derive(Clone, PartialEq, Debug)]
pub enum Reducer {
    /// The count.
    Count,
    /// The sum of counts, which are whole numbers: 0 without any.
    SumOfCounts,
    /// The sum.
    Sum,
    /// The minimum.
    Min,
    /// The maximum.
    Max,
    /// The mean.
    Mean,
    /// A list.
    Fold,
    /// A fold from this item over all others by an operator.
    Combine(Item, Combine),
}

/// `group()`.
#[derive(Clone, PartialEq, Debug)]
pub struct Group {
    /// The key of the groups.
    pub key: By,
    /// The value of each group.
    pub value: GroupValue,
    /// The side effect that the groups go to; the map is the result if `None`.
    pub into: Option<usize>,
}

/// The value of a group in `group()`.
#[derive(Clone, PartialEq, Debug)]
pub enum GroupValue {
    /// A list of a modulated value of each.
    List(By),
    /// The count.
    Count,
    /// The result of a traversal over all of them.
    Traversal(Traversal),
}

/// `choose()`.
#[derive(Clone, PartialEq, Debug)]
pub struct Choose {
    /// The value that selects an option.
    pub on: Chooser,
    /// The options; the first that matches is taken.
    pub options: Vec<(Vec<Predicate>, Traversal)>,
    /// The traversal if no option matches; the traverser itself if `None`.
    pub none: Option<Traversal>,
    /// The traversal if there is no value; the traverser itself if `None`.
    pub unproductive: Option<Traversal>,
}

/// `branch()`.
#[derive(Clone, PartialEq, Debug)]
pub struct Branch {
    /// The value that selects options.
    pub on: By,
    /// The options, all of which are taken if they match.
    pub options: Vec<(Case, Traversal)>,
}

/// The condition of an option of `branch()`.
#[derive(Clone, PartialEq, Debug)]
pub enum Case {
    /// A predicate holds for the value.
    Is(Predicate),
    /// A traversal from the value has a result.
    Gives(Traversal),
    /// Always.
    Any,
    /// No other option matches.
    None,
    /// There is no value.
    Unproductive,
}

/// The value that selects an option of `choose()`.
#[derive(Clone, PartialEq, Debug)]
pub enum Chooser {
    /// Whether a traversal has a result: true or false.
    Exists(Traversal),
    /// A modulated value.
    By(By),
}

/// `repeat()`.
#[derive(Clone, PartialEq, Debug)]
pub struct Repeat {
    /// The body.
    pub body: Traversal,
    /// Its name, for `loops('name')`.
    pub name: Option<Name>,
    /// The condition to end, and whether it is checked before the body rather than after.
    pub until: Option<(RepeatCondition, bool)>,
    /// The condition to emit a traverser that also stays, and whether it is checked before the body.
    pub emit: Option<(RepeatCondition, bool)>,
}

/// A question to a traverser in a repeat.
#[derive(Clone, PartialEq, Debug)]
pub enum RepeatCondition {
    /// Always yes.
    Yes,
    /// Whether the body has run so often.
    Times(u64),
    /// Whether a traversal has a result.
    Exists(Traversal),
}
