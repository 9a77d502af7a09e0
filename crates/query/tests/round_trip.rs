//! Round trip: calls, printed and read again, are the same calls; text of any kind is calls or an error.

use evergraph_graph::value::Value;
use evergraph_graph::value::datetime::DateTime;
use evergraph_graph::value::strategy::number;
use evergraph_query::error::Span;
use evergraph_query::gremlin::bindings::Bindings;
use evergraph_query::gremlin::call::{
    Argument, ArgumentKind, Call, Predicate, Query, Strategy as Named, Test,
};
use evergraph_query::gremlin::check::check;
use evergraph_query::gremlin::parser::{ParseLimits, parse, parse_script};
use evergraph_query::gremlin::token::{Cardinality, Enumeration};
use proptest::prelude::*;

/// Pieces that texts of queries are made of, and some that they are not.
const PIECES: &[&str] = &[
    "g",
    "g.",
    "__",
    "__.",
    ".",
    "..",
    ",",
    ";",
    ":",
    "(",
    ")",
    "()",
    "[",
    "]",
    "{",
    "}",
    " ",
    "\n",
    "// x\n",
    "V",
    "out",
    "has",
    "by",
    "not",
    "and",
    "or",
    "negate",
    ".and(",
    ".negate()",
    "P.",
    "TextP.",
    "gt",
    "within",
    "containing",
    "T.id",
    "id",
    "desc",
    "Order.",
    "Cardinality.",
    "set",
    "list",
    "single",
    "new ",
    "Strategy",
    "a: ",
    "x",
    "é",
    "1",
    "-1",
    "0x1b",
    "017",
    "1.5",
    "1e5",
    "1m",
    "9999999999",
    "NaN",
    "Infinity",
    "-Infinity",
    "true",
    "null",
    "'a'",
    "\"\"",
    "\"",
    "'",
    "\\",
    "'\\u00e9'",
    "datetime",
    "UUID",
    "'2024-02-29'",
    "#",
    "\0",
    "tx",
    "commit",
    "toList",
    "withStrategies",
];

fn soup() -> impl Strategy<Value = String> {
    let piece = prop_oneof![20 => proptest::sample::select(PIECES).prop_map(str::to_owned), 1 => ".{0,3}"];
    let rest = proptest::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat());
    (proptest::sample::select(vec!["", "g.V(", "g.V().has(", "g.inject(["]), rest)
        .prop_map(|(start, rest)| format!("{start}{rest}"))
}

/// Values that Gremlin has a text for.
fn scalar() -> impl Strategy<Value = Value> {
    let number = number().prop_filter(
        "not finite has no width in text",
        |value| !matches!(value, Value::F32(number) if !number.is_finite()),
    );
    let moment = (-9_999_999_999..9_999_999_999_i64, 0..1_000_000_000_u32, -64_800..=64_800_i32);
    prop_oneof![
        number,
        any::<bool>().prop_map(Value::from),
        ".{0,6}".prop_map(Value::from),
        r#"[\\"'ub0-9\n]{0,6}"#.prop_map(Value::from),
        moment.prop_map(|(seconds, nanoseconds, offset)| {
            DateTime::new(seconds, nanoseconds, offset).expect("these are in range").into()
        }),
        any::<u128>().prop_map(|bits| {
            Value::parse(&format!("{bits:032x}"), evergraph_graph::value::ValueType::Uuid).expect("32 digits")
        }),
    ]
}

fn name() -> impl Strategy<Value = Box<str>> {
    let known = proptest::sample::select(vec!["V", "out", "gt", "not", "g", "id", "null", "set", "datetime"]);
    prop_oneof![known.prop_map(Box::from), "[a-zA-Zé_$][a-z0-9é_$]{0,4}".prop_map(String::into_boxed_str)]
}

/// A word that is no literal and begins nothing.
fn word() -> impl Strategy<Value = Box<str>> {
    "[a-z]{1,4}"
        .prop_filter("words with a meaning of their own", |word| {
            !matches!(&**word, "true" | "null" | "new" | "g")
        })
        .prop_map(String::into_boxed_str)
}

fn token() -> impl Strategy<Value = ArgumentKind> {
    proptest::sample::select(Enumeration::ALL).prop_flat_map(|enumeration| {
        proptest::sample::select(enumeration.words())
            .prop_map(move |word| ArgumentKind::Token(enumeration.token(word).expect("its own word")))
    })
}

fn calls(argument: impl Strategy<Value = Argument> + Clone) -> impl Strategy<Value = Vec<Call>> {
    let call = (name(), proptest::collection::vec(argument, 0..3)).prop_map(|(name, arguments)| Call {
        name,
        arguments,
        span: Span::default(),
    });
    proptest::collection::vec(call, 1..3)
}

fn predicate(argument: impl Strategy<Value = Argument> + Clone + 'static) -> impl Strategy<Value = Argument> {
    let plain = || Test::ALL.iter().copied().filter(|test| !matches!(test, Test::And | Test::Or));
    let arguments = proptest::collection::vec(argument, 0..3);
    let tested = (proptest::sample::select(plain().collect::<Vec<_>>()), arguments)
        .prop_map(|(test, arguments)| wrapped(test, arguments));
    tested.prop_recursive(3, 6, 2, |inner| {
        let both = proptest::collection::vec(inner.clone(), 2..4);
        prop_oneof![
            inner.prop_map(|inner| wrapped(Test::Not, vec![inner])),
            // What begins with the same test would be one list when it is read again.
            (proptest::sample::select(vec![Test::And, Test::Or]), both).prop_map(|(test, mut all)| {
                if matches!(&all[0].kind, ArgumentKind::Predicate(first) if first.test == test) {
                    let first = all.remove(0);
                    all[0] = wrapped(Test::Not, vec![first]);
                }
                if all.len() < 2 {
                    return all.remove(0);
                }
                wrapped(test, all)
            }),
        ]
    })
}

fn wrapped(test: Test, arguments: Vec<Argument>) -> Argument {
    ArgumentKind::Predicate(Predicate { test, arguments, span: Span::default() }).into()
}

fn argument() -> impl Strategy<Value = Argument> {
    let leaf = prop_oneof![
        4 => scalar().prop_map(ArgumentKind::Scalar),
        2 => token(),
        1 => word().prop_map(ArgumentKind::Word),
        1 => Just(ArgumentKind::Null),
        1 => Just(ArgumentKind::Now),
        1 => Just(ArgumentKind::NewUuid),
    ];
    leaf.prop_map(Argument::from).prop_recursive(4, 32, 4, |inner| {
        let many = proptest::collection::vec(inner.clone(), 0..4);
        let key = inner.clone().prop_map(|key| match key.kind {
            ArgumentKind::Traversal(_)
            | ArgumentKind::Query(_)
            | ArgumentKind::Predicate(_)
            | ArgumentKind::Strategy(_) => ArgumentKind::Null.into(),
            _ => key,
        });
        let cardinality =
            proptest::sample::select(vec![Cardinality::Single, Cardinality::Set, Cardinality::List]);
        let settings = proptest::collection::vec((name(), inner.clone()), 0..3);
        prop_oneof![
            many.clone().prop_map(|values| ArgumentKind::List(values).into()),
            many.prop_map(|values| ArgumentKind::Set(values).into()),
            proptest::collection::vec((key, inner.clone()), 0..3)
                .prop_map(|entries| ArgumentKind::Map(entries).into()),
            (cardinality, inner.clone()).prop_map(|(cardinality, value)| {
                ArgumentKind::WithCardinality(cardinality, Box::new(value)).into()
            }),
            (name(), settings)
                .prop_map(|(name, settings)| { ArgumentKind::Strategy(Named { name, settings }).into() }),
            calls(inner.clone()).prop_map(|calls| ArgumentKind::Traversal(calls).into()),
            calls(inner.clone()).prop_map(|calls| ArgumentKind::Query(Query { calls }).into()),
            predicate(inner),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn calls_are_read_back_from_their_text(calls in calls(argument().boxed())) {
        let query = Query { calls };
        let text = query.to_string();
        let again = parse(&text, &ParseLimits::default());
        prop_assert_eq!(again.as_ref(), Ok(&query), "{}", text);
    }

    #[test]
    fn any_text_is_queries_that_are_read_back_or_an_error_inside_it(text in soup()) {
        let limits = ParseLimits { range_items_max: 1000, ..ParseLimits::default() };
        match parse_script(&text, &limits) {
            Ok(queries) => for query in queries {
                let again = parse(&query.to_string(), &limits);
                prop_assert_eq!(again.as_ref(), Ok(&query));
                let mut checked = query.clone();
                if check(&mut checked, &Bindings::new()).is_ok() {
                    prop_assert_eq!(check(&mut checked.clone(), &Bindings::new()), Ok(()), "{}", checked);
                }
            },
            Err(error) => {
                prop_assert!(error.place.is_some() && !error.message.is_empty());
                prop_assert!(text.get(error.span.start as usize..error.span.end as usize).is_some(), "{error:?}");
            }
        }
    }
}
