//! Text: steps on strings.

use crate::gremlin::signature::forms::{SCOPE, SCOPED, STRING, step};
use crate::gremlin::signature::kinds::Kinds;
use crate::gremlin::signature::method::{Form, Signature};

/// The family.
pub(super) const SIGNATURES: &[Signature] = &[
    step("asString", "The text of a value.", SCOPED),
    step(
        "concat",
        "A string, and others behind it.",
        &[Form::and_more(&[Kinds::TRAVERSAL], Kinds::TRAVERSAL), Form::and_more(&[], Kinds::TEXT)],
    ),
    step("conjoin", "The items of a list as one string, with another between them.", STRING),
    step("format", "A text, with values for the names in it.", STRING),
    step("length", "The length of a string.", SCOPED),
    step("lTrim", "A string without the blanks at its start.", SCOPED),
    step("rTrim", "A string without the blanks at its end.", SCOPED),
    step("trim", "A string without the blanks around it.", SCOPED),
    step("toLower", "A string in small letters.", SCOPED),
    step("toUpper", "A string in capitals.", SCOPED),
    step(
        "replace",
        "A string with one part in place of another.",
        &[Form::of(&[Kinds::TEXT, Kinds::TEXT]), Form::of(&[SCOPE, Kinds::TEXT, Kinds::TEXT])],
    ),
    step(
        "split",
        "The parts of a string between separators.",
        &[Form::of(&[Kinds::TEXT]), Form::of(&[SCOPE, Kinds::TEXT])],
    ),
    step(
        "substring",
        "A part of a string, from a place to before another.",
        &[
            Form::of(&[Kinds::INTEGER]),
            Form::of(&[SCOPE, Kinds::INTEGER]),
            Form::of(&[Kinds::INTEGER, Kinds::INTEGER]),
            Form::of(&[SCOPE, Kinds::INTEGER, Kinds::INTEGER]),
        ],
    ),
];
