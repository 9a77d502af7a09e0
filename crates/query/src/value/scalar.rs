//! Scalar functions of one item, as data; each is implemented in the file of its subject.

use crate::value::date::{self, Unit};
use crate::value::item::Item;
use crate::value::room::Room;
use crate::value::text::{self, TextFunction};
use crate::value::{convert, list};
use evergraph_graph::catalogue::Catalogue;
use evergraph_graph::error::Result;
use evergraph_graph::value::ValueType;

/// What makes one item of one item.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ScalarFunction {
    /// `asString()`, of each item of a list if true.
    AsString(bool),
    /// A function of texts, of each in a list if true.
    Text(TextFunction, bool),
    /// `conjoin(delimiter)`
    Conjoin(Box<str>),
    /// `reverse()`
    Reverse,
    /// `index()`, as a map if true.
    Index(bool),
    /// `asNumber()`, of this type if one is named.
    AsNumber(Option<ValueType>),
    /// `asBool()`
    AsBool,
    /// `asDate()`
    AsDate,
    /// `dateAdd(unit, count)`
    DateAdd(Unit, i64),
}

impl ScalarFunction {
    /// What it makes of `item`, if there is `room` for it; `catalogue` has the names of elements.
    ///
    /// # Errors
    /// `invalid` of an item that it has no answer for; `limit` if there isn't room.
    pub fn of(&self, item: &Item, catalogue: &Catalogue, room: Room) -> Result<Item> {
        match self {
            Self::AsString(local) => text::as_string(item, *local, catalogue, room),
            Self::Text(function, local) => function.of(item, *local, room),
            Self::Conjoin(delimiter) => list::conjoin(item, delimiter, catalogue, room),
            Self::Reverse => list::reverse(item, room),
            Self::Index(as_map) => list::index(item, *as_map, room),
            Self::AsNumber(to) => convert::as_number(item, *to),
            Self::AsBool => convert::as_bool(item),
            Self::AsDate => date::as_date(item),
            Self::DateAdd(unit, count) => date::add(item, *unit, *count),
        }
    }
}
