//! Map: steps from one value to another; lists, numbers and dates. Strings are in `text`.

use crate::gremlin::signature::forms::{
    COLUMN, NOTHING, OPERATOR, STRING, STRING_AND_TEXTS, STRING_OR_NOTHING, TEXTS, TRAVERSAL, VALUE, VALUES,
    step,
};
use crate::gremlin::signature::kinds::Kinds;
use crate::gremlin::signature::method::{Form, Signature};
use crate::gremlin::token::Enumeration;

const POP: Kinds = Kinds::token(Enumeration::Pop);
const DT: Kinds = Kinds::token(Enumeration::DT);
const GTYPE: Kinds = Kinds::token(Enumeration::GType);

/// The family.
pub(super) const SIGNATURES: &[Signature] = &[
    step("id", "The id of an element.", NOTHING),
    step("label", "The label of an element.", NOTHING),
    step("key", "The key of a property.", NOTHING),
    step("value", "The value of a property.", NOTHING),
    step("values", "The values of the properties with these keys, or of all.", TEXTS),
    step(
        "valueMap",
        "Values by key, in lists; true adds id and label.",
        &[Form::and_more(&[], Kinds::TEXT), Form::and_more(&[Kinds::BOOL], Kinds::TEXT)],
    ),
    step("elementMap", "Values by key, with id and label, and the ends of an edge.", TEXTS),
    step("propertyMap", "Properties by key.", TEXTS),
    step("map", "The first result of a traversal, for each.", TRAVERSAL),
    step("flatMap", "All results of a traversal, for each.", TRAVERSAL),
    step("constant", "Always the same value.", VALUE),
    step("identity", "What comes, unchanged.", NOTHING),
    step("inject", "These values first, then what comes.", VALUES),
    step(
        "select",
        "What was labelled, or a part of a map.",
        &[
            Form::of(&[COLUMN.or(Kinds::TRAVERSAL)]),
            Form::and_more(&[Kinds::STRING], Kinds::TEXT),
            Form::and_more(&[POP, Kinds::STRING], Kinds::TEXT),
            Form::of(&[POP, Kinds::TRAVERSAL]),
        ],
    ),
    step("project", "A map with these keys; `by` says their values.", STRING_AND_TEXTS),
    step("path", "The path of each.", NOTHING),
    step("loops", "How often `repeat` has gone round.", STRING_OR_NOTHING),
    step("index", "Every item of a list with its place.", NOTHING),
    step("unfold", "The items of a list, one by one.", NOTHING),
    step("math", "The value of a formula, in which `_` is what comes.", STRING),
    step("sack", "The traverser's own value, or changes it.", &[Form::of(&[]), Form::of(&[OPERATOR])]),
    step("combine", "A list, and another behind it.", VALUE),
    step("difference", "What is in a list and not in another.", VALUE),
    step("disjunct", "What is in one of two lists and not in both.", VALUE),
    step("intersect", "What is in both of two lists.", VALUE),
    step("merge", "What is in either of two lists, or maps.", VALUE),
    step("product", "All pairs of items of two lists.", VALUE),
    step("reverse", "A list or a string from its end.", NOTHING),
    step("asBool", "The truth that a string or number stands for.", NOTHING),
    step("asDate", "The moment that a string or number stands for.", NOTHING),
    step(
        "asNumber",
        "The number that a string stands for, or of another type.",
        &[Form::of(&[]), Form::of(&[GTYPE])],
    ),
    step("dateAdd", "A moment some units later.", &[Form::of(&[DT, Kinds::INTEGER])]),
    step("dateDiff", "The time between two moments.", &[Form::of(&[Kinds::DATE.or(Kinds::TRAVERSAL)])]),
    step(
        "call",
        "Calls a service for each.",
        &[
            Form::of(&[Kinds::STRING]),
            Form::of(&[Kinds::STRING, Kinds::MAP.or(Kinds::TRAVERSAL)]),
            Form::of(&[Kinds::STRING, Kinds::MAP, Kinds::TRAVERSAL]),
        ],
    ),
];
