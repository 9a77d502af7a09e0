//! Expression: a condition as it is written, before its columns are looked up.

use evergraph_graph::filter::Comparison;
use std::ops::Range;

/// A condition.
#[derive(Clone, PartialEq, Debug)]
pub enum Expression {
    /// All hold. There are two or more.
    And(Vec<Expression>),
    /// One of them holds. There are two or more.
    Or(Vec<Expression>),
    /// It doesn't hold.
    Not(Box<Expression>),
    /// Two operands compare so.
    Compare {
        /// What stands on the left.
        left: Operand,
        /// How they compare.
        comparison: Comparison,
        /// What stands on the right.
        right: Operand,
    },
    /// An operand is one of these, or none of them.
    In {
        /// The operand.
        operand: Operand,
        /// Literals, one or more.
        list: Vec<Operand>,
        /// Whether it is to be none of them.
        is_negated: bool,
    },
    /// An operand is null, or isn't.
    IsNull {
        /// The operand.
        operand: Operand,
        /// Whether it is not to be null.
        is_negated: bool,
    },
    /// A column of booleans, or `true` or `false`.
    Truth(Operand),
}

/// A column or a literal.
#[derive(Clone, PartialEq, Debug)]
pub struct Operand {
    /// What it is.
    pub kind: OperandKind,
    /// Its bytes in the text of the condition.
    pub at: Range<usize>,
}

/// What an operand is.
#[derive(Clone, PartialEq, Debug)]
pub enum OperandKind {
    /// A column's name; the flag says whether it was in quotes.
    Column {
        /// The name, folded to lower case unless it is in quotes.
        name: String,
        /// Whether it is in quotes.
        is_quoted: bool,
    },
    /// A text in quotes: its type is that of what it is compared with.
    Text(String),
    /// A number, as it is written.
    Number(String),
    /// `true` or `false`.
    Bool(bool),
}

/// What is wrong with a condition, and where.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ConditionError {
    /// The bytes in the text that are wrong; empty at its end.
    pub at: Range<usize>,
    /// What is wrong, and what is allowed.
    pub why: String,
}

impl ConditionError {
    /// The error with what stands at its place in `text`, the condition.
    #[must_use]
    pub fn describe(&self, text: &str) -> String {
        let Self { at, why } = self;
        let found = text.get(at.clone()).unwrap_or_default();
        if found.is_empty() {
            return format!("at the end: {why}");
        }
        let character = text.get(..at.start).map_or(0, |before| before.chars().count()) + 1;
        format!("character {character}, {}: {why}", evergraph_graph::value::shortened::Shortened::new(found))
    }
}
