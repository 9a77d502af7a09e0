//! Functions: operators that make at most one item of an item.

use crate::plan::operator::{By, Name, Reducer, Sorting, Traversal};
use crate::plan::scalar::Scalar;
use crate::value::item::{Item, Token};

/// What makes one item of an item, or none.
#[derive(Clone, PartialEq, Debug)]
pub enum Function {
    /// Always this.
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
    /// What these slots are: one alone, or a map of several by name; and what of each counts.
    Select {
        /// The slots or keys of a map.
        names: Vec<Selected>,
        /// What of each, by turns.
        by: Vec<By>,
    },
    /// What the name is that a traversal gives: `select(select('a'))`.
    SelectNamed {
        /// What gives the name, or a key of a map.
        key: By,
        /// Which, of several that a label named.
        pop: Pop,
        /// What of it.
        by: Option<By>,
    },
    /// Where the traverser has been.
    Path {
        /// The part of it.
        part: PathPart,
        /// What of each step, by turns.
        by: Vec<By>,
    },
    /// Several of what counts of it, by name.
    Project {
        /// The names.
        names: Vec<Name>,
        /// What of it, by turns.
        by: Vec<By>,
    },
    /// What the traverser carries along.
    Sack,
    /// How often the body around has run.
    Loops(Option<Name>),
    /// A reducer over what is in a collection.
    Local(Reducer),
    /// The entries' keys, or values, of a map.
    Column {
        /// Whether the keys are wanted.
        keys: bool,
    },
    /// A part of a collection.
    LocalRange {
        /// Those left out.
        skip: u64,
        /// The most that stay.
        limit: u64,
    },
    /// The last of a collection.
    LocalTail(u64),
    /// A collection in order.
    LocalOrder(Vec<(By, Sorting)>),
    /// A collection, each once.
    LocalDedup,
    /// A function of texts, lists, numbers or dates.
    Scalar(Scalar),
    /// Properties by key, lists of them if there may be several.
    ElementMap {
        /// Which properties, and how they are shown.
        shape: MapShape,
        /// What of each value.
        by: Vec<By>,
    },
}

/// A part of where a traverser has been, between names that `as()` gave; both steps are in it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct PathPart {
    /// Where it begins; at the beginning if nothing is said.
    pub from: Option<Name>,
    /// Where it ends; at the end if nothing is said.
    pub to: Option<Name>,
}

/// What `select()` names.
#[derive(Clone, PartialEq, Debug)]
pub struct Selected {
    /// The name: the key of the answer, a key of a map, a side effect.
    pub name: Name,
    /// The slot, if a label is called so.
    pub slot: Option<usize>,
    /// The side effect, if one is called so.
    pub side_effect: Option<usize>,
    /// Which, of several that the label named.
    pub pop: Pop,
}

/// Which of several that a label named.
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

/// How `valueMap()` and `elementMap()` show an element.
#[derive(Clone, PartialEq, Debug)]
pub struct MapShape {
    /// Of a vertex, only those properties of which this gives something; all if it has no operator.
    pub visible: Traversal,
    /// The keys; all if none is named.
    pub keys: Vec<Name>,
    /// Whether each value is in a list of its own.
    pub lists: bool,
    /// Whether the properties themselves are wanted, not their values.
    pub properties: bool,
    /// The parts of the element that are in it, if it has them.
    pub tokens: Vec<Token>,
}
