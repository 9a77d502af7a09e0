//! Strategy: random bytecode for the tests of both formats.

use evergraph_graph::value::Value;
use evergraph_graph::value::strategy::any_scalar;
use evergraph_query::error::Span;
use evergraph_query::gremlin::call::{
    Argument, ArgumentKind, Call, Predicate, Strategy as TraversalStrategy, Test,
};
use evergraph_query::gremlin::signature::table::signatures;
use evergraph_query::gremlin::token::{Cardinality, Enumeration, Token};
use proptest::prelude::*;

/// Whether both formats have a form for the value.
pub(crate) fn is_representable(value: &Value) -> bool {
    match value {
        Value::Duration(duration) => {
            (duration.months(), duration.days()) == (0, 0)
                || (duration.seconds(), duration.nanoseconds()) == (0, 0)
        }
        Value::List(list) => list.as_slice().iter().all(is_representable),
        Value::Set(set) => set.as_slice().iter().all(is_representable),
        Value::Map(map) => {
            map.as_slice().iter().all(|(key, value)| is_representable(key) && is_representable(value))
        }
        _ => true,
    }
}

/// What bytecode can say, in the form in which it is read.
pub(crate) fn any_argument() -> impl Strategy<Value = ArgumentKind> {
    let scalar = any_scalar()
        .prop_filter("no driver has durations of months and seconds", is_representable)
        .prop_map(ArgumentKind::Scalar);
    let tokens: Vec<Token> = Enumeration::ALL
        .iter()
        .filter(|of| of.has_short_form())
        .flat_map(|of| of.words().iter().map(move |word| of.token(word).expect("its own word")))
        .collect();
    let leaf = prop_oneof![
        8 => scalar,
        1 => Just(ArgumentKind::Null),
        2 => proptest::sample::select(tokens).prop_map(ArgumentKind::Token),
    ];
    leaf.prop_recursive(5, 40, 4, |inner| {
        let argument = inner.clone().prop_map(Argument::from);
        let values = proptest::collection::vec(argument.clone(), 0..4);
        let entries = proptest::collection::vec((argument.clone(), argument.clone()), 0..3);
        let settings = proptest::collection::vec(("[a-c]{1,3}".prop_map(Box::from), argument.clone()), 0..3);
        let cardinality = proptest::sample::select(Enumeration::Cardinality.words().to_vec());
        prop_oneof![
            values.clone().prop_map(ArgumentKind::List),
            values.clone().prop_map(ArgumentKind::Set),
            entries.prop_map(ArgumentKind::Map),
            (cardinality, argument.clone()).prop_map(|(word, value)| {
                let cardinality = Cardinality::from_word(word).expect("its own word");
                ArgumentKind::WithCardinality(cardinality, Box::new(value))
            }),
            proptest::collection::vec(any_call(inner), 1..3).prop_map(ArgumentKind::Traversal),
            any_predicate(argument, values).prop_map(ArgumentKind::Predicate),
            ("[A-Z][a-z]{0,3}Strategy", settings).prop_map(|(name, settings)| {
                ArgumentKind::Strategy(TraversalStrategy { name: name.into(), settings })
            }),
        ]
    })
}

fn any_predicate(
    argument: impl Strategy<Value = Argument> + Clone + 'static,
    values: impl Strategy<Value = Vec<Argument>> + Clone + 'static,
) -> impl Strategy<Value = Predicate> + Clone {
    let of = |test, arguments| Predicate { test, arguments, span: Span::default() };
    let tests: Vec<Test> = Test::ALL.to_vec();
    let connective = |test: &Test| matches!(test, Test::And | Test::Or | Test::Not);
    let simple: Vec<Test> = tests.iter().copied().filter(|test| !connective(test)).collect();
    let simple = (proptest::sample::select(simple), argument, values).prop_map(move |(test, first, rest)| {
        let arguments = match test {
            // Alone, a collection is the values.
            Test::Within | Test::Without => match rest.len() {
                1 if matches!(rest[0].kind, ArgumentKind::List(_) | ArgumentKind::Set(_)) => {
                    vec![ArgumentKind::List(rest).into()]
                }
                _ => rest,
            },
            Test::Inside | Test::Outside | Test::Between => vec![first.clone(), first],
            _ => vec![first],
        };
        of(test, arguments)
    });
    simple.prop_recursive(3, 8, 2, move |inner| {
        let connective = proptest::sample::select(vec![Test::And, Test::Or, Test::Not]);
        (connective, inner.clone(), inner).prop_map(move |(test, first, second)| {
            // A chain of the same test is one list already.
            let test = if first.test == test && test != Test::Not { Test::Not } else { test };
            let argument = |predicate| Argument::from(ArgumentKind::Predicate(predicate));
            let all = if test == Test::Not {
                vec![argument(first)]
            } else {
                vec![argument(first), argument(second)]
            };
            of(test, all)
        })
    })
}

fn any_call(argument: impl Strategy<Value = ArgumentKind> + 'static) -> impl Strategy<Value = Call> {
    // An option's name would become a word, and `tx` two calls.
    let names = signatures().map(|signature| signature.name).filter(|name| !matches!(*name, "with" | "tx"));
    let names = proptest::sample::select(names.collect::<Vec<_>>());
    (names, proptest::collection::vec(argument, 0..4))
        .prop_map(|(name, arguments)| Call::new(name, arguments))
}

pub(crate) fn any_calls(count: std::ops::Range<usize>) -> impl Strategy<Value = Vec<Call>> {
    proptest::collection::vec(any_call(any_argument()), count)
}
