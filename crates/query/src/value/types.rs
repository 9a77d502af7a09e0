//! Types of items: the types of `P.typeOf()`, and their names in messages.

use crate::value::item::{Item, Owner};
use evergraph_graph::value::{Value, ValueType};

/// A type, as `GType` or the name of a class says it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ItemType {
    /// A stored scalar of this type.
    Scalar(ValueType),
    /// Any number.
    Number,
    /// Null.
    Null,
    /// A list, made or stored.
    List,
    /// A set, made or stored.
    Set,
    /// A map, made or stored.
    Map,
    /// A vertex.
    Vertex,
    /// An edge.
    Edge,
    /// A property of anything.
    Property,
    /// A property of a vertex.
    VertexProperty,
    /// A path.
    Path,
    /// A tree.
    Tree,
    /// A graph, as `subgraph()` gathers it.
    Graph,
}

impl ItemType {
    /// The type called `name`: a word of `GType`, or the name of a class without its package. Capitals don't count.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Some(match name.to_ascii_lowercase().as_str() {
            "boolean" => Self::Scalar(ValueType::Bool),
            "byte" => Self::Scalar(ValueType::I8),
            "short" => Self::Scalar(ValueType::I16),
            "int" | "integer" => Self::Scalar(ValueType::I32),
            "long" => Self::Scalar(ValueType::I64),
            "float" => Self::Scalar(ValueType::F32),
            "double" => Self::Scalar(ValueType::F64),
            "bigint" | "biginteger" => Self::Scalar(ValueType::BigInteger),
            "bigdecimal" => Self::Scalar(ValueType::Decimal),
            "char" | "character" => Self::Scalar(ValueType::Char),
            "string" => Self::Scalar(ValueType::String),
            "binary" | "bytebuffer" => Self::Scalar(ValueType::Bytes),
            "datetime" | "offsetdatetime" => Self::Scalar(ValueType::DateTime),
            "duration" => Self::Scalar(ValueType::Duration),
            "uuid" => Self::Scalar(ValueType::Uuid),
            "number" => Self::Number,
            "null" => Self::Null,
            "list" => Self::List,
            "set" => Self::Set,
            "map" => Self::Map,
            "vertex" => Self::Vertex,
            "edge" => Self::Edge,
            "property" => Self::Property,
            "vproperty" | "vertexproperty" => Self::VertexProperty,
            "path" => Self::Path,
            "tree" => Self::Tree,
            "graph" => Self::Graph,
            _ => return None,
        })
    }

    /// The type of numbers that it is, if it is one.
    #[must_use]
    pub fn number(self) -> Option<ValueType> {
        use ValueType::{BigInteger, Decimal, F32, F64, I8, I16, I32, I64};
        match self {
            Self::Scalar(number @ (I8 | I16 | I32 | I64 | F32 | F64 | BigInteger | Decimal)) => Some(number),
            _ => None,
        }
    }

    /// Whether `item` is of this type. A property of a vertex is a property too.
    #[must_use]
    pub fn holds(self, item: &Item) -> bool {
        match (self, item) {
            (Self::Scalar(wanted), Item::Value(value)) => value.value_type() == wanted,
            (Self::Number, Item::Value(value)) => Self::Scalar(value.value_type()).number().is_some(),
            (Self::Null, Item::Null)
            | (Self::List, Item::List(_) | Item::Value(Value::List(_)))
            | (Self::Set, Item::Set(_) | Item::Value(Value::Set(_)))
            | (Self::Map, Item::Map(_) | Item::Value(Value::Map(_)))
            | (Self::Vertex, Item::Vertex(_))
            | (Self::Edge, Item::Edge(_))
            | (Self::Property, Item::Property(_))
            | (Self::Path, Item::Path(_))
            | (Self::Tree, Item::Tree(_))
            | (Self::Graph, Item::Graph(_)) => true,
            (Self::VertexProperty, Item::Property(property)) => matches!(property.owner, Owner::Vertex(_)),
            _ => false,
        }
    }
}

/// What a number of this type is called in messages, as TinkerPop calls it.
#[must_use]
#[inline]
pub fn number_name(number: ValueType) -> &'static str {
    match number {
        ValueType::I8 => "Byte",
        ValueType::I16 => "Short",
        ValueType::I32 => "Integer",
        ValueType::I64 => "Long",
        ValueType::F32 => "Float",
        ValueType::F64 => "Double",
        ValueType::BigInteger => "BigInteger",
        ValueType::Decimal => "BigDecimal",
        other => other.name(),
    }
}

/// What the kind of an item is called in messages, as TinkerPop calls it.
#[must_use]
pub fn kind_name(item: &Item) -> &'static str {
    match item {
        Item::Null => "null",
        Item::Value(value) => match value {
            Value::Bool(_) => "Boolean",
            Value::Char(_) => "Character",
            Value::String(_) => "String",
            Value::List(_) => "ArrayList",
            Value::Set(_) => "LinkedHashSet",
            Value::Map(_) => "LinkedHashMap",
            Value::DateTime(_) => "OffsetDateTime",
            other => number_name(other.value_type()),
        },
        Item::Vertex(_) => "Vertex",
        Item::Edge(_) => "Edge",
        Item::Property(_) => "Property",
        Item::List(_) => "ArrayList",
        Item::Set(_) => "LinkedHashSet",
        Item::Map(_) => "LinkedHashMap",
        Item::Entry(_) => "Entry",
        Item::Path(_) => "Path",
        Item::Tree(_) => "Tree",
        Item::Graph(_) => "Graph",
        Item::Token(_) => "T",
        Item::Direction(_) => "Direction",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gremlin::token::Enumeration;
    use evergraph_graph::id::VertexId;

    #[test]
    fn every_word_of_gtype_names_a_type() {
        for word in Enumeration::GType.words() {
            assert!(ItemType::named(word).is_some(), "{word}");
        }
        assert_eq!(ItemType::named("non-registered-Name"), None);
    }

    #[test]
    fn widths_are_types_and_numbers_are_of_any_width() {
        let int = ItemType::named("Integer").unwrap();
        assert!(int.holds(&Item::from(1_i32)) && !int.holds(&Item::from(1_i64)));
        for number in [Item::from(1_i8), Item::from(0.5_f32), Item::from(1_i64)] {
            assert!(ItemType::Number.holds(&number), "{number:?}");
        }
        assert!(!ItemType::Number.holds(&Item::from("1")));
        assert!(!ItemType::Vertex.holds(&Item::Null) && ItemType::Null.holds(&Item::Null));
        assert!(ItemType::Vertex.holds(&Item::Vertex(VertexId(1))));
        assert!(!ItemType::List.holds(&Item::Set([].into())) && ItemType::Set.holds(&Item::Set([].into())));
    }
}
