//! Write: steps that change the graph, except `drop`, and steps that read and write files.

use crate::gremlin::signature::forms::{MAP_OR_NULL, NOTHING, T, step};
use crate::gremlin::signature::kinds::Kinds;
use crate::gremlin::signature::method::{Form, Signature};
use crate::gremlin::token::Enumeration;

const CARDINALITY: Kinds = Kinds::token(Enumeration::Cardinality);
const KEY: Kinds = Kinds::TEXT.or(T).or(Kinds::TRAVERSAL);
const NAME: Kinds = Kinds::STRING.or(Kinds::TRAVERSAL);
const MERGE: &[Form] = &[Form::of(&[]), Form::of(&[MAP_OR_NULL.or(Kinds::TRAVERSAL)])];

/// The family.
pub(super) const SIGNATURES: &[Signature] = &[
    step("addV", "Adds a vertex with a label, for each.", &[Form::of(&[]), Form::of(&[NAME])]),
    step("addE", "Adds an edge of a type, for each.", &[Form::of(&[NAME])]),
    step("mergeV", "Finds the vertices that a map describes, or adds one, for each.", MERGE),
    step("mergeE", "Finds the edges that a map describes, or adds one, for each.", MERGE),
    step(
        "property",
        "Sets a property: a key, a value, and properties of the property.",
        &[
            Form::and_more(&[CARDINALITY, KEY, Kinds::VALUE], Kinds::VALUE),
            Form::of(&[CARDINALITY, MAP_OR_NULL]),
            Form::and_more(&[KEY, Kinds::VALUE], Kinds::VALUE),
            Form::of(&[MAP_OR_NULL]),
        ],
    ),
    step("read", "Reads a file into the graph.", NOTHING),
    step("write", "Writes the graph to a file.", NOTHING),
];
