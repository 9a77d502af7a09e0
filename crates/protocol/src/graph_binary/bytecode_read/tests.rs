//! What drivers send, and what nobody should.

use super::*;
use crate::graph_binary::argument_write::bytecode as written_bytecode;
use crate::graph_binary::bytecode_read::samples::SAMPLES;
use crate::strategy::any_calls;
use evergraph_graph::error::ErrorKind;
use evergraph_query::gremlin::bindings::Bindings;
use evergraph_query::gremlin::read::read as read_text;
use proptest::prelude::*;
use std::thread;

fn bytes(hexadecimal: &str) -> Vec<u8> {
    let digits: Vec<u8> = hexadecimal.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
    let pairs = digits.chunks(2).map(|pair| std::str::from_utf8(pair).expect("digits are text"));
    pairs.map(|pair| u8::from_str_radix(pair, 16).expect(hexadecimal)).collect()
}

fn argument(hexadecimal: &str) -> ArgumentKind {
    parse_argument(&bytes(hexadecimal), &ParseLimits::default()).expect(hexadecimal).kind
}

fn refused(bytes: &[u8]) -> String {
    read(bytes, &ParseLimits::default()).expect_err("this is no sound bytecode").to_string()
}

/// Bytecode that can be written.
fn sound(source: &[Call], steps: &[Call]) -> Vec<u8> {
    written_bytecode(&Bytecode::new(source.to_vec(), steps.to_vec()))
        .expect("bytecode that a driver could send")
}

/// `g.V().inject(argument)`.
fn injected(argument: &[u8]) -> Vec<u8> {
    let mut out = bytes("15 00 00000002 00000001 56 00000000 00000006 696e6a656374 00000001");
    out.extend_from_slice(argument);
    out.extend([0; 4]);
    out
}

#[test]
fn what_gremlinpython_writes_is_the_query_of_the_text() {
    let limits = ParseLimits::default();
    let mut bindings = Bindings::new();
    bindings.bind("x", "ann");
    for (text, hexadecimal) in SAMPLES {
        let expected = read_text(text, &limits, &bindings).expect(text);
        let found = read(&bytes(hexadecimal), &limits).expect(text);
        assert_eq!(found.query(), &expected, "{text}");
    }
}

#[test]
fn the_examples_of_the_reference_are_read() {
    let integer = |text: &str| Value::BigInteger(text.parse().unwrap());
    for (hexadecimal, value) in [
        ("01 00 00000101", Value::I32(257)),
        ("02 00 fffffffffffffffe", Value::I64(-2)),
        ("03 00 00000003 616263", Value::from("abc")),
        (
            "04 00 ffffffffffffffff",
            Value::parse("1969-12-31T23:59:59.999Z", "datetime".parse().unwrap()).unwrap(),
        ),
        ("07 00 3fb999999999999a", Value::F64(0.1)),
        ("08 00 3ec00000", Value::F32(0.375)),
        ("23 00 00000001 00", integer("0")),
        ("23 00 00000002 0080", integer("128")),
        ("23 00 00000001 80", integer("-128")),
        ("23 00 00000002 ff7f", integer("-129")),
        ("80 00 61", Value::Char('a')),
        ("80 00 c2a2", Value::Char('¢')),
        ("80 00 e282ac", Value::Char('€')),
        ("80 00 f09f9880", Value::Char('😀')),
    ] {
        assert_eq!(argument(hexadecimal), ArgumentKind::Scalar(value), "{hexadecimal}");
    }
    assert_eq!(argument("01 01"), ArgumentKind::Null);
    assert_eq!(argument("fe 01"), ArgumentKind::Null);
}

#[test]
fn times_of_every_kind_are_values() {
    let value = |text: &str, of: &str| ArgumentKind::Scalar(Value::parse(text, of.parse().unwrap()).unwrap());
    for (hexadecimal, expected) in [
        ("83 00 000000000000003c 00000001", value("1970-01-01T00:01:00.000000001Z", "datetime")),
        ("83 00 000000000000003c ffffffff", value("1970-01-01T00:00:59.999999999Z", "datetime")),
        ("84 00 000007e8 02 1d", value("2024-02-29", "date")),
        ("85 00 000007e8 02 1d 0000000000000001", value("2024-02-29T00:00:00.000000001Z", "datetime")),
        ("8d 00 000007d7 0c 03 000021966f881400 00000e10", value("2007-12-03T10:15:30+01:00", "datetime")),
        ("81 00 0000000000000005 00001b58", value("PT5.000007S", "duration")),
        ("8a 00 00000001 00000002 00000003", value("P1Y2M3D", "duration")),
    ] {
        assert_eq!(argument(hexadecimal), expected, "{hexadecimal}");
    }
}

#[test]
fn an_element_is_its_id_however_much_it_brings() {
    // A vertex with a property that has one itself, as a detached vertex of Java's is written.
    let vertex = "11 00  01 00 00000007  00000001 61
        09 00 00000001
            12 00  02 00 0000000000000001  00000001 6b  01 00 00000005  fe 01
                09 00 00000001  0f 00 00000001 6d  03 00 00000001 6e  fe 01";
    assert_eq!(argument(vertex), ArgumentKind::Scalar(Value::I32(7)));
    let edge =
        "0d 00  03 00 00000001 78  00000001 65  01 00 00000001  00000001 61  01 00 00000002  00000001 61
        fe 01  fe 01";
    assert_eq!(argument(edge), ArgumentKind::Scalar("x".into()));
    assert!(read(&injected(&bytes(vertex)), &ParseLimits::default()).is_ok());
    let predicate = format!("1e 00 00000002 6571 00000001 {vertex}");
    let compared = "step 2 (`inject`), argument 1: a predicate doesn't compare elements: compare their ids, as \
                    with `hasId`";
    assert_eq!(refused(&injected(&bytes(&predicate))), compared);
}

#[test]
fn a_binding_is_its_value() {
    assert_eq!(argument("14 00 00000001 78 01 00 00000007"), ArgumentKind::Scalar(Value::I32(7)));
}

#[test]
fn what_no_calls_can_hold_is_named_with_its_instruction() {
    for (hexadecimal, reason) in [
        (
            "1d 00 0000000e 6772656d6c696e2d67726f6f7679 00000004 69742e78 ffffffff",
            "lambdas are not supported: write the function in steps",
        ),
        ("21 00 0000000000000002 01 00 00000001", "a traverser can't be an argument"),
        ("0e 00 09 00 00000000 09 00 00000000", "a path can't be an argument"),
        (
            "12 00 01 00 00000001 00000001 61 01 00 00000002 fe 01 fe 01",
            "a vertex property can't be an argument: give its element, its key or its value",
        ),
        ("2a 00 00000000", "a bulk set can't be an argument: give a list"),
        ("86 00 0000000000000000", "a local time can't be an argument"),
        ("31 00", "there is no type 0x31"),
        ("00 00000003 6f776e 00000000 00 00000000", "the custom type `own` is not supported"),
        (
            "06 00 00000011 6a6176612e6c616e672e496e7465676572",
            "the class `java.lang.Integer` can't be an argument: only strategies are named by their class",
        ),
        ("1a 00 03 00 00000003 617363", ""),
        ("1a 00 03 00 00000003 647363", "`Order` has no `dsc`; did you mean `desc`?"),
        ("1e 00 00000002 7878 00000000", "there is no predicate called `xx`"),
        ("27 00 02", "0x02 is neither true nor false"),
        ("84 00 000007e8 02 1e", "day 30 is outside 1 to 29"),
        (
            "15 00 00000000 00000000",
            "a traversal without steps can't be an argument: `identity` does nothing",
        ),
        (
            "15 00 00000000 00000001 00000008 7769746850617468 00000000",
            "`withPath` stands right after `g`, and a traversal within another begins with `__`",
        ),
        ("01 02 00000000", "at byte 29: flag 0x02 of a value of type 0x01"),
        ("09 00 7fffffff", "at byte 31: a length of at most 2 expected, found 2147483647"),
        ("03 00 ffffffff", "at byte 31: a length of at most 4 expected, found -1"),
        ("03 00 00000001 ff", "at byte 35: a string in UTF-8 expected"),
        ("80 00 ff616161", "at byte 31: a character in UTF-8 expected"),
        ("23 00 00000000", "at byte 31: an integer of at least one byte expected"),
    ] {
        if reason.is_empty() {
            let taken = "`inject` takes (value...), and this is `Order.asc`";
            assert_eq!(
                refused(&injected(&bytes(hexadecimal))),
                format!("step 2 (`inject`), argument 1: {taken}")
            );
            continue;
        }
        let expected = format!("step 2 (`inject`), argument 1: {reason}");
        assert_eq!(refused(&injected(&bytes(hexadecimal))), expected, "{hexadecimal}");
    }
    assert_eq!(refused(&[]), "at byte 0: 1 bytes expected, 0 left");
    assert_eq!(refused(&bytes("01 00 00000001")), "at byte 0: bytecode expected");
    assert_eq!(refused(&bytes("15 00 00000000 00000000 00")), "at byte 10: the end expected, 1 bytes left");
}

#[test]
fn what_the_check_refuses_is_told_with_its_instruction() {
    let written = |text: &str| {
        let query = evergraph_query::gremlin::parser::parse(text, &ParseLimits::default()).expect(text);
        let steps = query.calls.iter().position(|call| !call.name.starts_with("with")).unwrap();
        sound(&query.calls[..steps], &query.calls[steps..])
    };
    for (text, expected) in [
        ("g.V().otu('a')", "step 2 (`otu`): no step is called `otu`; did you mean `out`?"),
        (
            "g.withPaht().V()",
            "source instruction 1 (`withPaht`): no step is called `withPaht`; did you mean `withPath`?",
        ),
        (
            "g.withPath().withBulk(1).V()",
            "source instruction 2 (`withBulk`), argument 1: `withBulk` takes (boolean), and this is an integer",
        ),
        (
            "g.withBulk(true).V().where(__.out().has('a', within([[b: __.limit('x')]])))",
            "step 2 (`where`), argument 1, step 2 (`has`), argument 2, step 1 (`limit`), argument 1: \
             `limit` takes (integer) or (Scope, integer), and this is a string",
        ),
        ("g.V().is(gt(1, 2))", "step 2 (`is`), argument 1: `gt` takes (value), and was given 2 arguments"),
    ] {
        assert_eq!(refused(&written(text)), expected, "{text}");
    }
}

#[test]
fn of_many_places_those_at_both_ends_are_told() {
    let mut calls = vec![Call::new("otu", [])];
    for _ in 0..100 {
        calls = vec![Call::new("where", [ArgumentKind::Traversal(calls)])];
    }
    let place = "step 1 (`where`), argument 1, ";
    let expected = format!(
        "{}…, {}step 1 (`otu`): no step is called `otu`; did you mean `out`?",
        place.repeat(3),
        place.repeat(2)
    );
    assert_eq!(
        refused(&sound(&[], &[&[Call::new("V", [])], &*calls].concat()))
            .replace("step 2 (`where`)", "step 1 (`where`)"),
        expected
    );
}

/// `open` as often as `count`, around a null.
fn nested(open: &str, close: &str, count: usize) -> Vec<u8> {
    injected(&[bytes(open).repeat(count), vec![0xfe, 1], bytes(close).repeat(count)].concat())
}

#[test]
fn a_hundred_thousand_levels_are_an_error_and_250_fit_into_half_a_mebibyte_of_stack() {
    let limits = ParseLimits { text_bytes_max: 1 << 26, ..ParseLimits::default() };
    let forms = [
        ("09 00 00000001", ""),
        ("0b 00 00000001", ""),
        ("0a 00 00000001", "fe 01"),
        ("0a 00 00000001 fe 01", ""),
        ("1e 00 00000003 6e6f74 00000001", ""),
        ("15 00 00000001 00000003 6d6170 00000001", "00000000"),
        ("29 00 00000001 53 00000001 03 00 00000001 61", ""),
        ("14 00 00000001 61", ""),
        ("11 00", "00000001 61 fe 01"),
    ];
    let check = move || {
        for (open, close) in forms {
            let deep = parse(&nested(open, close, 100_000), &limits).expect_err(open);
            assert!(deep.message.ends_with(": nested more than 256 deep"), "{open}: {}", deep.message);
            assert_eq!(deep.kind, ErrorKind::Limit, "{open}");
            let count = if open.starts_with("15") { 125 } else { 250 };
            if let Ok(bytecode) = parse(&nested(open, close, count), &limits) {
                assert_eq!(bytecode.clone(), bytecode, "{open}");
            } else {
                assert!(open.starts_with("11"), "{open}: only a vertex' id can't be another's");
            }
        }
    };
    thread::Builder::new().stack_size(1 << 19).spawn(check).unwrap().join().unwrap();
    let few = ParseLimits { text_bytes_max: 8, ..ParseLimits::default() };
    let error = parse(&bytes("15 00 00000000 00000000"), &few).unwrap_err();
    assert_eq!(
        (error.kind, &*error.message),
        (ErrorKind::Limit, "a query of 10 bytes is past the limit of 8")
    );
}

#[test]
fn no_sample_that_is_cut_off_or_changed_makes_a_panic() {
    let limits = ParseLimits::default();
    for (_, hexadecimal) in SAMPLES {
        let sound = bytes(hexadecimal);
        for length in 0..sound.len() {
            assert!(parse(&sound[..length], &limits).is_err());
        }
        for at in 0..sound.len() {
            for change in [1, 0x80, 0xff] {
                let mut changed = sound.clone();
                changed[at] ^= change;
                if let Err(error) = read(&changed, &limits) {
                    assert!(!error.message.is_empty());
                }
            }
        }
    }
}

proptest! {
    #[test]
    fn what_is_written_is_read_back(source in any_calls(0..3), steps in any_calls(0..4)) {
        let expected = Bytecode::new(source.clone(), steps.clone());
        let found = parse(&sound(&source, &steps), &ParseLimits::default());
        prop_assert_eq!(found, Ok(expected));
    }

    #[test]
    fn any_bytes_are_an_argument_or_an_error(bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
        let _ = parse_argument(&bytes, &ParseLimits::default());
        let _ = read(&injected(&bytes), &ParseLimits::default());
    }
}
