//! Calls: the content of a query, as data.
//!
//! ```text
//! g.V(1).has("age", gt(30))
//!   Call V    [1]
//!   Call has  ["age", predicate gt [30]]
//! ```
//!
//! Text and bytecode both become calls. Numbers keep the width that they were written with. What is
//! equal is what is said: the place in the text that a call was read from doesn't count.
//!
//! Invariant: the parser nests nothing deeper than its limit, so that code that walks calls by
//! recursion (checking, printing, dropping) can't run out of stack. Who builds calls otherwise keeps
//! to such a limit.

use evergraph_graph::value::Value;
use evergraph_graph::value::collection::{List, Map, Set, TooDeepError};

use crate::error::Span;
use crate::gremlin::token::{Cardinality, Token};

/// What follows `g`: how the graph is looked at, a traversal, and how its results are wanted.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Query {
    /// The calls, in order.
    pub calls: Vec<Call>,
}

/// One method called by name.
#[derive(Clone, Debug)]
pub struct Call {
    /// The method.
    pub name: Box<str>,
    /// What it is given.
    pub arguments: Vec<Argument>,
    /// Where its name stands in the text.
    pub span: Span,
}

impl PartialEq for Call {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name && self.arguments == other.arguments
    }
}

impl Eq for Call {}

/// What a call is given at one place.
#[derive(Clone, Debug)]
pub struct Argument {
    /// What it is.
    pub kind: ArgumentKind,
    /// Where it stands in the text.
    pub span: Span,
}

impl PartialEq for Argument {
    fn eq(&self, other: &Self) -> bool {
        self.kind == other.kind
    }
}

impl Eq for Argument {}

/// What an argument is: a value, or something that only queries have.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ArgumentKind {
    /// `null`: a value like others, and not the absence of one.
    Null,
    /// A value that holds no other values: lists, sets and maps have kinds of their own.
    Scalar(Value),
    /// `[1, 2]`, and ranges such as `1..5`.
    List(Vec<Argument>),
    /// `{1, 2}`, as written: equal values are still there.
    Set(Vec<Argument>),
    /// `[name: "marko", (T.id): 1]`, as written.
    Map(Vec<(Argument, Argument)>),
    /// `Order.desc`.
    Token(Token),
    /// `Cardinality.set("x")`: a value, and how it joins those of the same key.
    WithCardinality(Cardinality, Box<Argument>),
    /// `datetime()`: the moment at which the query runs.
    Now,
    /// `UUID()`: a new identifier at each run.
    NewUuid,
    /// `__.out()`: an anonymous traversal.
    Traversal(Vec<Call>),
    /// `g.V().next()`: a query that runs before, and whose result is meant.
    Query(Query),
    /// `P.gt(1)`.
    Predicate(Predicate),
    /// `new ReadOnlyStrategy()`; without `new` and parentheses it also names the strategy's class.
    Strategy(Strategy),
    /// A name that the check resolves: a token's, a variable's, or a strategy's.
    Word(Box<str>),
    /// A variable that will have a value when the query runs; the check knows that it was declared.
    Variable(Box<str>),
}

/// A condition on one value.
#[derive(Clone, Debug)]
pub struct Predicate {
    /// What is asked.
    pub test: Test,
    /// What the value is compared with; predicates for [`Test::And`], [`Test::Or`] and [`Test::Not`].
    pub arguments: Vec<Argument>,
    /// Where its name stands in the text.
    pub span: Span,
}

impl PartialEq for Predicate {
    fn eq(&self, other: &Self) -> bool {
        self.test == other.test && self.arguments == other.arguments
    }
}

impl Eq for Predicate {}

/// Declares what predicates there are.
macro_rules! tests {
    ($($test:ident = $class:literal $name:literal),+ $(,)?) => {
        /// What a predicate asks.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub enum Test {
            $(#[doc = concat!("`", $class, ".", $name, "`.")] $test,)+
        }

        impl Test {
            /// All of them.
            pub const ALL: &[Test] = &[$(Test::$test,)+];

            /// The test called `name`.
            #[must_use]
            pub fn from_name(name: &str) -> Option<Self> {
                match name {
                    $($name => Some(Self::$test),)+
                    _ => None,
                }
            }

            /// What it is called.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$test => $name,)+
                }
            }

            /// The class that has it: `P`, or `TextP` for tests of strings.
            #[must_use]
            pub const fn class(self) -> &'static str {
                match self {
                    $(Self::$test => $class,)+
                }
            }
        }
    };
}

tests! {
    Eq = "P" "eq",
    Neq = "P" "neq",
    Lt = "P" "lt",
    Lte = "P" "lte",
    Gt = "P" "gt",
    Gte = "P" "gte",
    Inside = "P" "inside",
    Outside = "P" "outside",
    Between = "P" "between",
    Within = "P" "within",
    Without = "P" "without",
    TypeOf = "P" "typeOf",
    Not = "P" "not",
    And = "P" "and",
    Or = "P" "or",
    StartingWith = "TextP" "startingWith",
    NotStartingWith = "TextP" "notStartingWith",
    EndingWith = "TextP" "endingWith",
    NotEndingWith = "TextP" "notEndingWith",
    Containing = "TextP" "containing",
    NotContaining = "TextP" "notContaining",
    Regex = "TextP" "regex",
    NotRegex = "TextP" "notRegex",
}

/// A traversal strategy, and how it is set up.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Strategy {
    /// Its class.
    pub name: Box<str>,
    /// Settings by name, in the order given.
    pub settings: Vec<(Box<str>, Argument)>,
}

impl Query {
    /// Bytes on the heap that it takes, about.
    ///
    /// Cost: one visit to everything inside.
    #[must_use]
    pub fn heap_bytes(&self) -> usize {
        heap_bytes_of_calls(&self.calls)
    }
}

fn heap_bytes_of_calls(calls: &Vec<Call>) -> usize {
    let inside = calls.iter().map(|call| call.name.len() + heap_bytes_of_arguments(&call.arguments));
    calls.capacity() * size_of::<Call>() + inside.sum::<usize>()
}

fn heap_bytes_of_arguments(arguments: &Vec<Argument>) -> usize {
    let inside = arguments.iter().map(|argument| argument.kind.heap_bytes());
    arguments.capacity() * size_of::<Argument>() + inside.sum::<usize>()
}

impl Call {
    /// Calls `name` with `arguments`; it stands in no text.
    #[must_use]
    pub fn new(name: impl Into<Box<str>>, arguments: impl IntoIterator<Item = ArgumentKind>) -> Self {
        let arguments = arguments.into_iter().map(Argument::from).collect();
        Self { name: name.into(), arguments, span: Span::default() }
    }
}

impl From<ArgumentKind> for Argument {
    /// An argument that stands in no text.
    fn from(kind: ArgumentKind) -> Self {
        Self { kind, span: Span::default() }
    }
}

impl From<Value> for ArgumentKind {
    /// The argument that means `value`: collections become arguments themselves.
    fn from(value: Value) -> Self {
        let all =
            |values: Vec<Value>| values.into_iter().map(|value| Argument::from(Self::from(value))).collect();
        match value {
            Value::List(list) => Self::List(all(list.into_vec())),
            Value::Set(set) => Self::Set(all(set.into_vec())),
            Value::Map(map) => {
                let entries = map.into_vec().into_iter();
                Self::Map(
                    entries.map(|(key, value)| (Self::from(key).into(), Self::from(value).into())).collect(),
                )
            }
            scalar => Self::Scalar(scalar),
        }
    }
}

impl ArgumentKind {
    /// The value that this is; `None` where a null, a token or a part of a query is or is inside.
    ///
    /// Cost: a copy, and for sets and maps a sort.
    ///
    /// # Errors
    /// [`TooDeepError`] if collections are nested deeper than values can be.
    pub fn to_value(&self) -> Result<Option<Value>, TooDeepError> {
        let all = |arguments: &[Argument]| -> Result<Option<Vec<Value>>, TooDeepError> {
            arguments.iter().map(|argument| argument.kind.to_value()).collect()
        };
        Ok(match self {
            Self::Scalar(value) => Some(value.clone()),
            Self::List(values) => all(values)?.map(List::new).transpose()?.map(Value::List),
            Self::Set(values) => all(values)?.map(Set::new).transpose()?.map(Value::Set),
            Self::Map(entries) => {
                let pairs = entries.iter().map(|(key, value)| {
                    let (key, value) = (key.kind.to_value()?, value.kind.to_value()?);
                    Ok(key.zip(value))
                });
                let pairs: Option<Vec<_>> = pairs.collect::<Result<_, TooDeepError>>()?;
                pairs.map(Map::new).transpose()?.map(Value::Map)
            }
            _ => None,
        })
    }

    /// Bytes on the heap that it takes, about.
    ///
    /// Cost: one visit to everything inside.
    #[must_use]
    pub fn heap_bytes(&self) -> usize {
        match self {
            Self::Scalar(value) => value.heap_bytes(),
            Self::List(values) | Self::Set(values) => heap_bytes_of_arguments(values),
            Self::Map(entries) => {
                let inside =
                    entries.iter().map(|(key, value)| key.kind.heap_bytes() + value.kind.heap_bytes());
                entries.capacity() * size_of::<(Argument, Argument)>() + inside.sum::<usize>()
            }
            Self::WithCardinality(_, value) => size_of::<Argument>() + value.kind.heap_bytes(),
            Self::Traversal(calls) => heap_bytes_of_calls(calls),
            Self::Query(query) => query.heap_bytes(),
            Self::Predicate(predicate) => heap_bytes_of_arguments(&predicate.arguments),
            Self::Strategy(strategy) => {
                let inside =
                    strategy.settings.iter().map(|(name, value)| name.len() + value.kind.heap_bytes());
                let entries_bytes = strategy.settings.capacity() * size_of::<(Box<str>, Argument)>();
                strategy.name.len() + entries_bytes + inside.sum::<usize>()
            }
            Self::Word(name) | Self::Variable(name) => name.len(),
            Self::Null | Self::Token(_) | Self::Now | Self::NewUuid => 0,
        }
    }

    /// The text, if this is a string.
    #[must_use]
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::Scalar(value) => value.as_str(),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gremlin::token::T;
    use evergraph_graph::value::strategy::any_value;
    use proptest::prelude::*;

    fn text(text: &str) -> ArgumentKind {
        Value::from(text).into()
    }

    #[test]
    fn the_place_of_a_call_does_not_count() {
        let here = Call::new("out", [text("knows")]);
        let mut there = here.clone();
        there.span = Span { start: 4, end: 7 };
        there.arguments[0].span = Span { start: 8, end: 15 };
        assert_eq!(here, there);
        assert_ne!(here, Call::new("out", [text("likes")]));
        assert_ne!(here, Call::new("in", [text("knows")]));
    }

    #[test]
    fn what_is_no_value_has_none() {
        let id = ArgumentKind::Token(Token::T(T::Id));
        let list = |kind: ArgumentKind| ArgumentKind::List(vec![kind.into()]);
        for kind in [ArgumentKind::Null, id.clone(), list(ArgumentKind::Null)] {
            assert_eq!(kind.to_value(), Ok(None), "{kind:?}");
        }
        assert_eq!(ArgumentKind::Map(vec![(id.into(), text("x").into())]).to_value(), Ok(None));
        let mut deep = text("x");
        for _ in 0..129 {
            deep = list(deep);
        }
        assert_eq!(deep.to_value(), Err(TooDeepError));
    }

    #[test]
    fn memory_counts_what_is_inside() {
        let (list, words) = (|count| ArgumentKind::List(vec![text("x").into(); count]), "x".repeat(1000));
        let bytes = |kind: ArgumentKind| Query { calls: vec![Call::new("inject", [kind])] }.heap_bytes();
        let empty = bytes(list(0));
        assert_eq!(bytes(list(1000)) - empty, 1000 * (size_of::<Argument>() + 1));
        assert_eq!(bytes(text(&words)) - empty, 1000);
        let nested = ArgumentKind::Traversal(vec![Call::new("is", [list(1000)])]);
        assert!(bytes(nested) > bytes(list(1000)));
    }

    proptest! {
        #[test]
        fn a_value_is_the_same_after_it_was_an_argument(value in any_value()) {
            prop_assert_eq!(ArgumentKind::from(value.clone()).to_value(), Ok(Some(value)));
        }
    }
}
