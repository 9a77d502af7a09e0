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

/// A name of the graph: of a label, an edge type, a property. Numbers are looked up when the plan runs.
pub type Name = Arc<str>;

/// What a query does.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Plan {
    /// What is done first, and then.
    pub root: Traversal,
    /// What the slots of the frame are called, by number.
    pub slots: Vec<Name>,
    /// What the side effects are called, by number.
    pub side_effects: Vec<Name>,
    /// What side effects are to begin with.
    pub given: Vec<Given>,
    /// What chance begins with, so that it falls alike at each run; it falls otherwise each time if nothing is said.
    pub seed: Option<i64>,
    /// What the query says about how it is run: `with('evaluationTimeout', 500)`.
    pub options: Vec<(Name, Item)>,
    /// What every traverser carries along to begin with, if it does.
    pub sack: Option<Sack>,
    /// Whether equal traversers that a `barrier()` makes one still count as several.
    pub bulks: bool,
    /// Whether anybody asks where a traverser has been.
    pub reads_paths: bool,
    /// Whether it writes to the graph.
    pub writes: bool,
    /// Whether it holds what is new at each run, as `UUID()` is: another run needs another plan.
    pub once: bool,
    /// What its result is.
    pub outcome: Outcome,
}

/// What the result of a query is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Outcome {
    /// What comes of its steps.
    #[default]
    Results,
    /// What each step did: `g.V().profile()`.
    Profile,
    /// What each step would do, and nothing runs: `g.V().explain()`.
    Explanation,
}

impl Plan {
    /// The plan that does `of` alone, with the same names.
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

    /// What the query says last of an option: `with('evaluationTimeout', 500)`.
    fn option(&self, name: &str) -> Option<&Item> {
        self.options.iter().rev().find(|(key, _)| **key == *name).map(|(_, item)| item)
    }

    /// Whether a name that the graph doesn't have is an error: `with('strict')`.
    #[must_use]
    pub fn is_strict(&self) -> bool {
        self.option("strict").is_some_and(|item| item.as_bool() == Some(true))
    }

    /// How long it may take, if the query itself says so: `with('evaluationTimeout', 500)`, in milliseconds.
    #[must_use]
    pub fn timeout(&self) -> Option<Duration> {
        let milliseconds = self.option("evaluationTimeout")?.as_value()?.as_i64()?;
        u64::try_from(milliseconds).ok().map(Duration::from_millis)
    }

    /// The file that it reads or writes, if it does.
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
pub struct Given {
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
    /// What is in it to begin with.
    pub initial: Item,
    /// What makes one of two sacks. Without it a `barrier()` makes no traversers one.
    pub merge: Option<Combine>,
}

/// Operators, one after the other.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Traversal {
    /// The operators.
    pub operators: Vec<Operator>,
}

/// One thing that is done with traversers.
#[derive(Clone, PartialEq, Debug)]
pub enum Operator {
    /// Vertices of the graph, for each traverser: all, or those named.
    Vertices(Scan),
    /// Edges of the graph, likewise.
    Edges(Scan),
    /// These items, before the traversers that come.
    Inject {
        /// The items.
        items: Vec<Item>,
        /// Whether nobody comes: it is how the query begins.
        first: bool,
    },
    /// From vertices over their edges.
    Expand(Expand),
    /// The same, rows at one vertex merged: rules put it where a barrier waits for all anyway.
    Bulk,
    /// What a traversal makes of the rows, on several threads if there are many: a part of the result each.
    Parallel(Traversal),
    /// From edges to their ends.
    EdgeEnds(EdgeEnd),
    /// From elements to their properties: all, or those of these keys.
    Properties {
        /// The keys; all if none is named.
        keys: Vec<Name>,
        /// Whether their values are wanted, not they themselves.
        values: bool,
    },
    /// From collections to what is in them.
    Unfold,
    /// From items to what a function makes of them.
    Map(Function),
    /// Those of which all hold.
    Filter(Vec<Test>),
    /// Those of which a traversal gives something, or nothing.
    Where {
        /// The traversal.
        of: Traversal,
        /// Whether it is to give something.
        gives: bool,
    },
    /// Those of which a predicate holds of what counts of them and of slots: `where('a', neq('b')).by('age')`.
    WhereBy {
        /// The slot that the predicate is about; where they are if nothing is said.
        left: Option<usize>,
        /// The predicate, whose operands are slots.
        predicate: Predicate,
        /// What counts of the one that it is about, then of its operands, by turns.
        by: Vec<By>,
    },
    /// Those for which one of several traversals gives something.
    Any(Vec<Traversal>),
    /// Those that are not where they have been before, or are.
    SimplePath {
        /// Whether they aren't.
        simple: bool,
        /// The part of where they have been that counts.
        part: PathPart,
        /// What of each step, by turns.
        by: Vec<By>,
    },
    /// Gives what each is at a name.
    As(usize),
    /// Those from a first on, and so many.
    Range {
        /// Those left out.
        skip: u64,
        /// The most that go on.
        limit: u64,
    },
    /// The last so many.
    Tail(u64),
    /// Those that come within so many milliseconds of the first.
    TimeLimit(u64),
    /// Each with this probability.
    Coin(f64),
    /// So many by chance, each with the weight that counts of it.
    Sample {
        /// The most that go on.
        count: u64,
        /// The weight; all weigh the same if nothing is said.
        by: Option<By>,
    },
    /// Ends the query with this message, once there is any.
    Fail(Box<str>),
    /// Each once, by what they are or by these.
    Dedup {
        /// The slots that count in place of the item.
        slots: Vec<usize>,
        /// What counts of each.
        by: Vec<By>,
    },
    /// All in one.
    Reduce(Reducer),
    /// In order.
    Order(Vec<(By, Sorting)>),
    /// The first so many of that order: no others go on.
    Top(Vec<(By, Sorting)>, u64),
    /// By key, with what a traversal makes of those of each.
    Group(Group),
    /// Where they have been, as one tree.
    Tree {
        /// The side effect that it goes to; it is the result if nothing is said.
        into: Option<usize>,
        /// What of each step, by turns.
        by: Vec<By>,
    },
    /// Gathers the edges that they are at, with their ends, in this side effect.
    Subgraph(usize),
    /// Gathers what they are at in a side effect.
    Aggregate {
        /// The side effect.
        into: usize,
        /// What of each.
        by: By,
    },
    /// What side effects gathered, once all have passed.
    Cap(Vec<usize>),
    /// What comes of several traversals.
    Union(Vec<Traversal>),
    /// What comes of the first traversal that gives something.
    Coalesce(Vec<Traversal>),
    /// What comes of a traversal, or else the traverser itself.
    Optional(Traversal),
    /// What comes of the traversal that fits.
    Choose(Choose),
    /// What comes of all traversals that fit.
    Branch(Branch),
    /// What comes of a traversal that runs for each alone; it keeps its past in there.
    Local(Traversal),
    /// The first, or all, that comes of a traversal.
    Child {
        /// The traversal.
        of: Traversal,
        /// Whether all is wanted.
        all: bool,
    },
    /// Runs a traversal for its side effects.
    SideEffect(Traversal),
    /// Makes the sack of each one of itself and of what counts of it.
    SetSack {
        /// What makes one of the two.
        how: Combine,
        /// What of each.
        by: By,
    },
    /// Waits for all, and makes those one that nobody can tell apart.
    Barrier {
        /// Whether their sacks are made parts of one whole.
        normalises: bool,
    },
    /// Runs a traversal again and again.
    Repeat(Box<Repeat>),
    /// All ways to fulfil patterns.
    Match(Match),
    /// What a service of the application finds for each.
    Call(Box<Call>),
    /// Computes something of every vertex, and lets all go on.
    Analysis(Box<Analysis>),
    /// All shortest paths from each.
    ShortestPaths(Box<ShortestPaths>),
    /// Adds a vertex for each.
    AddVertex {
        /// Its label.
        label: By,
        /// Its properties.
        properties: Vec<NewProperty>,
    },
    /// Adds an edge for each.
    AddEdge {
        /// Its type.
        edge_type: By,
        /// Where it starts; at the traverser itself if nothing is said.
        from: By,
        /// Where it ends; at the traverser itself if nothing is said.
        to: By,
        /// Its properties.
        properties: Vec<NewProperty>,
    },
    /// Sets properties of each.
    SetProperties(Vec<NewProperty>),
    /// Finds what a map describes, or adds it, for each.
    Merge(Box<Merge>),
    /// Deletes each.
    Drop,
    /// Reads a file into the graph, or writes the graph to one.
    Io(Io),
}

impl Operator {
    /// `dedup()`: each once, by what it is.
    pub const EACH_ONCE: Self = Self::Dedup { slots: Vec::new(), by: Vec::new() };

    /// Where it is in memory: what tells it from those equal to it while its plan stays where it is.
    #[must_use]
    pub fn place(&self) -> usize {
        std::ptr::from_ref(self).addr()
    }
}

/// Elements of the graph.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Scan {
    /// Their ids, or they themselves; all if nothing is said.
    pub ids: Option<Vec<Item>>,
    /// What must hold of each; rules move it here, so that an index may answer it.
    pub tests: Vec<Test>,
}

/// From vertices over their edges.
#[derive(Clone, PartialEq, Debug)]
pub struct Expand {
    /// Along or against them.
    pub direction: Direction,
    /// The types of the edges; all if nothing is said.
    pub types: Option<Vec<Name>>,
    /// What is wanted: the edges, or the vertices at their other ends.
    pub to: ExpandTo,
    /// For edges on the way: only those of which this gives something count; all if it has no operator. They don't
    /// become part of the path.
    pub edges: Traversal,
    /// The same of the vertices at the other ends.
    pub vertices: Traversal,
}

impl Expand {
    /// Over all edges of these types.
    #[must_use]
    pub fn new(direction: Direction, types: Option<Vec<Name>>, to: ExpandTo) -> Self {
        Self { direction, types, to, edges: Traversal::default(), vertices: Traversal::default() }
    }
}

/// What an expansion gives.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ExpandTo {
    /// The vertices at the other ends.
    Neighbors,
    /// The edges. Where one came from goes into this slot, if `otherV()` asks for it later.
    Edges(Option<usize>),
    /// How many there are.
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
    /// The one that isn't in this slot.
    Other(usize),
}

/// What must hold of an item.
#[derive(Clone, PartialEq, Debug)]
pub enum Test {
    /// It has this property.
    Has(Name),
    /// It hasn't.
    HasNot(Name),
    /// Of its property this holds.
    Property(Name, Predicate),
    /// Of its label or type, as a text.
    Label(Predicate),
    /// Of its id.
    Id(Predicate),
    /// Of its key: it is a property.
    Key(Predicate),
    /// Of its value: it is a property.
    Value(Predicate),
    /// Of it.
    Is(Predicate),
    /// Of what a slot is.
    Slot(usize, Predicate),
    /// Of so many of the items in it: it is a collection.
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

/// What of a traverser counts: `by('name')`, `by(T.id)`, `by(out().count())`, nothing said.
#[derive(Clone, PartialEq, Debug)]
pub enum By {
    /// It itself.
    Itself,
    /// This item, whatever it is.
    Item(Item),
    /// A property of the element, or what a map has at this key.
    Key(Name),
    /// A part that every element has.
    Token(Token),
    /// A slot of the frame.
    Slot(usize),
    /// The first that a traversal gives.
    Child(Traversal),
    /// What counts otherwise, or null where nothing does.
    OrNull(Box<By>),
}

/// How `order()` sorts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sorting {
    /// The least first.
    Ascending,
    /// The greatest first.
    Descending,
    /// By chance.
    Shuffle,
}

/// What makes one item of all.
#[derive(Clone, PartialEq, Debug)]
pub enum Reducer {
    /// How many.
    Count,
    /// The sum of whole numbers that are counts: 0 of none.
    SumOfCounts,
    /// Their sum.
    Sum,
    /// The least.
    Min,
    /// The greatest.
    Max,
    /// Their mean.
    Mean,
    /// A list of them.
    Fold,
    /// This and then each of them, made one by an operator.
    Combine(Item, Combine),
}

/// `group()`.
#[derive(Clone, PartialEq, Debug)]
pub struct Group {
    /// What they are grouped by.
    pub key: By,
    /// What is made of each group.
    pub value: GroupValue,
    /// The side effect that the groups go to; they are the result if nothing is said.
    pub into: Option<usize>,
}

/// What `group()` makes of a group.
#[derive(Clone, PartialEq, Debug)]
pub enum GroupValue {
    /// A list of what each is.
    List(By),
    /// How many.
    Count,
    /// What a traversal makes of all of them.
    Traversal(Traversal),
}

/// `choose()`.
#[derive(Clone, PartialEq, Debug)]
pub struct Choose {
    /// What decides.
    pub on: Chooser,
    /// What is done in which case, the first that fits.
    pub options: Vec<(Vec<Predicate>, Traversal)>,
    /// What is done in no such case; the traverser itself if nothing is said.
    pub none: Option<Traversal>,
    /// What is done where nothing decides; the traverser itself if nothing is said.
    pub unproductive: Option<Traversal>,
}

/// `branch()`.
#[derive(Clone, PartialEq, Debug)]
pub struct Branch {
    /// What decides.
    pub on: By,
    /// What is done in which case.
    pub options: Vec<(Case, Traversal)>,
}

/// When an option of a `branch()` is taken.
#[derive(Clone, PartialEq, Debug)]
pub enum Case {
    /// Where this holds of what decides.
    Is(Predicate),
    /// Where a traversal gives something of what decides.
    Gives(Traversal),
    /// Always.
    Any,
    /// Where none of those holds or gives something.
    None,
    /// Where nothing decides.
    Unproductive,
}

/// What decides a `choose()`.
#[derive(Clone, PartialEq, Debug)]
pub enum Chooser {
    /// Whether a traversal gives something: true or false.
    Exists(Traversal),
    /// What this is.
    By(By),
}

/// `repeat()`.
#[derive(Clone, PartialEq, Debug)]
pub struct Repeat {
    /// What is done again and again.
    pub body: Traversal,
    /// Its name, for `loops('name')`.
    pub name: Option<Name>,
    /// When it ends, and whether that is asked before the body rather than after.
    pub until: Option<(Ask, bool)>,
    /// Which go on besides staying, and whether that is asked before the body.
    pub emit: Option<(Ask, bool)>,
}

/// A question to a traverser in a repeat.
#[derive(Clone, PartialEq, Debug)]
pub enum Ask {
    /// Always yes.
    Yes,
    /// Whether the body has run so often.
    Times(u64),
    /// Whether a traversal gives something.
    Exists(Traversal),
}
