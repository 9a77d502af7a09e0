//! Filter: steps that decide which traversers go on.

use crate::gremlin::signature::forms::{
    CONDITION, INTEGER, NOTHING, PREDICATE, SCOPE, SCOPED_INTEGER, T, TRAVERSAL, TRAVERSALS,
    VALUE_OR_PREDICATE, step,
};
use crate::gremlin::signature::kinds::Kinds;
use crate::gremlin::signature::method::{Form, Signature};

const PREDICATE_OR_TEXTS: &[Form] = &[PREDICATE[0], Form::and_more(&[Kinds::TEXT], Kinds::TEXT)];
const PREDICATE_OR_VALUES: &[Form] = &[PREDICATE[0], Form::and_more(&[Kinds::VALUE], Kinds::VALUE)];

/// The family.
pub(super) const SIGNATURES: &[Signature] = &[
    step(
        "has",
        "Those with a property, of which a value or predicate may be demanded.",
        &[
            Form::of(&[Kinds::TEXT]),
            Form::of(&[Kinds::TEXT.or(T), VALUE_OR_PREDICATE]),
            Form::of(&[Kinds::TEXT, Kinds::TEXT, VALUE_OR_PREDICATE]),
        ],
    ),
    step("hasId", "Elements with one of these ids.", PREDICATE_OR_VALUES),
    step("hasLabel", "Elements with one of these labels.", PREDICATE_OR_TEXTS),
    step("hasKey", "Properties with one of these keys.", PREDICATE_OR_TEXTS),
    step("hasValue", "Properties with one of these values.", PREDICATE_OR_VALUES),
    step("hasNot", "Those without a property.", &[Form::of(&[Kinds::TEXT])]),
    step("is", "Values that are equal to another, or pass a predicate.", &[Form::of(&[VALUE_OR_PREDICATE])]),
    step("filter", "Those that a predicate or a traversal lets pass.", CONDITION),
    step(
        "where",
        "Those for which a traversal has a result, or labelled values pass a predicate.",
        &[Form::of(&[Kinds::PREDICATE.or(Kinds::TRAVERSAL)]), Form::of(&[Kinds::STRING, Kinds::PREDICATE])],
    ),
    step("and", "Those for which every traversal has a result.", TRAVERSALS),
    step("or", "Those for which some traversal has a result.", TRAVERSALS),
    step("not", "Those for which a traversal has no result.", TRAVERSAL),
    step("all", "Lists of which every item passes a predicate.", PREDICATE),
    step("any", "Lists of which some item passes a predicate.", PREDICATE),
    step("none", "Lists of which no item passes a predicate.", PREDICATE),
    step("match", "Those for which all patterns hold together.", TRAVERSALS),
    step("simplePath", "Those whose path comes to nothing twice.", NOTHING),
    step("cyclicPath", "Those whose path comes to something twice.", NOTHING),
    step("coin", "Each with a probability.", &[Form::of(&[Kinds::NUMBER])]),
    step(
        "dedup",
        "Each value once.",
        &[Form::and_more(&[], Kinds::TEXT), Form::and_more(&[SCOPE], Kinds::TEXT)],
    ),
    step("limit", "The first results, and no more.", SCOPED_INTEGER),
    step("skip", "All but the first results.", SCOPED_INTEGER),
    step(
        "tail",
        "The last results; one without a number.",
        &[Form::of(&[]), Form::of(&[SCOPE]), Form::of(&[Kinds::INTEGER]), Form::of(&[SCOPE, Kinds::INTEGER])],
    ),
    step(
        "range",
        "The results from a place to before another; -1 is the end.",
        &[Form::of(&[Kinds::INTEGER, Kinds::INTEGER]), Form::of(&[SCOPE, Kinds::INTEGER, Kinds::INTEGER])],
    ),
    step("sample", "Some of the results, by chance.", SCOPED_INTEGER),
    step("timeLimit", "What comes within some milliseconds.", INTEGER),
    step("discard", "Nothing.", NOTHING),
    step("drop", "Nothing: elements and properties are removed from the graph.", NOTHING),
];
