//! Odd values: a row for each type of a CSV column, with values at its edges and past them.

use crate::case::{Case, run};

/// A column of `value_type` with the `good` values and then `bad` ones, one a line.
fn column(value_type: &str, good: &[&str], bad: &[(&str, &str)]) -> Case {
    let rows = good.iter().chain(bad.iter().map(|(value, _)| value)).enumerate();
    let quoted = |value: &str| format!("\"{}\"", value.replace('"', "\"\""));
    let text: String = rows.map(|(row, value)| format!("{row},{}\n", quoted(value))).collect();
    let case = Case::new(value_type).file("a.csv", format!("id:ID,n:{value_type}\n{text}"));
    let case = case.loads(good.len() as u64, 0);
    bad.iter().enumerate().fold(case, |case, (at, (value, why))| {
        let (row, line) = (good.len() + at, good.len() + at + 2);
        case.bad_row(&format!("a.csv:{line}: column 2 (n:{value_type}): {why}"), &format!("{row},{value}"))
    })
}

#[test]
fn values_at_the_edge_of_their_type_load_and_those_past_it_are_named() {
    run(vec![
        column(
            "bool",
            &["true", "FALSE", ""],
            &[
                ("yes", "\"yes\" is not a valid bool: expected true or false"),
                ("2", "\"2\" is not a valid bool: expected true or false"),
            ],
        ),
        column(
            "byte",
            &["-128", "127", "+5", "007"],
            &[
                ("128", "\"128\" is not a valid byte: outside -128 to 127"),
                ("-129", "\"-129\" is not a valid byte: outside -128 to 127"),
                ("1.0", "\"1.0\" is not a valid byte: expected digits with an optional sign"),
                ("0x7f", "\"0x7f\" is not a valid byte: expected digits with an optional sign"),
                ("1e2", "\"1e2\" is not a valid byte: expected digits with an optional sign"),
                ("--1", "\"--1\" is not a valid byte: expected digits with an optional sign"),
                ("٣", "\"٣\" is not a valid byte: expected digits with an optional sign"),
            ],
        ),
        column(
            "short",
            &["-32768", "32767"],
            &[
                ("32768", "\"32768\" is not a valid short: outside -32768 to 32767"),
                ("1_000", "\"1_000\" is not a valid short: expected digits with an optional sign"),
            ],
        ),
        column(
            "int",
            &["-2147483648", "2147483647", "5 "],
            &[
                ("2147483648", "\"2147483648\" is not a valid int: outside -2147483648 to 2147483647"),
                ("1,000", "\"1,000\" is not a valid int: expected digits with an optional sign"),
            ],
        ),
        column(
            "long",
            &["-9223372036854775808", "9223372036854775807"],
            &[
                (
                    "9223372036854775808",
                    "\"9223372036854775808\" is not a valid long: outside -9223372036854775808 to 9223372036854775807",
                ),
                ("-", "\"-\" is not a valid long: expected digits with an optional sign"),
                (
                    "99999999999999999999999999",
                    "\"99999999999999999999999999\" is not a valid long: outside -9223372036854775808 to 9223372036854775807",
                ),
            ],
        ),
        column(
            "float",
            &["1e-45", "3.4028235e38", "nan", "-inf"],
            &[
                ("1e39", "\"1e39\" is not a valid float: too large for this type"),
                (
                    "1.2.3",
                    "\"1.2.3\" is not a valid float: expected digits with an optional point and exponent",
                ),
                ("1e", "\"1e\" is not a valid float: expected digits with an optional point and exponent"),
            ],
        ),
        column(
            "double",
            &["5e-324", "1.7976931348623157e308", "NaN", "Infinity", "-0", ".5", "1."],
            &[
                ("1e309", "\"1e309\" is not a valid double: too large for this type"),
                (
                    "0x1p3",
                    "\"0x1p3\" is not a valid double: expected digits with an optional point and exponent",
                ),
                ("1d", "\"1d\" is not a valid double: expected digits with an optional point and exponent"),
            ],
        ),
        column(
            "bigint",
            &["-340282366920938463463374607431768211456"],
            &[
                ("1.5", "\"1.5\" is not a valid bigint: not a number in decimal digits"),
                ("x", "\"x\" is not a valid bigint: not a number in decimal digits"),
            ],
        ),
        column(
            "decimal",
            &["-0.00", "123456789012345678901234567890.123456789"],
            &[
                (
                    "1e999999999",
                    "\"1e999999999\" is not a valid decimal: scale -999999999 is outside -131072 to 131072",
                ),
                (
                    "1e-999999999",
                    "\"1e-999999999\" is not a valid decimal: scale 999999999 is outside -131072 to 131072",
                ),
                (
                    "1e99999999999999999999",
                    "\"1e99999999999999999999\" is not a valid decimal: exponent isn't a whole number, or is past the limit of 131072",
                ),
                ("1..2", "\"1..2\" is not a valid decimal: not a number in decimal digits"),
            ],
        ),
        column(
            "char",
            &["é", "😀"],
            &[
                ("ab", "\"ab\" is not a valid char: too many characters in string"),
                ("e\u{301}", "\"e\\u{301}\" is not a valid char: too many characters in string"),
            ],
        ),
        column(
            "bytes",
            &["0x00ff"],
            &[
                ("AP8=", "\"AP8=\" is not a valid bytes: expected \\x or 0x before hexadecimal digits"),
                ("0x0", "\"0x0\" is not a valid bytes: odd number of hexadecimal digits"),
                ("0xzz", "\"0xzz\" is not a valid bytes: expected only hexadecimal digits after the prefix"),
                ("???", "\"???\" is not a valid bytes: expected \\x or 0x before hexadecimal digits"),
            ],
        ),
        column(
            "date",
            &["2024-02-29", "1950-7-23", "-0001-01-01"],
            &[
                ("2023-02-29", "\"2023-02-29\" is not a valid date: day 29 is outside 1 to 28"),
                ("2024-13-01", "\"2024-13-01\" is not a valid date: month 13 is outside 1 to 12"),
                (
                    "29.02.2024",
                    "\"29.02.2024\" is not a valid date: expected a year of 4 digits (longer ones have a sign) at byte 2, as in 2024-02-29",
                ),
                (
                    "999999999999-01-01",
                    "\"999999999999-01-01\" is not a valid date: expected a year of 4 digits (longer ones have a sign) at byte 4, as in 2024-02-29",
                ),
            ],
        ),
        column(
            "datetime",
            &["2024-02-29T23:59:59.999999999+18:00", "2024-02-29 12:00:00"],
            &[
                (
                    "2024-02-29T25:00:00",
                    "\"2024-02-29T25:00:00\" is not a valid datetime: hour 25 is outside 0 to 23",
                ),
                (
                    "2024-02-29T12:00:00+19:00",
                    "\"2024-02-29T12:00:00+19:00\" is not a valid datetime: offset in seconds 68400 is outside -64800 to 64800",
                ),
                (
                    "noon",
                    "\"noon\" is not a valid datetime: expected a year of 4 digits (longer ones have a sign) at byte 0, as in 2024-02-29T12:00:00.5+01:00",
                ),
            ],
        ),
        column(
            "datetime{epoch:milliseconds}",
            &["0", "-62135596800000", "1289241911728.5"],
            &[
                (
                    "9223372036854775807",
                    "\"9223372036854775807\" is not a valid datetime{epoch:milliseconds}: second since 1970 9223372036854775 is outside -185542587014400 to 185542587014400",
                ),
                (
                    "x",
                    "\"x\" is not a valid datetime{epoch:milliseconds}: expected a number of 64 bits, perhaps with a fraction",
                ),
                (
                    "1e3",
                    "\"1e3\" is not a valid datetime{epoch:milliseconds}: expected a number of 64 bits, perhaps with a fraction",
                ),
            ],
        ),
        column(
            "duration",
            &["P1Y2M3DT4H", "3 years 2 days", "-PT1S"],
            &[
                (
                    "P",
                    "\"P\" is not a valid duration: expected a number or T after P at byte 1, as in P1M2DT3.5S",
                ),
                (
                    "5 parsecs",
                    "\"5 parsecs\" is not a valid duration: expected P at byte 0, as in P1M2DT3.5S",
                ),
                (
                    "P99999999999999999999Y",
                    "\"P99999999999999999999Y\" is not a valid duration: expected a number of 1 to 18 digits at byte 19, as in P1M2DT3.5S",
                ),
            ],
        ),
        column(
            "uuid",
            &["a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"],
            &[
                ("a0eebc99", "\"a0eebc99\" is not a valid uuid: invalid length: found 8"),
                (
                    "g0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11",
                    "\"g0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11\" is not a valid uuid: invalid character: found `g` at 0",
                ),
            ],
        ),
        column(
            "int[]",
            &["1;2", "[1,2]", "[]"],
            &[
                (
                    "[1,,2]",
                    "\"[1,,2]\" is not a valid int[]: \"\" is not a valid int: expected digits with an optional sign",
                ),
                ("1;x", "\"x\" is not a valid int: expected digits with an optional sign"),
                ("[1", "\"[1\" is not a valid int: expected digits with an optional sign"),
                ("[1]]", "\"[1]]\" is not a valid int[]: something behind the last bracket at byte 4"),
                ("1;2147483648", "\"2147483648\" is not a valid int: outside -2147483648 to 2147483647"),
            ],
        ),
        column(
            "long[][]",
            &["[[1],[2,3]]", "[[]]"],
            &[
                ("[1]", "\"[1]\" is not a valid long[][]: expected '[' at byte 2"),
                ("[[1]", "\"[[1]\" is not a valid long[][]: expected ',' at byte 5"),
                (
                    "[[[1]]]",
                    "\"[[[1]]]\" is not a valid long[][]: \"[1\" is not a valid long: expected digits with an optional sign",
                ),
            ],
        ),
        column(
            "map",
            &["{a: 1, b: 'x'}", "{}", "{a=1}"],
            &[
                ("{a", "\"{a\" is not a valid map: expected one of ':' '=' ',' '}' behind byte 1"),
                ("a: 1", "\"a: 1\" is not a valid map: expected '{' at byte 1"),
                (
                    "{a: 1, a: 2}",
                    "\"{a: 1, a: 2}\" is not a valid map: the key a for the second time at byte 8",
                ),
                (
                    "{a: {b: [1}}",
                    "\"{a: {b: [1}}\" is not a valid map: expected one of ',' ']' behind byte 9",
                ),
            ],
        ),
        column(
            "any{form:graphson}",
            &["1", "\"a\"", "[1,{\"@type\":\"g:Int64\",\"@value\":7}]"],
            &[
                ("x", "\"x\" is not a valid any{form:graphson}: byte 0: expected a value, found `x`"),
                (
                    "{\"@type\":\"g:Int32\",\"@value\":\"x\"}",
                    "\"{\\\"@type\\\":\\\"g:Int32\\\",\\\"@value\\\":\\\"x\\\"}\" is not a valid any{form:graphson}: byte 28: expected a number, found `\"`",
                ),
                (
                    "[1",
                    "\"[1\" is not a valid any{form:graphson}: byte 2: expected , or ] after an element, found the end",
                ),
            ],
        ),
        column("string", &["", " ", "\u{0}\u{1}\u{7f}", "\u{feff}x"], &[]),
    ]);
}

#[test]
fn literals_nested_without_end_are_bad_rows_and_not_the_end_of_the_program() {
    let deep = |value_type: &str, open: &str, close: &str, why: &str| {
        let value = format!("{}1{}", open.repeat(50_000), close.repeat(50_000));
        let row: String = format!("1,{value}").chars().take(200).collect();
        let start: String = value.chars().take(40).collect();
        Case::new(format!("{value_type} {open}"))
            .file("a.csv", format!("id:ID,n:{value_type}\n1,\"{}\"\n2,\n", value.replace('"', "\"\"")))
            .loads(1, 0)
            .bad_row(
                &format!("a.csv:2: column 2 (n:{value_type}): {start:?}… is not a valid {value_type}: {why}"),
                &format!("{row}…"),
            )
    };
    let brackets = "[".repeat(40);
    run(vec![
        deep("map", "{a: ", "}", "more than 128 brackets inside one another at byte 513"),
        deep("map", "{a: [", "]}", "more than 128 brackets inside one another at byte 321"),
        deep("map", "{a: [", "", "more than 128 brackets inside one another at byte 321"),
        deep(
            "int[]",
            "[",
            "]",
            &format!("{brackets:?}… is not a valid int: expected digits with an optional sign"),
        ),
        deep(
            "long[][]",
            "[",
            "]",
            &format!("{brackets:?}… is not a valid long: expected digits with an optional sign"),
        ),
        deep("any{form:graphson}", "[", "]", "byte 128: a value is nested more than 128 deep"),
        deep(
            "any{form:graphson}",
            "{\"@type\":\"g:List\",\"@value\":[",
            "]}",
            "byte 3611: a value is nested more than 128 deep",
        ),
    ]);
}
