//! Normalised queries: no part of a literal is in what a log may hold of a query, whatever the query is.
//!
//! Literals are made of letters and digits that no word of the language and no mark has, so that each one that is left
//! over is found.

use evergraph_graph::value::Value;
use evergraph_query::gremlin::bytecode::Bytecode;
use evergraph_query::gremlin::call::{Argument, ArgumentKind, Call, Predicate, Strategy as Named, Test};
use evergraph_query::gremlin::normalise::{normalised_bytecode, normalised_text};
use proptest::prelude::*;

/// Letters that no word of Gremlin has, in the order in which they stand here, and digits.
const SECRETS: [&str; 6] = ["zq0x", "ЖЩ", "東京", "qzj", "4711", "ZQJ"];

/// A text with something secret in it, and with marks that end strings, comments and calls.
fn secret_text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        prop::sample::select(&SECRETS[..]).prop_map(str::to_owned),
        prop::sample::select(vec!["'", "\"", "\\", ")", "(", "//", "\n", ".", " ", "?", ".out(", "\u{1b}"])
            .prop_map(str::to_owned),
    ];
    prop::collection::vec(piece, 1..6).prop_map(|pieces| pieces.concat())
}

/// A literal as text: a string in quotes with what needs it escaped, a number with a suffix, a word.
fn literal() -> impl Strategy<Value = String> {
    prop_oneof![
        secret_text().prop_map(|text| {
            let text = text.replace('\\', "\\\\").replace('\'', "\\'");
            format!("'{text}'")
        }),
        (1000_u32..u32::MAX, prop::sample::select(vec!["", "l", ".5d", "e3", "n", "_1"]))
            .prop_map(|(number, suffix)| format!("4711{number}{suffix}")),
        prop::sample::select(&SECRETS[..3]).prop_map(str::to_owned),
        Just("0x4711Afl".to_owned()),
    ]
}

fn query_text() -> impl Strategy<Value = String> {
    let call = (
        prop::sample::select(vec!["V", "has", "inject", "property", "where", "unknownZQJ", "P.gt"]),
        prop::collection::vec(literal(), 0..4),
    );
    prop::collection::vec(call, 0..5).prop_map(|calls| {
        calls
            .iter()
            .fold("g".to_owned(), |text, (name, arguments)| format!("{text}.{name}({})", arguments.join(",")))
    })
}

fn argument() -> impl Strategy<Value = ArgumentKind> {
    let scalar = prop_oneof![
        secret_text().prop_map(|text| ArgumentKind::Scalar(Value::from(&*text))),
        any::<u16>().prop_map(|number| ArgumentKind::Scalar(Value::I64(471_100_000 + i64::from(number)))),
        Just(ArgumentKind::Scalar(Value::F64(4711.4711))),
        Just(ArgumentKind::Scalar(Value::from(b"4711zq0x".to_vec()))),
        prop::sample::select(&SECRETS[..]).prop_map(|word| ArgumentKind::Word(word.into())),
        prop::sample::select(&SECRETS[..]).prop_map(|word| ArgumentKind::Variable(word.into())),
    ];
    scalar.prop_recursive(3, 12, 3, |inner| {
        let some = |inner| prop::collection::vec(inner, 0..3);
        let arguments = |kinds: Vec<ArgumentKind>| kinds.into_iter().map(Argument::from).collect::<Vec<_>>();
        prop_oneof![
            some(inner.clone()).prop_map(move |kinds| ArgumentKind::List(arguments(kinds))),
            some(inner.clone()).prop_map(move |kinds| ArgumentKind::Set(arguments(kinds))),
            (inner.clone(), inner.clone())
                .prop_map(|(key, value)| ArgumentKind::Map(vec![(key.into(), value.into())])),
            some(inner.clone()).prop_map(move |kinds| {
                let arguments = arguments(kinds);
                ArgumentKind::Predicate(Predicate { test: Test::Within, arguments, span: Default::default() })
            }),
            (secret_text(), inner.clone())
                .prop_map(|(name, kind)| ArgumentKind::Traversal(vec![Call::new(name, [kind])])),
            (secret_text(), inner).prop_map(|(name, kind)| {
                ArgumentKind::Strategy(Named {
                    name: "ZQJStrategy".into(),
                    settings: vec![(name.into(), kind.into())],
                })
            }),
        ]
    })
}

fn holds_nothing_secret(normalised: &str) -> Result<(), TestCaseError> {
    for secret in SECRETS {
        prop_assert!(!normalised.contains(secret), "{normalised}");
    }
    prop_assert!(!normalised.contains(|letter: char| letter.is_ascii_digit()), "{normalised}");
    prop_assert!(!normalised.contains(char::is_control) && !normalised.contains(['\'', '"']), "{normalised}");
    prop_assert!(normalised.is_ascii(), "{normalised}");
    Ok(())
}

proptest! {
    #[test]
    fn no_literal_of_a_text_is_left(text in query_text(), bytes_max in 0_usize..200) {
        let normalised = normalised_text(&text, bytes_max);
        holds_nothing_secret(&normalised)?;
        prop_assert!(normalised.len() <= bytes_max + 40);
    }

    #[test]
    fn no_part_of_a_text_that_is_no_query_is_left(text in secret_text()) {
        holds_nothing_secret(&normalised_text(&text, 1000))?;
    }

    #[test]
    fn no_value_of_bytecode_is_left(
        calls in prop::collection::vec((secret_text(), prop::collection::vec(argument(), 0..3)), 0..4),
        known in prop::collection::vec(argument(), 0..3),
    ) {
        let mut steps = vec![Call::new("has", known)];
        steps.extend(calls.into_iter().map(|(name, arguments)| Call::new(name, arguments)));
        holds_nothing_secret(&normalised_bytecode(&Bytecode::new(vec![], steps), 1000))?;
    }
}
