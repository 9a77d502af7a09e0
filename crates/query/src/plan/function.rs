//! Functions: operators that make at most one item of an item.

use crate::plan::operator::{By, Name, Reducer, Sorting, Traversal};
use crate::plan::scalar::Scalar;
use crate::value::item::{Item, Token};

/// A function from an item to at most one item.
#[derive(Clone, PartialEq, Debug)]
pub enum Function {
    /// A constant.
    Constant(Item),
    /// The id of an element.
    Id,
    /// The label or type of an element.
    Label,
    /// The key of a property or an entry.
    Key,
    /// The value of a property or an entry.
    Value,
    /// The element that a property belongs to.
    Element,
    /// The content of slots, modulated: of one slot alone, or a map of several by name.
    Select {
        /// The slots or keys of a map.
        names: Vec<Selected>,
        /// Modulators of each, used in turn.
        by: Vec<By>,
    },
    /// The content of the name that a traversal returns: `select(select('a'))`.
    SelectNamed {
        /// The modulator that returns the name, or a key of a map.
        key: By,
        /// Which one, if a label names several.
        pop: Pop,
        /// Its modulator.
        by: Option<By>,
    },
    /// The path of the traverser.
    Path {
        /// The part of the path.
        part: PathPart,
        /// Modulators of its steps, used in turn.
        by: Vec<By>,
    },
    /// A map of several modulated values, by name.
    Project {
        /// The names.
        names: Vec<Name>,
        /// Its modulators, used in turn.
        by: Vec<By>,
    },
    /// The sack of the traverser.
    Sack,
    /// How often the surrounding body has run.
    Loops(Option<Name>),
    /// A reduction of the items of a collection.
    Local(Reducer),
    /// The keys of a map, or its values.
    Column {
        /// Whether the result is the keys.
        keys: bool,
    },
    /// A part of a collection.
    LocalRange {
        /// How many are skipped.
        skip: u64,
        /// How many stay, at most.
        limit: u64,
    },
    /// The last items of a collection.
    LocalTail(u64),
    /// A collection, sorted.
    LocalOrder(Vec<(By, Sorting)>),
    /// A collection without duplicates.
    LocalDedup,
    /// A function of texts, lists, numbers or dates.
    Scalar(Scalar),
    /// Properties by key, as lists if there may be several.
    ElementMap {
        /// The properties, and their form.
        shape: MapShape,
        /// The modulator of each value.
        by: Vec<By>,
    },
}

/// A part of a path, between two names that `as()` gave, including both steps.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct PathPart {
    /// Its first step; the first one of the path if `None`.
    pub from: Option<Name>,
    /// Its last step; the last one of the path if `None`.
    pub to: Option<Name>,
}

/// A name in `select()`.
#[derive(Clone, PartialEq, Debug)]
pub struct Selected {
    /// The name: a key of the result, a key of a map, or a side effect.
    pub name: Name,
    /// The slot, if a label has this name.
    pub slot: Option<usize>,
    /// The side effect, if one has this name.
    pub side_effect: Option<usize>,
    /// Which one, if the label names several.
    pub pop: Pop,
}

/// Which one of several items with a label.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pop {
    /// The last.
    Last,
    /// The first.
    First,
    /// A list of all.
    All,
    /// The last if it is one, a list of all if there are several.
    Mixed,
}

/// The form of an element in `valueMap()` and `elementMap()`.
#[derive(Clone, PartialEq, Debug)]
pub struct MapShape {
    /// A test on the properties of vertices: only those for which this has a result; all, if it has no operator.
    pub visible: Traversal,
    /// The keys; all if empty.
    pub keys: Vec<Name>,
    /// Whether each value is in its own list.
    pub lists: bool,
    /// Whether the result is the properties themselves, not their values.
    pub properties: bool,
    /// The parts of the element to include, if it has them.
    pub tokens: Vec<Token>,
}
