//! Scalar functions of a plan: of an item, and of what its modulators add.

use crate::plan::function::Selected;
use crate::plan::operator::By;
use crate::value::list::{Given, ListFunction};
use crate::value::math::Formula;
use crate::value::scalar::ScalarFunction;

/// What makes one item of an item and others.
#[derive(Clone, PartialEq, Debug)]
pub enum Scalar {
    /// A function of the item alone.
    Each(ScalarFunction),
    /// The item and these, as one text.
    Concat(Vec<By>),
    /// A collection of the item and another.
    List(ListFunction, Given, By),
    /// Milliseconds between the item and another moment.
    DateDifference(By),
    /// A text with values in it, and what `%{_}` stands for, by turns.
    Format(Vec<Part>, Vec<By>),
    /// A number by a formula.
    Math {
        /// The formula.
        formula: Formula,
        /// What its names stand for; the item itself where nothing is said.
        names: Vec<Option<Selected>>,
        /// What of each name counts, by turns.
        by: Vec<By>,
    },
    /// So many of a collection, by chance.
    Sample(u64),
}

/// A part of a text with values in it.
#[derive(Clone, PartialEq, Debug)]
pub enum Part {
    /// As it stands there.
    Text(Box<str>),
    /// The value of a name: a property of the element, a key of a map, a label.
    Name(Selected),
    /// What the modulator whose turn it is says.
    By,
}
