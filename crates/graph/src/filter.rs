//! Filter: a condition on one property, for choosing vertices and edges.
//!
//! | condition | holds for a value that |
//! |---|---|
//! | exists | is there |
//! | = < <= > >= | is of the given value's kind and stands so to it |
//! | != | is there and is not equal to the given one, another kind included |
//! | in | is equal to one of those given |
//!
//! Values are compared as [`Value::compare_alike`] has it: numbers mathematically, whatever their
//! width, so that a filter needs no type. An absent property satisfies nothing.

use crate::id::KeyId;
use crate::value::Value;
use std::cmp::Ordering;

/// How a value is compared with another one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Comparison {
    /// `=`
    Equal,
    /// `!=`
    NotEqual,
    /// `<`
    Less,
    /// `<=`
    LessOrEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterOrEqual,
}

/// What a property must be like.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Condition {
    /// It is there.
    Exists,
    /// It is there and compares so with the value.
    Compare(Comparison, Value),
    /// It is equal to one of these.
    In(Vec<Value>),
}

/// A condition on the property `key`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Filter {
    /// Which property.
    pub key: KeyId,
    /// What it must be like.
    pub condition: Condition,
}

impl Filter {
    /// Whether a property that is `value` satisfies the condition; `None` is an absent one.
    ///
    /// Cost: a comparison; for [`Condition::In`] one for each given value until one is equal.
    #[must_use]
    pub fn holds(&self, value: Option<&Value>) -> bool {
        let Some(value) = value else { return false };
        match &self.condition {
            Condition::Exists => true,
            Condition::Compare(comparison, given) => comparison.holds(value.compare_alike(given)),
            Condition::In(given) => {
                given.iter().any(|given| value.compare_alike(given) == Some(Ordering::Equal))
            }
        }
    }
}

impl Comparison {
    /// Its sign: `<=`.
    #[must_use]
    pub const fn sign(self) -> &'static str {
        match self {
            Self::Equal => "=",
            Self::NotEqual => "!=",
            Self::Less => "<",
            Self::LessOrEqual => "<=",
            Self::Greater => ">",
            Self::GreaterOrEqual => ">=",
        }
    }

    /// Whether values in this order, `None` for different kinds, compare so.
    fn holds(self, order: Option<Ordering>) -> bool {
        match self {
            Self::Equal => order == Some(Ordering::Equal),
            Self::NotEqual => order != Some(Ordering::Equal),
            Self::Less => order == Some(Ordering::Less),
            Self::LessOrEqual => order.is_some_and(Ordering::is_le),
            Self::Greater => order == Some(Ordering::Greater),
            Self::GreaterOrEqual => order.is_some_and(Ordering::is_ge),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Comparison::{Equal, Greater, GreaterOrEqual, Less, LessOrEqual, NotEqual};

    fn holds(comparison: Comparison, given: impl Into<Value>, value: impl Into<Value>) -> bool {
        let condition = Condition::Compare(comparison, given.into());
        Filter { key: KeyId(0), condition }.holds(Some(&value.into()))
    }

    #[test]
    fn numbers_compare_whatever_their_width() {
        for (comparison, want) in [
            (Equal, [false, true, false]),
            (NotEqual, [true, false, true]),
            (Less, [true, false, false]),
            (LessOrEqual, [true, true, false]),
            (Greater, [false, false, true]),
            (GreaterOrEqual, [false, true, true]),
        ] {
            assert_eq!([1_i8, 2, 3].map(|value| holds(comparison, 2.0, value)), want, "{comparison:?}");
        }
        assert!(holds(Greater, i64::MAX, 1e300));
    }

    #[test]
    fn values_of_another_kind_are_only_unequal() {
        for comparison in [Equal, Less, LessOrEqual, Greater, GreaterOrEqual] {
            assert!(!holds(comparison, 2_i64, "2"), "{comparison:?}");
        }
        assert!(holds(NotEqual, 2_i64, "2"));
        assert!(holds(Equal, "a", 'a'), "a char is the text of it");
    }

    #[test]
    fn a_list_of_values_holds_each_of_them() {
        let among = |values: &[Value]| Filter { key: KeyId(0), condition: Condition::In(values.to_vec()) };
        let filter = among(&["a".into(), 7_i32.into()]);
        assert!(filter.holds(Some(&"a".into())) && filter.holds(Some(&7_i64.into())));
        assert!(!filter.holds(Some(&"b".into())) && !among(&[]).holds(Some(&"a".into())));
    }

    #[test]
    fn an_absent_property_satisfies_nothing() {
        let conditions = [
            Condition::Exists,
            Condition::Compare(NotEqual, 1_i32.into()),
            Condition::In(vec![1_i32.into()]),
        ];
        for condition in conditions {
            assert!(!Filter { key: KeyId(0), condition }.holds(None));
        }
        assert!(Filter { key: KeyId(0), condition: Condition::Exists }.holds(Some(&false.into())));
    }
}
