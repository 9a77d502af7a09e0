//! Reduce: steps that see all traversers before they return a result, and side effects.

use crate::gremlin::signature::forms::{
    NOTHING, OPERATOR, SCOPED, STRING, STRING_AND_TEXTS, STRING_OR_NOTHING, step,
};
use crate::gremlin::signature::kinds::Kinds;
use crate::gremlin::signature::method::{Form, Signature};
use crate::gremlin::token::Enumeration;

const BARRIER: Kinds = Kinds::token(Enumeration::Barrier);

/// The family.
pub(super) const SIGNATURES: &[Signature] = &[
    step("count", "How many there are.", SCOPED),
    step("sum", "The sum of all numbers.", SCOPED),
    step("min", "The least value.", SCOPED),
    step("max", "The greatest value.", SCOPED),
    step("mean", "The mean of all numbers.", SCOPED),
    step(
        "fold",
        "All values as one list, or folded into one by an operator.",
        &[Form::of(&[]), Form::of(&[Kinds::VALUE, OPERATOR])],
    ),
    step("order", "Sorts, by what `by` says.", SCOPED),
    step("group", "A map of lists; `by` says keys, then values.", STRING_OR_NOTHING),
    step("groupCount", "A map of counts; `by` says keys.", STRING_OR_NOTHING),
    step("tree", "All paths as one tree.", STRING_OR_NOTHING),
    step("aggregate", "Collects what comes in a side effect.", STRING),
    step("subgraph", "Collects edges and their ends in a side effect.", STRING),
    step("cap", "The values of side effects.", STRING_AND_TEXTS),
    step(
        "barrier",
        "Waits for all, or for some, before any goes on.",
        &[Form::of(&[]), Form::of(&[Kinds::INTEGER]), Form::of(&[BARRIER])],
    ),
    step("profile", "What each step took: results and time.", STRING_OR_NOTHING),
    step(
        "pageRank",
        "Writes the PageRank of each vertex to a property.",
        &[Form::of(&[]), Form::of(&[Kinds::NUMBER])],
    ),
    step("peerPressure", "Writes the community of each vertex to a property.", NOTHING),
    step("connectedComponent", "Writes the component of each vertex to a property.", NOTHING),
];
