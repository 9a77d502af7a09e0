//! Forms that many methods share, and the kinds that their places have.

use crate::gremlin::signature::kinds::Kinds;
use crate::gremlin::signature::method::{Form, Role, Signature};
use crate::gremlin::token::Enumeration;

pub(super) const DIRECTION: Kinds = Kinds::token(Enumeration::Direction);
pub(super) const COLUMN: Kinds = Kinds::token(Enumeration::Column);
pub(super) const OPERATOR: Kinds = Kinds::token(Enumeration::Operator);
pub(super) const SCOPE: Kinds = Kinds::token(Enumeration::Scope);
pub(super) const T: Kinds = Kinds::token(Enumeration::T);
pub(super) const MAP_OR_NULL: Kinds = Kinds::MAP.or(Kinds::NULL);
pub(super) const VALUE_OR_PREDICATE: Kinds = Kinds::VALUE.or(Kinds::PREDICATE);

/// `inV()`.
pub(super) const NOTHING: &[Form] = &[Form::of(&[])];
/// `count()` or `count(Scope.local)`.
pub(super) const SCOPED: &[Form] = &[Form::of(&[]), Form::of(&[SCOPE])];
/// `out("knows", "created")`, or none of them.
pub(super) const TEXTS: &[Form] = &[Form::and_more(&[], Kinds::TEXT)];
/// `as("a", "b")`, at least one.
pub(super) const STRING_AND_TEXTS: &[Form] = &[Form::and_more(&[Kinds::STRING], Kinds::TEXT)];
/// `math("_ + 1")`.
pub(super) const STRING: &[Form] = &[Form::of(&[Kinds::STRING])];
/// `group()` or `group("a")`.
pub(super) const STRING_OR_NOTHING: &[Form] = &[Form::of(&[]), Form::of(&[Kinds::STRING])];
/// `constant(1)`.
pub(super) const VALUE: &[Form] = &[Form::of(&[Kinds::VALUE])];
/// `V(1, 2)`, or none of them.
pub(super) const VALUES: &[Form] = &[Form::and_more(&[], Kinds::VALUE)];
/// `times(2)`.
pub(super) const INTEGER: &[Form] = &[Form::of(&[Kinds::INTEGER])];
/// `limit(1)` or `limit(Scope.local, 1)`.
pub(super) const SCOPED_INTEGER: &[Form] = &[Form::of(&[Kinds::INTEGER]), Form::of(&[SCOPE, Kinds::INTEGER])];
/// `map(__.out())`.
pub(super) const TRAVERSAL: &[Form] = &[Form::of(&[Kinds::TRAVERSAL])];
/// `union(__.in(), __.out())`, or none of them.
pub(super) const TRAVERSALS: &[Form] = &[Form::and_more(&[], Kinds::TRAVERSAL)];
/// `all(P.gt(1))`.
pub(super) const PREDICATE: &[Form] = &[Form::of(&[Kinds::PREDICATE])];
/// `filter(P.gt(1))` or `filter(__.out())`.
pub(super) const CONDITION: &[Form] = &[Form::of(&[Kinds::PREDICATE.or(Kinds::TRAVERSAL)])];
/// `emit()`, or with a condition.
pub(super) const CONDITION_OR_NOTHING: &[Form] = &[Form::of(&[]), CONDITION[0]];

/// A step.
pub(super) const fn step(name: &'static str, summary: &'static str, forms: &'static [Form]) -> Signature {
    Signature::new(Role::Step, name, summary, forms)
}
