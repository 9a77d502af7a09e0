//! Predicates: conditions on a value.

use crate::gremlin::call::Test;
use crate::gremlin::signature::forms::{PREDICATE, STRING, VALUE, VALUES};
use crate::gremlin::signature::kinds::Kinds;
use crate::gremlin::signature::method::{Form, Role, Signature};
use crate::gremlin::token::Enumeration;

const fn test(name: &'static str, summary: &'static str, forms: &'static [Form]) -> Signature {
    Signature::new(Role::Predicate, name, summary, forms)
}

const TWO_VALUES: &[Form] = &[Form::of(&[Kinds::VALUE, Kinds::VALUE])];
const PREDICATES: &[Form] = &[Form::and_more(&[Kinds::PREDICATE, Kinds::PREDICATE], Kinds::PREDICATE)];

/// The family, in the order of [`Test::ALL`].
pub(super) const SIGNATURES: &[Signature] = &[
    test("eq", "Whether it is equal.", VALUE),
    test("neq", "Whether it is not equal.", VALUE),
    test("lt", "Whether it is less.", VALUE),
    test("lte", "Whether it is less or equal.", VALUE),
    test("gt", "Whether it is greater.", VALUE),
    test("gte", "Whether it is greater or equal.", VALUE),
    test("inside", "Whether it is between two values and neither of them.", TWO_VALUES),
    test("outside", "Whether it is less than one value or greater than another.", TWO_VALUES),
    test("between", "Whether it is one value or greater, and less than another.", TWO_VALUES),
    test("within", "Whether it is one of these values.", VALUES),
    test("without", "Whether it is none of these values.", VALUES),
    test(
        "typeOf",
        "Whether it has a type.",
        &[Form::of(&[Kinds::token(Enumeration::GType).or(Kinds::STRING)])],
    ),
    test("not", "Whether it fails a predicate.", PREDICATE),
    test("and", "Whether it passes all of these.", PREDICATES),
    test("or", "Whether it passes one of these.", PREDICATES),
    test("startingWith", "Whether it begins with a string.", STRING),
    test("notStartingWith", "Whether it doesn't begin with a string.", STRING),
    test("endingWith", "Whether it ends with a string.", STRING),
    test("notEndingWith", "Whether it doesn't end with a string.", STRING),
    test("containing", "Whether it has a string in it.", STRING),
    test("notContaining", "Whether it doesn't have a string in it.", STRING),
    test("regex", "Whether a regular expression matches it.", STRING),
    test("notRegex", "Whether no regular expression matches it.", STRING),
];

/// What `test` may be given.
#[must_use]
pub fn signature(test: Test) -> &'static Signature {
    &SIGNATURES[test as usize]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_test_has_its_own_signature() {
        assert_eq!(SIGNATURES.len(), Test::ALL.len());
        for test in Test::ALL {
            assert_eq!(signature(*test).name, test.name());
        }
    }
}
