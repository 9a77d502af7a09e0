//! Source: methods directly after `g`: how the graph is seen, and transactions.

use crate::gremlin::signature::forms::{NOTHING, OPERATOR};
use crate::gremlin::signature::kinds::Kinds;
use crate::gremlin::signature::method::{Form, Role, Signature};

const fn source(name: &'static str, summary: &'static str, forms: &'static [Form]) -> Signature {
    Signature::new(Role::Source, name, summary, forms)
}

const fn transaction(name: &'static str, summary: &'static str) -> Signature {
    Signature::new(Role::Transaction, name, summary, NOTHING)
}

/// The family.
pub(super) const SIGNATURES: &[Signature] = &[
    source(
        "with",
        "Sets an option of the query, to true without a value.",
        &[Form::of(&[Kinds::STRING]), Form::of(&[Kinds::STRING, Kinds::VALUE])],
    ),
    source("withBulk", "Says whether equal traversers may be counted as one.", &[Form::of(&[Kinds::BOOL])]),
    source("withPath", "Has every traverser keep its path.", NOTHING),
    source(
        "withSack",
        "Gives every traverser a value of its own, and says how two are merged.",
        &[Form::of(&[Kinds::VALUE]), Form::of(&[Kinds::VALUE, OPERATOR])],
    ),
    source(
        "withSideEffect",
        "Gives a side effect its first value, and says how others join it.",
        &[Form::of(&[Kinds::STRING, Kinds::VALUE]), Form::of(&[Kinds::STRING, Kinds::VALUE, OPERATOR])],
    ),
    source(
        "withStrategies",
        "Adds strategies, which change what a traversal means or how it runs.",
        &[Form::and_more(&[Kinds::STRATEGY], Kinds::STRATEGY)],
    ),
    source(
        "withoutStrategies",
        "Leaves strategies out, by name.",
        &[Form::and_more(&[Kinds::STRATEGY_NAME], Kinds::STRATEGY_NAME)],
    ),
    transaction("tx", "The transaction that the query runs in."),
    transaction("begin", "Begins a transaction."),
    transaction("commit", "Makes what was written last."),
    transaction("rollback", "Takes back what was written."),
];
