//! Walk: steps from an element to adjacent ones.

use crate::gremlin::signature::forms::{DIRECTION, NOTHING, TEXTS, VALUES, step};
use crate::gremlin::signature::kinds::Kinds;
use crate::gremlin::signature::method::{Form, Signature};

/// The family.
pub(super) const SIGNATURES: &[Signature] = &[
    step("V", "The vertices that have these ids, or all, for each that comes.", VALUES),
    step("E", "The edges that have these ids, or all, for each that comes.", VALUES),
    step("out", "The vertices that out-edges lead to.", TEXTS),
    step("in", "The vertices that in-edges come from.", TEXTS),
    step("both", "The vertices at the other ends of all edges.", TEXTS),
    step("outE", "The out-edges.", TEXTS),
    step("inE", "The in-edges.", TEXTS),
    step("bothE", "The edges either way.", TEXTS),
    step("toE", "The edges in a direction.", &[Form::and_more(&[DIRECTION], Kinds::TEXT)]),
    step("outV", "The vertex that an edge goes out of.", NOTHING),
    step("inV", "The vertex that an edge goes into.", NOTHING),
    step("bothV", "Both ends of an edge.", NOTHING),
    step("otherV", "The end of an edge that the path didn't come from.", NOTHING),
    step("toV", "The end of an edge in a direction.", &[Form::of(&[DIRECTION])]),
    step("properties", "The properties with these keys, or all.", TEXTS),
    step("element", "The element that a property belongs to.", NOTHING),
    step("shortestPath", "Shortest paths from each vertex.", NOTHING),
];
