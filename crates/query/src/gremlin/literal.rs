//! Literals: numbers, strings and ranges as values.
//!
//! ```text
//! 1        i32, or the narrowest of i64 and big integer that holds it     0x1F  017  1_000
//! 1b 1s 1i 1l 1n      i8, i16, i32, i64, big integer
//! 1.5  1e5  1d  1f  1m    f64 (the first three), f32, decimal
//! 'a' "a"  \b \t \n \f \r \" \' \\ \101 \u00e9     a backslash before anything else is left out
//! 1..5  'a'..'e'      a list, from either end
//! ```
//!
//! Differs from TinkerPop, which reads `0x1b` as the byte 1, `017n` as 17, and 1e999 as infinity: here
//! they are 27, 15, and an error.

use std::borrow::Cow;

use crate::error::quoted;
use evergraph_graph::value::number::BigInteger;
use evergraph_graph::value::{Value, ValueType};
use num_bigint::BigInt;

/// Reads an integer as the lexer found it.
///
/// Cost: linear, and past 128 bits the square of the digits' count, which [`BigInteger`] bounds.
///
/// # Errors
/// If it is out of the range that its suffix names, or isn't in the digits that its beginning names.
pub fn integer(text: &str) -> Result<Value, String> {
    let (negative, body) = match text.as_bytes().first() {
        Some(b'-') => (true, &text[1..]),
        Some(b'+') => (false, &text[1..]),
        _ => (false, text),
    };
    let is_hexadecimal = body.len() > 2 && matches!(body.as_bytes()[1], b'x' | b'X');
    let (digits, suffix) = match body.as_bytes()[body.len() - 1].to_ascii_lowercase() {
        // In hexadecimal `b` is a digit.
        b'b' if is_hexadecimal => (body, None),
        suffix @ (b'b' | b's' | b'i' | b'l' | b'n') => (&body[..body.len() - 1], Some(suffix)),
        _ => (body, None),
    };
    let (digits, radix) = match digits.as_bytes() {
        [b'0', b'x' | b'X', ..] => (&digits[2..], 16),
        [b'0', _, ..] => (&digits[1..], 8),
        _ => (digits, 10),
    };
    let digits = without_underscores(digits);
    if digits.is_empty() || !digits.bytes().all(|digit| char::from(digit).is_digit(radix)) {
        let system = if radix == 16 { "0x promises hexadecimal digits" } else { "0 promises octal digits" };
        return Err(format!("{} is not a valid integer: a leading {system}", quoted(text)));
    }
    match small(negative, &digits, radix) {
        Some(number) => sized(number, suffix, text),
        None if matches!(suffix, None | Some(b'n')) => big(negative, &digits, radix).map(Value::BigInteger),
        None => Err(out_of_range(text, suffix)),
    }
}

/// The number, if 64 bits hold it.
fn small(negative: bool, digits: &str, radix: u32) -> Option<i64> {
    let magnitude = u64::from_str_radix(digits, radix).ok()?;
    if negative { 0_i64.checked_sub_unsigned(magnitude) } else { i64::try_from(magnitude).ok() }
}

fn sized(number: i64, suffix: Option<u8>, text: &str) -> Result<Value, String> {
    let value = match suffix {
        None => Some(i32::try_from(number).map_or(Value::I64(number), Value::I32)),
        Some(b'b') => i8::try_from(number).ok().map(Value::I8),
        Some(b's') => i16::try_from(number).ok().map(Value::I16),
        Some(b'i') => i32::try_from(number).ok().map(Value::I32),
        Some(b'n') => Some(Value::BigInteger(BigInteger::from(number))),
        Some(_) => Some(Value::I64(number)),
    };
    value.ok_or_else(|| out_of_range(text, suffix))
}

fn out_of_range(text: &str, suffix: Option<u8>) -> String {
    let (least, greatest) = match suffix {
        Some(b'b') => (i64::from(i8::MIN), i64::from(i8::MAX)),
        Some(b's') => (i64::from(i16::MIN), i64::from(i16::MAX)),
        Some(b'i') => (i64::from(i32::MIN), i64::from(i32::MAX)),
        _ => (i64::MIN, i64::MAX),
    };
    format!("{} is outside {least} to {greatest}", quoted(text))
}

fn big(negative: bool, digits: &str, radix: u32) -> Result<BigInteger, String> {
    if radix == 10 {
        let signed = format!("{}{digits}", if negative { "-" } else { "" });
        return signed.parse().map_err(|error| format!("{error}"));
    }
    let magnitude = BigInt::parse_bytes(digits.as_bytes(), radix).expect("the caller checked the digits");
    BigInteger::new(if negative { -magnitude } else { magnitude }).map_err(|error| error.to_string())
}

/// Reads a number with a point, an exponent or the suffix of a float, as the lexer found it.
///
/// # Errors
/// If it would be rounded to infinity, or a decimal has more digits than [`Value`] holds.
pub fn float(text: &str) -> Result<Value, String> {
    let (body, value_type) = match text.as_bytes()[text.len() - 1] {
        b'f' | b'F' => (&text[..text.len() - 1], ValueType::F32),
        b'd' | b'D' => (&text[..text.len() - 1], ValueType::F64),
        b'm' | b'M' => (&text[..text.len() - 1], ValueType::Decimal),
        _ => (text, ValueType::F64),
    };
    Value::parse(&without_underscores(body), value_type)
        .map_err(|error| format!("{} is not a valid {value_type}: {}", quoted(text), error.reason))
}

fn without_underscores(digits: &str) -> Cow<'_, str> {
    if digits.contains('_') { Cow::Owned(digits.replace('_', "")) } else { Cow::Borrowed(digits) }
}

/// Resolves the escapes of what stands between the quotes of a string.
///
/// # Errors
/// The offset and what is wrong there: `\u` without four digits, or half of a surrogate pair.
pub fn string(raw: &str) -> Result<Cow<'_, str>, (usize, String)> {
    if !raw.contains('\\') {
        return Ok(Cow::Borrowed(raw));
    }
    let mut text = String::with_capacity(raw.len());
    let mut rest = raw;
    while let Some(at) = rest.find('\\') {
        text.push_str(&rest[..at]);
        rest = &rest[at..];
        let offset = raw.len() - rest.len();
        let (meant, length) = escape(rest).map_err(|reason| (offset, reason))?;
        text.extend(meant);
        rest = &rest[length..];
    }
    text.push_str(rest);
    Ok(Cow::Owned(text))
}

/// The character that the escape at the start of `text` means, and the bytes that it takes.
fn escape(text: &str) -> Result<(Option<char>, usize), String> {
    let bytes = text.as_bytes();
    Ok(match bytes.get(1) {
        Some(b'b') => (Some('\u{8}'), 2),
        Some(b't') => (Some('\t'), 2),
        Some(b'n') => (Some('\n'), 2),
        Some(b'f') => (Some('\u{c}'), 2),
        Some(b'r') => (Some('\r'), 2),
        Some(b'\\') => (Some('\\'), 2),
        Some(b'0'..=b'7') => {
            // Three digits only up to 377, which is 255.
            let longest = if bytes[1] <= b'3' { 3 } else { 2 };
            let digits =
                bytes[1..].iter().take(longest).take_while(|byte| (b'0'..=b'7').contains(byte)).count();
            let code = bytes[1..=digits].iter().fold(0_u32, |code, byte| code * 8 + u32::from(byte - b'0'));
            (char::from_u32(code), 1 + digits)
        }
        Some(b'u') => {
            let (unit, length) = code_unit(text)?;
            if !(0xd800..0xe000).contains(&unit) {
                return Ok((char::from_u32(unit), length));
            }
            let low = text.get(length..).filter(|rest| rest.starts_with("\\u")).map(code_unit).transpose()?;
            match low {
                Some((low, low_length)) if unit < 0xdc00 && (0xdc00..0xe000).contains(&low) => {
                    let code = 0x1_0000 + ((unit - 0xd800) << 10) + (low - 0xdc00);
                    (char::from_u32(code), length + low_length)
                }
                _ => return Err(format!("\\u{unit:04x} is half of a surrogate pair")),
            }
        }
        // The backslash goes, what follows stays: quotes, the end of a line, anything.
        _ => (None, 1),
    })
}

/// The UTF-16 code unit of `\u0041`, in which `u` may be repeated, and the bytes that it takes.
fn code_unit(text: &str) -> Result<(u32, usize), String> {
    let marks = 1 + text.bytes().skip(1).take_while(|byte| *byte == b'u').count();
    let digits =
        text.get(marks..marks + 4).filter(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()));
    let digits = digits.ok_or("expected four hexadecimal digits after \\u")?;
    Ok((u32::from_str_radix(digits, 16).expect("these are four hexadecimal digits"), marks + 4))
}

/// The integers of `first..last`, both among them, in the order of the range.
///
/// # Errors
/// If an end is no 32-bit integer, or there would be more than `items_max`.
pub fn integer_range(first: &Value, last: &Value, items_max: usize) -> Result<Vec<Value>, RangeError> {
    let (Value::I32(first), Value::I32(last)) = (first, last) else {
        return Err(RangeError::Ends("the ends of a range are integers of 32 bits"));
    };
    let count =
        usize::try_from(first.abs_diff(*last)).map_or(usize::MAX, |difference| difference.saturating_add(1));
    if count > items_max {
        return Err(RangeError::TooWide);
    }
    let ascending = *first.min(last)..=*first.max(last);
    Ok(if first <= last {
        ascending.map(Value::I32).collect()
    } else {
        ascending.rev().map(Value::I32).collect()
    })
}

/// The strings of `'a'..'e'`, which differ in their last character.
///
/// # Errors
/// If the ends differ elsewhere, or there would be more than `items_max`.
pub fn string_range(first: &str, last: &str, items_max: usize) -> Result<Vec<Value>, RangeError> {
    let split = |text: &str| text.char_indices().next_back();
    let (Some((at, from)), Some((last_at, to))) = (split(first), split(last)) else {
        if first.len() == last.len() {
            return Ok(Vec::new());
        }
        return Err(RangeError::Ends("the ends of a range of strings have the same length"));
    };
    let stem = &first[..at];
    if stem != &last[..last_at] {
        return Err(RangeError::Ends("the ends of a range of strings differ in their last character only"));
    }
    let ascending = from.min(to)..=from.max(to);
    if ascending.clone().count() > items_max {
        return Err(RangeError::TooWide);
    }
    let text = |character: char| Value::from(format!("{stem}{character}"));
    Ok(if from <= to { ascending.map(text).collect() } else { ascending.rev().map(text).collect() })
}

/// Why a range is no list.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RangeError {
    /// What its ends should be.
    Ends(&'static str),
    /// It has more items than may be.
    TooWide,
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn big_integer(text: &str) -> Value {
        Value::BigInteger(text.parse().expect(text))
    }

    #[test]
    fn integers_have_the_width_that_they_name_or_need() {
        for (text, value) in [
            ("0", Value::I32(0)),
            ("-2147483648", Value::I32(i32::MIN)),
            ("2147483648", Value::I64(2_147_483_648)),
            ("9223372036854775808", big_integer("9223372036854775808")),
            ("-128b", Value::I8(-128)),
            ("+7S", Value::I16(7)),
            ("1i", Value::I32(1)),
            ("1L", Value::I64(1)),
            ("1n", big_integer("1")),
            ("1_000", Value::I32(1000)),
            ("0x1b", Value::I32(27)),
            ("-0xFFl", Value::I64(-255)),
            ("0xFFFFFFFFFFFFFFFFF", big_integer("295147905179352825855")),
            ("017", Value::I32(15)),
            ("0_17n", big_integer("15")),
            ("-9223372036854775808", Value::I64(i64::MIN)),
        ] {
            assert_eq!(integer(text), Ok(value), "{text}");
        }
    }

    #[test]
    fn integers_out_of_range_and_wrong_digits_are_refused() {
        let refused = |text: &str| integer(text).expect_err(text);
        assert_eq!(refused("128b"), "`128b` is outside -128 to 127");
        assert_eq!(refused("2147483648i"), "`2147483648i` is outside -2147483648 to 2147483647");
        let long = "9".repeat(50) + "l";
        let start = "9".repeat(40);
        assert_eq!(refused(&long), format!("`{start}…` is outside {} to {}", i64::MIN, i64::MAX));
        assert_eq!(refused("089"), "`089` is not a valid integer: a leading 0 promises octal digits");
        assert_eq!(refused("0x"), "`0x` is not a valid integer: a leading 0x promises hexadecimal digits");
        assert_eq!(refused("0x_"), "`0x_` is not a valid integer: a leading 0x promises hexadecimal digits");
        assert_eq!(
            refused(&"9".repeat(1_000_000)),
            "1000000 digits are past the limit of 524288 bits (157,826 digits)"
        );
        assert!(refused(&format!("0x{}", "f".repeat(1_000_000))).starts_with("a number of 4000000 bits"));
    }

    #[test]
    fn floats_have_the_type_of_their_suffix() {
        assert_eq!(float("1.5"), Ok(Value::F64(1.5)));
        assert_eq!(float("-1e3d"), Ok(Value::F64(-1000.0)));
        assert_eq!(float("1_0.2_5f"), Ok(Value::F32(10.25)));
        assert_eq!(float("12.50M").unwrap().to_string(), "12.50");
        assert_eq!(float("1e999"), Err("`1e999` is not a valid double: too large for this type".to_owned()));
        assert!(float("1e1000000000m").unwrap_err().contains("scale -1000000000 is outside"));
    }

    #[test]
    fn escapes_mean_what_they_mean_in_java() {
        for (raw, text) in [
            (r"a\tb\n\b\f\r", "a\tb\n\u{8}\u{c}\r"),
            (r#"\"\'\\"#, "\"'\\"),
            (r"\101\60\0\400", "A0\0 0"),
            (r"\u00e9\uu0041\uD83D\uDE00", "éA😀"),
            ("a\\\nb", "a\nb"),
            (r"\q\é", "qé"),
        ] {
            assert_eq!(string(raw).expect(raw), text, "{raw}");
        }
        assert!(matches!(string("plain"), Ok(Cow::Borrowed("plain"))));
        let four = "expected four hexadecimal digits after \\u".to_owned();
        for raw in [r"ab\u12", r"ab\u12é4", r"ab\uuu", r"ab\u+123"] {
            assert_eq!(string(raw), Err((2, four.clone())), "{raw}");
        }
        assert_eq!(string(r"\uDE00"), Err((0, "\\ude00 is half of a surrogate pair".to_owned())));
        assert_eq!(string(r"\uD83D\u0041"), Err((0, "\\ud83d is half of a surrogate pair".to_owned())));
    }

    #[test]
    fn ranges_go_both_ways_and_are_bounded() {
        let integers = |numbers: &[i32]| Ok(numbers.iter().copied().map(Value::I32).collect::<Vec<_>>());
        assert_eq!(integer_range(&Value::I32(1), &Value::I32(3), 3), integers(&[1, 2, 3]));
        assert_eq!(integer_range(&Value::I32(1), &Value::I32(-1), 3), integers(&[1, 0, -1]));
        assert_eq!(integer_range(&Value::I32(1), &Value::I32(4), 3), Err(RangeError::TooWide));
        assert_eq!(
            integer_range(&Value::I32(i32::MIN), &Value::I32(i32::MAX), 1 << 20),
            Err(RangeError::TooWide)
        );
        assert!(matches!(integer_range(&Value::I64(1), &Value::I32(2), 9), Err(RangeError::Ends(_))));
        let strings = |texts: &[&str]| Ok(texts.iter().copied().map(Value::from).collect::<Vec<_>>());
        assert_eq!(string_range("xa", "xc", 9), strings(&["xa", "xb", "xc"]));
        assert_eq!(string_range("c", "a", 9), strings(&["c", "b", "a"]));
        assert_eq!(string_range("", "", 9), strings(&[]));
        assert_eq!(string_range("\0", "\u{10ffff}", 1000), Err(RangeError::TooWide));
        for (first, last) in [("a", ""), ("aa", "bb"), ("a", "ab")] {
            assert!(matches!(string_range(first, last, 9), Err(RangeError::Ends(_))), "{first} {last}");
        }
    }

    proptest! {
        #[test]
        fn any_integer_is_read_from_its_digits_in_any_base(number in any::<i64>()) {
            let (sign, size) = (if number < 0 { "-" } else { "" }, number.unsigned_abs());
            for text in [format!("{sign}{size}l"), format!("{sign}0x{size:x}l"), format!("{sign}0{size:o}l")] {
                prop_assert_eq!(integer(&text), Ok(Value::I64(number)), "{}", text);
            }
        }

        #[test]
        fn any_raw_text_is_a_string_or_an_error_inside_it(raw in r#"(\\|u|[0-9a-f]|é|"|.){0,12}"#) {
            if let Err((offset, _)) = string(&raw) {
                prop_assert!(raw[offset..].starts_with('\\'));
            }
        }
    }
}
