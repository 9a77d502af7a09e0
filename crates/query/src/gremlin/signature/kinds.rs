//! Kinds: which arguments may stand at a place of a signature, as a set.

use std::fmt;

use evergraph_graph::value::Value;

use crate::gremlin::call::ArgumentKind;
use crate::gremlin::token::Enumeration;

/// A set of kinds of arguments.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Kinds(u64);

/// The bit of the first enumeration; the others follow in their order.
const TOKENS_SHIFT: u32 = 32;

impl Kinds {
    /// `null`.
    pub const NULL: Kinds = Kinds(1);
    /// True or false.
    pub const BOOL: Kinds = Kinds(1 << 1);
    /// Whole numbers of any width.
    pub const INTEGER: Kinds = Kinds(1 << 2);
    /// Floats and decimals.
    pub const FRACTION: Kinds = Kinds(1 << 3);
    /// Strings, never null.
    pub const STRING: Kinds = Kinds(1 << 4);
    /// Moments.
    pub const DATE: Kinds = Kinds(1 << 5);
    /// Scalars of other types: identifiers, bytes, characters, days, durations.
    pub const OTHER: Kinds = Kinds(1 << 6);
    /// Lists.
    pub const LIST: Kinds = Kinds(1 << 7);
    /// Sets.
    pub const SET: Kinds = Kinds(1 << 8);
    /// Maps.
    pub const MAP: Kinds = Kinds(1 << 9);
    /// Values that say how they join those of the same key.
    pub const WITH_CARDINALITY: Kinds = Kinds(1 << 10);
    /// Anonymous traversals.
    pub const TRAVERSAL: Kinds = Kinds(1 << 11);
    /// Queries that run before.
    pub const QUERY: Kinds = Kinds(1 << 12);
    /// Predicates.
    pub const PREDICATE: Kinds = Kinds(1 << 13);
    /// Strategies, with their settings.
    pub const STRATEGY: Kinds = Kinds(1 << 14);
    /// Names of strategies.
    pub const STRATEGY_NAME: Kinds = Kinds(1 << 15);

    /// Numbers of any type.
    pub const NUMBER: Kinds = Kinds::INTEGER.or(Kinds::FRACTION);
    /// Strings and null.
    pub const TEXT: Kinds = Kinds::STRING.or(Kinds::NULL);
    /// What stands for a value: all but predicates and strategies, and of tokens those that the grammar
    /// takes for values.
    pub const VALUE: Kinds = Kinds::TEXT
        .or(Kinds::BOOL)
        .or(Kinds::NUMBER)
        .or(Kinds::DATE)
        .or(Kinds::OTHER)
        .or(Kinds::LIST)
        .or(Kinds::SET)
        .or(Kinds::MAP)
        .or(Kinds::WITH_CARDINALITY)
        .or(Kinds::TRAVERSAL)
        .or(Kinds::QUERY)
        .or(Kinds::token(Enumeration::T))
        .or(Kinds::token(Enumeration::Cardinality))
        .or(Kinds::token(Enumeration::Direction))
        .or(Kinds::token(Enumeration::Merge))
        .or(Kinds::token(Enumeration::Pick))
        .or(Kinds::token(Enumeration::DT))
        .or(Kinds::token(Enumeration::GType));

    /// What a variable without a value may become.
    const VARIABLE: Kinds = Kinds(Kinds::VALUE.0 & !(Kinds::TRAVERSAL.0 | Kinds::QUERY.0));

    /// The words of `enumeration`.
    #[must_use]
    pub const fn token(enumeration: Enumeration) -> Kinds {
        Kinds(1 << (TOKENS_SHIFT + enumeration as u32))
    }

    /// What is in either set.
    #[must_use]
    pub const fn or(self, other: Kinds) -> Kinds {
        Kinds(self.0 | other.0)
    }

    /// Whether all of `other` is among these.
    #[must_use]
    pub const fn contains(self, other: Kinds) -> bool {
        self.0 & other.0 == other.0
    }

    /// Whether some of `other` is among these.
    #[must_use]
    pub const fn meets(self, other: Kinds) -> bool {
        self.0 & other.0 != 0
    }

    /// The kinds that `argument` has: one, but for a declared variable, which may become several, and
    /// none for a word, which has to be resolved first.
    #[must_use]
    pub fn of(argument: &ArgumentKind) -> Kinds {
        match argument {
            ArgumentKind::Null => Kinds::NULL,
            ArgumentKind::Scalar(value) => Kinds::of_scalar(value),
            ArgumentKind::List(_) => Kinds::LIST,
            ArgumentKind::Set(_) => Kinds::SET,
            ArgumentKind::Map(_) => Kinds::MAP,
            ArgumentKind::Token(token) => Kinds::token(token.enumeration()),
            ArgumentKind::WithCardinality(..) => Kinds::WITH_CARDINALITY,
            ArgumentKind::Now => Kinds::DATE,
            ArgumentKind::NewUuid => Kinds::OTHER,
            ArgumentKind::Traversal(_) => Kinds::TRAVERSAL,
            ArgumentKind::Query(_) => Kinds::QUERY,
            ArgumentKind::Predicate(_) => Kinds::PREDICATE,
            ArgumentKind::Strategy(strategy) if strategy.settings.is_empty() => {
                Kinds::STRATEGY.or(Kinds::STRATEGY_NAME)
            }
            ArgumentKind::Strategy(_) => Kinds::STRATEGY,
            ArgumentKind::Variable(_) => Kinds::VARIABLE,
            ArgumentKind::Word(_) => Kinds(0),
        }
    }

    fn of_scalar(value: &Value) -> Kinds {
        match value {
            Value::Bool(_) => Kinds::BOOL,
            Value::I8(_) | Value::I16(_) | Value::I32(_) | Value::I64(_) | Value::BigInteger(_) => {
                Kinds::INTEGER
            }
            Value::F32(_) | Value::F64(_) | Value::Decimal(_) => Kinds::FRACTION,
            Value::String(_) => Kinds::STRING,
            Value::DateTime(_) => Kinds::DATE,
            Value::List(_) => Kinds::LIST,
            Value::Set(_) => Kinds::SET,
            Value::Map(_) => Kinds::MAP,
            Value::Char(_) | Value::Bytes(_) | Value::Date(_) | Value::Duration(_) | Value::Uuid(_) => {
                Kinds::OTHER
            }
        }
    }

    /// The enumerations whose words are among these.
    pub fn enumerations(self) -> impl Iterator<Item = Enumeration> {
        Enumeration::ALL.iter().copied().filter(move |enumeration| self.contains(Kinds::token(*enumeration)))
    }
}

impl fmt::Display for Kinds {
    /// Writes the names with `|` between them. Null is left out where there is anything else.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        const NAMES: [(Kinds, &str); 17] = [
            (Kinds::VALUE, "value"),
            (Kinds::BOOL, "boolean"),
            (Kinds::NUMBER, "number"),
            (Kinds::INTEGER, "integer"),
            (Kinds::FRACTION, "fraction"),
            (Kinds::STRING, "string"),
            (Kinds::DATE, "datetime"),
            (Kinds::OTHER, "scalar"),
            (Kinds::LIST, "list"),
            (Kinds::SET, "set"),
            (Kinds::MAP, "map"),
            (Kinds::WITH_CARDINALITY, "value with cardinality"),
            (Kinds::TRAVERSAL, "traversal"),
            (Kinds::QUERY, "query"),
            (Kinds::PREDICATE, "predicate"),
            (Kinds::STRATEGY, "strategy"),
            (Kinds::STRATEGY_NAME, "strategy's name"),
        ];
        let mut rest = *self;
        let mut separator = "";
        for (kinds, name) in NAMES {
            if rest.contains(kinds) {
                write!(formatter, "{separator}{name}")?;
                separator = "|";
                rest = Kinds(rest.0 & !kinds.0);
            }
        }
        for enumeration in rest.enumerations() {
            write!(formatter, "{separator}{}", enumeration.name())?;
            separator = "|";
        }
        if separator.is_empty() { formatter.write_str("null") } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_are_named_by_what_is_in_them() {
        assert_eq!(Kinds::VALUE.to_string(), "value");
        assert_eq!(Kinds::VALUE.or(Kinds::PREDICATE).to_string(), "value|predicate");
        assert_eq!(Kinds::TEXT.to_string(), "string");
        assert_eq!(Kinds::NULL.to_string(), "null");
        assert_eq!(Kinds::MAP.or(Kinds::NULL).to_string(), "map");
        assert_eq!(Kinds::NUMBER.to_string(), "number");
        let key = Kinds::STRING.or(Kinds::token(Enumeration::T)).or(Kinds::token(Enumeration::Order));
        assert_eq!(key.to_string(), "string|T|Order");
    }

    #[test]
    fn enumerations_have_a_bit_each() {
        for enumeration in Enumeration::ALL {
            assert_eq!(Kinds::token(*enumeration).enumerations().collect::<Vec<_>>(), [*enumeration]);
        }
        assert!(Kinds::VALUE.contains(Kinds::token(Enumeration::GType)));
        assert!(!Kinds::VALUE.meets(Kinds::token(Enumeration::Order).or(Kinds::PREDICATE)));
    }
}
