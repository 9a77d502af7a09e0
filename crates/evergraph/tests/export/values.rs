//! Values: random names and values of every type, with many that files have trouble with.

use evergraph::Value;
use evergraph::graph::value::ValueType;
use evergraph::graph::value::collection::{List, Map, Set};
use evergraph::graph::value::date::Date;
use evergraph::graph::value::datetime::DateTime;
use evergraph::graph::value::duration::Duration;
use proptest::prelude::*;
use proptest::sample::select;

/// What the values of one property are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Of one type; lists, sets and maps of anything.
    Of(ValueType),
    /// Lists of scalars of one type.
    ListOf(ValueType),
    /// Of any type.
    Mixed,
}

const ODD: [&str; 56] = [
    "_id",
    "__id",
    "label",
    "labels",
    "labelV",
    "labelE",
    "parent",
    "source",
    "type",
    "@type",
    "outE",
    "d0",
    "../x",
    "a:b",
    "a{b}",
    "(x)",
    "x:ID",
    "id:ID(a)",
    "a",
    "A",
    "b",
    " lead",
    "trail ",
    "\"q\"",
    "'",
    "a;b",
    "a,b",
    "a|b\tc",
    "line\nbreak",
    "\r",
    "\0",
    "\u{1}x",
    "\u{feff}",
    "😀",
    "e\u{301}",
    "é",
    "CON",
    "con.txt",
    ":LABEL",
    ":TYPE",
    "{form:graphson}",
    "Person_knows_Person",
    "Person",
    "person",
    "import.toml",
    "null",
    "\\N",
    "[1]",
    "[a;b]",
    "\0end\0",
    "<&>",
    "]]>",
    "true",
    "7",
    "-",
    "\u{2028}",
];

/// A name of a label, type or key: never empty.
pub fn name() -> impl Strategy<Value = String> {
    prop_oneof![select(ODD.to_vec()).prop_map(ToOwned::to_owned), "[a-c]{1,3}", ".{1,5}"]
        .prop_filter("names are not empty", |name| !name.is_empty())
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![Just(String::new()), select(ODD.to_vec()).prop_map(ToOwned::to_owned), "[a-z]{1,4}", ".{0,6}"]
}

/// What a property may be.
pub fn kind() -> impl Strategy<Value = Kind> {
    let all: Vec<ValueType> = ValueType::all().filter(|value_type| *value_type != ValueType::Any).collect();
    let scalars: Vec<ValueType> = all[..16].to_vec();
    prop_oneof![6 => select(all).prop_map(Kind::Of), 2 => select(scalars).prop_map(Kind::ListOf), 1 => Just(Kind::Mixed)]
}

impl Kind {
    /// The type that a property of this kind is declared as.
    pub fn value_type(self) -> ValueType {
        match self {
            Self::Of(value_type) => value_type,
            Self::ListOf(_) => ValueType::List,
            Self::Mixed => ValueType::Any,
        }
    }

    /// Values of this kind.
    pub fn values(self) -> BoxedStrategy<Value> {
        match self {
            Self::Of(value_type @ (ValueType::List | ValueType::Set | ValueType::Map)) => {
                collection(value_type)
            }
            Self::Of(value_type) => scalar(value_type),
            Self::ListOf(value_type) => proptest::collection::vec(scalar(value_type), 0..4)
                .prop_map(|values| List::new(values).expect("one level").into())
                .boxed(),
            Self::Mixed => any_value(),
        }
    }
}

fn any_value() -> BoxedStrategy<Value> {
    let all = ValueType::all().filter(|value_type| *value_type != ValueType::Any);
    let all: Vec<ValueType> = all.collect();
    select(all)
        .prop_flat_map(move |value_type| match value_type {
            ValueType::List | ValueType::Set | ValueType::Map => collection(value_type),
            scalar_type => scalar(scalar_type),
        })
        .boxed()
}

fn collection(value_type: ValueType) -> BoxedStrategy<Value> {
    let scalars: Vec<ValueType> = ValueType::all().take(16).collect();
    let element = select(scalars).prop_flat_map(scalar);
    let element = element.prop_recursive(2, 8, 3, |inner| {
        let values = proptest::collection::vec(inner.clone(), 0..3);
        let entries = proptest::collection::vec((inner.clone(), inner), 0..3);
        prop_oneof![
            values.clone().prop_map(|values| List::new(values).expect("few levels").into()),
            values.prop_map(|values| Set::new(values).expect("few levels").into()),
            entries.prop_map(|entries| Map::new(entries).expect("few levels").into()),
        ]
    });
    let values = proptest::collection::vec(element.clone(), 0..4);
    match value_type {
        ValueType::List => values.prop_map(|values| List::new(values).expect("few levels").into()).boxed(),
        ValueType::Set => values.prop_map(|values| Set::new(values).expect("few levels").into()).boxed(),
        _ => proptest::collection::vec((element.clone(), element), 0..3)
            .prop_map(|entries| Map::new(entries).expect("few levels").into())
            .boxed(),
    }
}

fn scalar(value_type: ValueType) -> BoxedStrategy<Value> {
    let float = prop_oneof![
        proptest::num::f64::ANY,
        select(vec![0.0, -0.0, 1.0, 0.1, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 5e-324, 1e300])
    ];
    match value_type {
        ValueType::Bool => any::<bool>().prop_map(Value::from).boxed(),
        ValueType::I8 => any::<i8>().prop_map(Value::from).boxed(),
        ValueType::I16 => any::<i16>().prop_map(Value::from).boxed(),
        ValueType::I32 => any::<i32>().prop_map(Value::from).boxed(),
        ValueType::I64 => any::<i64>().prop_map(Value::from).boxed(),
        // A quiet NaN is all that a text says.
        ValueType::F32 => {
            float.prop_map(|float| Value::F32(if float.is_nan() { f32::NAN } else { float as f32 })).boxed()
        }
        ValueType::F64 => {
            float.prop_map(|float| Value::F64(if float.is_nan() { f64::NAN } else { float })).boxed()
        }
        ValueType::BigInteger => parsed("-?[1-9][0-9]{0,40}", value_type),
        ValueType::Decimal => parsed("-?[0-9]{1,20}(\\.[0-9]{1,12})?(e-?[0-9]{1,3})?", value_type),
        ValueType::Char => text().prop_map(|text| Value::from(text.chars().next().unwrap_or(' '))).boxed(),
        ValueType::String => text().prop_map(Value::from).boxed(),
        ValueType::Bytes => proptest::collection::vec(any::<u8>(), 0..5).prop_map(Value::from).boxed(),
        ValueType::Date => any::<i32>().prop_map(|days| Value::from(Date::from_days(days))).boxed(),
        ValueType::DateTime => {
            (-99_999_999_999_i64..99_999_999_999, 0..1_000_000_000_u32, -64_800..=64_800_i32)
                .prop_map(|(seconds, nanoseconds, offset)| {
                    Value::from(DateTime::new(seconds, nanoseconds, offset).expect("these are in range"))
                })
                .boxed()
        }
        ValueType::Duration => (-20..20_i32, -31..=31_i32, any::<i32>(), 0..1_000_000_000_u32)
            .prop_map(|(months, days, seconds, nanoseconds)| {
                Value::from(
                    Duration::new(months, days, seconds.into(), nanoseconds).expect("these are in range"),
                )
            })
            .boxed(),
        _ => parsed("[0-9a-f]{32}", ValueType::Uuid),
    }
}

fn parsed(pattern: &'static str, value_type: ValueType) -> BoxedStrategy<Value> {
    pattern
        .prop_map(move |text| Value::parse(&text, value_type).expect("the pattern is that of the type"))
        .boxed()
}
