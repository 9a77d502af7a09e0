//! Predicates: `gt(5)`, `within('a', 'b').and(neq('c'))`, `startingWith('m')`.

use crate::value::item::Item;
use crate::value::relation;
use crate::value::types::ItemType;
use evergraph_graph::error::Result;
use evergraph_graph::filter::Comparison;
use regex::Regex;
use std::cmp::Ordering;
use std::collections::HashSet;

/// A condition on an item.
#[derive(Clone, PartialEq, Debug)]
pub enum Predicate {
    /// A comparison with an operand holds.
    Compare(Comparison, Operand),
    /// The item equals one of these.
    Within(Vec<Item>),
    /// The item equals one of the items of the collection in a slot, or the slot itself if it is not a collection.
    WithinSlot(usize),
    /// The same for a side effect.
    WithinSideEffect(usize),
    /// The item is one of these elements, or equals one of the other items: what [`Predicate::resolved`] makes
    /// of a side effect, which may have gathered many.
    Gathered {
        /// Vertices and edges.
        elements: HashSet<Item>,
        /// What is neither.
        rest: Vec<Item>,
    },
    /// The item is a text that passes this test, or fails it.
    Text(TextTest, Box<str>, bool),
    /// The same, with an operand as the test's text.
    TextOf(TextTest, Operand, bool),
    /// The item is a text in which a pattern is found, or is not.
    Regex(Pattern, bool),
    /// The item is of a type.
    TypeOf(ItemType),
    /// All hold.
    And(Vec<Predicate>),
    /// One holds.
    Or(Vec<Predicate>),
    /// The condition does not hold.
    Not(Box<Predicate>),
}

/// A regular expression. Two are equal if their texts are equal.
#[derive(Clone, Debug)]
pub struct Pattern(Regex);

/// How many items of a collection must satisfy a condition.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Quantifier {
    /// `all()`
    All,
    /// `any()`
    Any,
    /// `none()`
    None,
}

/// The right side of a comparison.
#[derive(Clone, PartialEq, Debug)]
pub enum Operand {
    /// A literal.
    Item(Item),
    /// A slot of the frame: `where(gt('a'))`.
    Slot(usize),
    /// A side effect.
    SideEffect(usize),
}

/// A test on a text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TextTest {
    /// `startingWith`
    StartsWith,
    /// `endingWith`
    EndsWith,
    /// `containing`
    Contains,
    /// `regex`, of a pattern that is known when the query runs.
    Matches,
}

/// Whether a comparison holds for `left` and `right`. Items that cannot be compared are neither less nor greater nor equal.
fn compares(comparison: Comparison, left: &Item, right: &Item) -> bool {
    match comparison {
        Comparison::Equal => relation::equal(left, right),
        Comparison::NotEqual => !relation::equal(left, right),
        Comparison::Less => relation::compare(left, right).is_some_and(Ordering::is_lt),
        Comparison::LessOrEqual => relation::compare(left, right).is_some_and(Ordering::is_le),
        Comparison::Greater => relation::compare(left, right).is_some_and(Ordering::is_gt),
        Comparison::GreaterOrEqual => relation::compare(left, right).is_some_and(Ordering::is_ge),
    }
}

/// Vertices and edges equal themselves alone.
fn is_element(item: &Item) -> bool {
    matches!(item, Item::Vertex(_) | Item::Edge(_))
}

impl Predicate {
    /// `eq(item)`.
    #[must_use]
    pub fn equal_to(item: Item) -> Self {
        Self::Compare(Comparison::Equal, Operand::Item(item))
    }

    /// Whether it holds for `item`; `slot` returns a slot of the row. A slot that the row does not have makes
    /// every comparison false.
    pub fn holds(&self, item: &Item, slot: &impl Fn(usize) -> Option<Item>) -> bool {
        match self {
            Self::Compare(comparison, Operand::Item(other)) => compares(*comparison, item, other),
            Self::Compare(comparison, Operand::Slot(number)) => {
                slot(*number).is_some_and(|other| compares(*comparison, item, &other))
            }
            // What is asked aside is looked up before: see `Predicate::resolved`.
            Self::Compare(_, Operand::SideEffect(_))
            | Self::WithinSideEffect(_)
            | Self::TextOf(_, Operand::SideEffect(_), _) => false,
            Self::WithinSlot(number) => slot(*number).is_some_and(|others| match others.elements() {
                Some(others) => others.iter().any(|other| relation::equal(item, other)),
                None => relation::equal(item, &others),
            }),
            Self::TextOf(test, Operand::Item(operand), so) => test.holds_of(item, operand, *so),
            Self::TextOf(test, Operand::Slot(number), so) => {
                slot(*number).is_some_and(|operand| test.holds_of(item, &operand, *so))
            }
            Self::Within(items) => items.iter().any(|other| relation::equal(item, other)),
            Self::Gathered { elements, rest } => {
                if is_element(item) {
                    elements.contains(item)
                } else {
                    rest.iter().any(|other| relation::equal(item, other))
                }
            }
            Self::Text(test, operand, so) => {
                item.as_str().is_some_and(|text| test.holds(text, operand) == *so)
            }
            Self::Regex(pattern, so) => item.as_str().is_some_and(|text| pattern.0.is_match(text) == *so),
            Self::TypeOf(item_type) => item_type.holds(item),
            Self::And(all) => all.iter().all(|one| one.holds(item, slot)),
            Self::Or(all) => all.iter().any(|one| one.holds(item, slot)),
            Self::Not(one) => !one.holds(item, slot),
        }
    }

    /// The slots that it compares with, in the order of the text.
    pub fn slots(&self, slots: &mut Vec<usize>) {
        match self {
            Self::Compare(_, Operand::Slot(slot))
            | Self::TextOf(_, Operand::Slot(slot), _)
            | Self::WithinSlot(slot) => slots.push(*slot),
            Self::And(all) | Self::Or(all) => all.iter().for_each(|one| one.slots(slots)),
            Self::Not(one) => one.slots(slots),
            Self::Compare(_, Operand::Item(_) | Operand::SideEffect(_))
            | Self::TextOf(_, Operand::Item(_) | Operand::SideEffect(_), _)
            | Self::Within(_)
            | Self::WithinSideEffect(_)
            | Self::Gathered { .. }
            | Self::Text(..)
            | Self::Regex(..)
            | Self::TypeOf(_) => {}
        }
    }

    /// Whether it uses side effects.
    #[must_use]
    pub fn reads_side_effects(&self) -> bool {
        match self {
            Self::Compare(_, Operand::SideEffect(_))
            | Self::WithinSideEffect(_)
            | Self::TextOf(_, Operand::SideEffect(_), _) => true,
            Self::And(all) | Self::Or(all) => all.iter().any(Self::reads_side_effects),
            Self::Not(one) => one.reads_side_effects(),
            Self::Compare(..)
            | Self::Within(_)
            | Self::WithinSlot(_)
            | Self::Gathered { .. }
            | Self::Text(..)
            | Self::TextOf(..)
            | Self::Regex(..)
            | Self::TypeOf(_) => false,
        }
    }

    /// The same with the present content of side effects, as `read` returns it.
    ///
    /// # Errors
    /// Errors of `read`.
    pub fn resolved(&self, read: &mut impl FnMut(usize) -> Result<Item>) -> Result<Self> {
        Ok(match self {
            Self::Compare(comparison, Operand::SideEffect(number)) => {
                Self::Compare(*comparison, Operand::Item(read(*number)?))
            }
            Self::TextOf(test, Operand::SideEffect(number), so) => {
                Self::TextOf(*test, Operand::Item(read(*number)?), *so)
            }
            Self::WithinSideEffect(number) => {
                let item = read(*number)?;
                let items = item.elements().unwrap_or_else(|| vec![item]);
                let (elements, rest): (Vec<Item>, Vec<Item>) = items.into_iter().partition(is_element);
                Self::Gathered { elements: elements.into_iter().collect(), rest }
            }
            Self::And(all) => Self::And(all.iter().map(|one| one.resolved(read)).collect::<Result<_>>()?),
            Self::Or(all) => Self::Or(all.iter().map(|one| one.resolved(read)).collect::<Result<_>>()?),
            Self::Not(one) => Self::Not(Box::new(one.resolved(read)?)),
            other => other.clone(),
        })
    }

    /// The same with other numbers for the slots and side effects that it asks for: how many come before in the text. `asked`
    /// is what each of these is.
    #[must_use]
    pub fn numbered(&self, asked: &mut Vec<Operand>) -> Self {
        let mut next = |operand: Operand| {
            asked.push(operand);
            asked.len() - 1
        };
        let mut operand = |operand: &Operand| match operand {
            Operand::Item(item) => Operand::Item(item.clone()),
            Operand::Slot(_) => Operand::Slot(next(operand.clone())),
            Operand::SideEffect(_) => Operand::SideEffect(next(operand.clone())),
        };
        match self {
            Self::Compare(comparison, other) => Self::Compare(*comparison, operand(other)),
            Self::TextOf(test, other, so) => Self::TextOf(*test, operand(other), *so),
            Self::WithinSlot(slot) => Self::WithinSlot(next(Operand::Slot(*slot))),
            Self::WithinSideEffect(number) => Self::WithinSideEffect(next(Operand::SideEffect(*number))),
            Self::And(all) => Self::And(all.iter().map(|one| one.numbered(asked)).collect()),
            Self::Or(all) => Self::Or(all.iter().map(|one| one.numbered(asked)).collect()),
            Self::Not(one) => Self::Not(Box::new(one.numbered(asked))),
            other => other.clone(),
        }
    }

    /// The operands that are patterns.
    pub fn patterns<'p>(&'p self, patterns: &mut Vec<&'p Operand>) {
        match self {
            Self::TextOf(TextTest::Matches, operand, _) => patterns.push(operand),
            Self::And(all) | Self::Or(all) => all.iter().for_each(|one| one.patterns(patterns)),
            Self::Not(one) => one.patterns(patterns),
            _ => {}
        }
    }

    /// The only items for which it can hold: a look-up by equality for an index.
    #[must_use]
    pub fn only(&self) -> Option<Vec<Item>> {
        match self {
            Self::Compare(Comparison::Equal, Operand::Item(item)) => Some(vec![item.clone()]),
            Self::Within(items) => Some(items.clone()),
            Self::And(all) => all.iter().find_map(Self::only),
            _ => None,
        }
    }
}

impl Pattern {
    /// Reads a regular expression. It is found in time proportional to the text, whatever it is: there are no look-around and no
    /// back references.
    ///
    /// # Errors
    /// A text that says what is wrong with it, or that it is too large.
    pub fn new(text: &str) -> std::result::Result<Self, regex::Error> {
        Regex::new(text).map(Self)
    }
}

impl Pattern {
    /// The text of the expression.
    #[must_use]
    pub fn text(&self) -> &str {
        self.0.as_str()
    }
}

impl PartialEq for Pattern {
    fn eq(&self, other: &Self) -> bool {
        self.0.as_str() == other.0.as_str()
    }
}

impl Quantifier {
    /// Whether so many of `items` are true.
    pub fn holds(self, mut items: impl Iterator<Item = bool>) -> bool {
        match self {
            Self::All => items.all(|one| one),
            Self::Any => items.any(|one| one),
            Self::None => !items.any(|one| one),
        }
    }
}

impl TextTest {
    fn holds(self, text: &str, operand: &str) -> bool {
        match self {
            Self::StartsWith => text.starts_with(operand),
            Self::EndsWith => text.ends_with(operand),
            Self::Contains => text.contains(operand),
            // Whether it is a pattern was asked before.
            Self::Matches => Regex::new(operand).is_ok_and(|pattern| pattern.is_match(text)),
        }
    }

    /// Whether both are texts and the test passes, or fails if not `so`.
    fn holds_of(self, item: &Item, operand: &Item, so: bool) -> bool {
        item.as_str().zip(operand.as_str()).is_some_and(|(text, operand)| self.holds(text, operand) == so)
    }
}
