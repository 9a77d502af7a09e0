//! Encode: writes the class, content and type of a value, so that the bytes sort as values do.

use crate::value::Value;
use crate::value::order::class_of;
use crate::value::order_bytes::number::put_number;
use crate::value::order_bytes::writer::Writer;

/// Ends a text, and the values of a collection: below every class, and every byte of a text but an escaped 0.
pub(super) const END: u8 = 0;
/// Behind a 0 that is a text's own: above every type code, which stands behind the end.
pub(super) const ESCAPE: u8 = 0xff;
/// Added to the mean nanoseconds of a duration, which are within 2^94 of zero.
pub(super) const DURATION_BIAS: i128 = 1 << 95;

/// Appends the order bytes of `value`.
pub(super) fn put_value(writer: &mut Writer, value: &Value) {
    put_content(writer, value);
    writer.push(value.value_type().code());
}

/// Appends them without the type: the same for values of equal content.
pub(super) fn put_content(writer: &mut Writer, value: &Value) {
    writer.push(class_of(value) as u8);
    match value {
        Value::Bool(truth) => writer.push(u8::from(*truth)),
        Value::Char(char) => put_text(writer, char.encode_utf8(&mut [0; 4]).as_bytes()),
        Value::String(text) => put_text(writer, text.as_bytes()),
        Value::Bytes(bytes) => put_text(writer, bytes),
        Value::Date(date) => put_i32(writer, date.days()),
        Value::DateTime(moment) => {
            writer.extend(&(moment.seconds().cast_unsigned() ^ 1 << 63).to_be_bytes());
            writer.extend(&moment.nanoseconds().to_be_bytes());
            put_i32(writer, moment.offset_seconds());
        }
        Value::Duration(duration) => {
            writer.extend(&(duration.mean_nanoseconds() + DURATION_BIAS).to_be_bytes()[4..]);
            put_i32(writer, duration.months());
            put_i32(writer, duration.days());
        }
        Value::Uuid(uuid) => writer.extend(uuid.as_bytes()),
        Value::List(list) => put_values(writer, list.as_slice()),
        Value::Set(set) => put_values(writer, set.as_slice()),
        Value::Map(map) => {
            put_values(writer, map.as_slice().iter().flat_map(|(key, value)| [key, value]));
        }
        Value::I8(_)
        | Value::I16(_)
        | Value::I32(_)
        | Value::I64(_)
        | Value::F32(_)
        | Value::F64(_)
        | Value::BigInteger(_)
        | Value::Decimal(_) => put_number(writer, value.as_number().expect("these types are numbers")),
    }
}

fn put_i32(writer: &mut Writer, number: i32) {
    writer.extend(&(number.cast_unsigned() ^ 1 << 31).to_be_bytes());
}

fn put_text(writer: &mut Writer, text: &[u8]) {
    for part in text.split_inclusive(|byte| *byte == END) {
        writer.extend(part);
        if part.last() == Some(&END) {
            writer.push(ESCAPE);
        }
    }
    writer.push(END);
}

fn put_values<'a>(writer: &mut Writer, values: impl IntoIterator<Item = &'a Value>) {
    values.into_iter().for_each(|value| put_value(writer, value));
    writer.push(END);
}

#[cfg(test)]
mod tests {
    use crate::value::Value;
    use crate::value::collection::{List, Map, Set};
    use crate::value::number::{BigInteger, Decimal};
    use crate::value::order_bytes::lengths::{LONG_BYTES, LONG_PREFIX_BYTES, WHOLE_BYTES_MAX};
    use crate::value::order_bytes::value_bytes::ValueBytes;
    use crate::value::strategy::{any_scalar, any_value, number};
    use crate::value::value_type::ValueType;
    use proptest::prelude::*;
    use std::cmp::Ordering;

    fn hex(value: &Value) -> String {
        format!("{:?}", ValueBytes::of(value))
    }

    /// Format version 1. A change of any of these bytes makes stored indexes useless.
    #[test]
    fn each_type_has_the_bytes_of_version_1() -> Result<(), Box<dyn std::error::Error>> {
        let parse = Value::parse;
        let golden: Vec<(Value, &str)> = vec![
            (false.into(), "080001"),
            (true.into(), "080101"),
            (f64::NEG_INFINITY.into(), "101007"),
            (parse("-1e-9", ValueType::Decimal)?, "107cec8ed02ed8945a68d0800007f4ff09"),
            (Value::from(-2_i8), "105dff02"),
            (Value::from(-0.0_f64), "108007"),
            (Value::from(0_i64), "108005"),
            (Value::from("0.1".parse::<Decimal>()?), "109e99cd673399cd6733998000000b0009"),
            (Value::from(0.1_f64), "109e99cd673399cd674007"),
            (Value::from(1_i16), "10a20003"),
            (Value::from(1.5_f32), "10a28006"),
            (Value::from(0x0102_0304_i32), "10ba0301c18004"),
            (Value::from(i64::MAX), "10e0fffffffffffffffffc05"),
            (Value::from(BigInteger::from(u64::MAX)), "10e1fffffffffffffffffe08"),
            (
                Value::from(BigInteger::from(i128::MAX)),
                "10e280007effffffffffffffffff80002712022a13233d2f5d204a11581f2610592a0649470008",
            ),
            (f32::NAN.into(), "10f106"),
            ('€'.into(), "18e282ac000a"),
            ("a\0é".into(), "186100ffc3a9000b"),
            (Value::from(vec![0_u8, 255]), "2000ffff000c"),
            (parse("2024-02-29", ValueType::Date)?, "2880004d460d"),
            (
                parse("2024-02-29T13:00:00.5+01:00", ValueType::DateTime)?,
                "308000000065e071c01dcd650080000e100e",
            ),
            (parse("P1M-2DT3.5S", ValueType::Duration)?, "38800000000008ba95222db700800000017ffffffe0f"),
            (
                parse("00112233-4455-6677-8899-aabbccddeeff", ValueType::Uuid)?,
                "4000112233445566778899aabbccddeeff10",
            ),
            (List::new(vec![1_i8.into(), "a".into()])?.into(), "4810a200021861000b0011"),
            (Set::new(vec![true.into(), false.into()])?.into(), "500800010801010012"),
            (Map::new(vec![("a".into(), List::default().into())])?.into(), "581861000b4800110013"),
        ];
        for (value, bytes) in &golden {
            assert_eq!(hex(value), *bytes, "{value}");
        }
        assert_eq!(hex(&"x".repeat(60).into()), format!("18{}000b", "78".repeat(60)));
        let long = format!("18{}d8be1eadf216fbb60922a9930781d3ea", "78".repeat(47));
        assert_eq!(hex(&"x".repeat(61).into()), long);
        Ok(())
    }

    #[test]
    fn a_form_of_64_bytes_is_long_and_one_of_63_is_whole() {
        let text = |length: usize| ValueBytes::of(&Value::from("x".repeat(length)));
        let (whole, long) = (text(WHOLE_BYTES_MAX - 3), text(WHOLE_BYTES_MAX - 2));
        assert_eq!((whole.as_slice().len(), whole.is_long()), (WHOLE_BYTES_MAX, false));
        assert_eq!((long.as_slice().len(), long.is_long()), (LONG_BYTES, true));
        assert_eq!(whole.as_slice()[..LONG_PREFIX_BYTES], long.as_slice()[..LONG_PREFIX_BYTES]);
        assert_eq!(text(1 << 20).as_slice().len(), LONG_BYTES);
        assert_ne!(text(1000), text(1001));
    }

    #[test]
    fn the_largest_numbers_are_encoded() {
        let number = |text: &str| Value::from(text.parse::<Decimal>().unwrap());
        let nines = "9".repeat(157_000);
        let ascending = [
            number(&format!("-{nines}e131072")),
            number("-1e131072"),
            number("-1e-131072"),
            number("0"),
            number(&format!("{nines}e-131072")),
            number("1e131072"),
            number(&format!("{nines}e131072")),
        ];
        let bytes: Vec<_> = ascending.iter().map(ValueBytes::of).collect();
        assert!(bytes.is_sorted_by(|left, right| left < right), "{bytes:?}");
    }

    /// Checks that bytes are ordered as values are, as far as they tell.
    fn check_order(left: &Value, right: &Value) -> Result<(), TestCaseError> {
        let (left_bytes, right_bytes) = (ValueBytes::of(left), ValueBytes::of(right));
        if left_bytes.is_long() || right_bytes.is_long() {
            let prefix =
                |bytes: &ValueBytes| bytes.as_slice().iter().take(LONG_PREFIX_BYTES).copied().collect();
            let (left_prefix, right_prefix): (Vec<u8>, Vec<u8>) = (prefix(&left_bytes), prefix(&right_bytes));
            if left_prefix != right_prefix {
                prop_assert_eq!(left_bytes.cmp(&right_bytes), left.cmp(right));
            }
            prop_assert_eq!(left_bytes == right_bytes, left == right);
            return Ok(());
        }
        prop_assert_eq!(left_bytes.cmp(&right_bytes), left.cmp(right), "{:?} {:?}", left_bytes, right_bytes);
        // No form begins another: what follows never decides between two values.
        let follow = |bytes: &ValueBytes, next: u8| [bytes.as_slice(), &[next]].concat();
        if left != right {
            let order = left.cmp(right);
            prop_assert_eq!(follow(&left_bytes, 0).cmp(&follow(&right_bytes, 255)), order);
            prop_assert_eq!(follow(&left_bytes, 255).cmp(&follow(&right_bytes, 0)), order);
        }
        Ok(())
    }

    /// Decimals and big integers whose first 64 bits are those of others.
    fn near_number() -> impl Strategy<Value = Value> {
        let base =
            prop_oneof![Just("1"), Just("9007199254740993"), Just("18446744073709551615"), Just("0.1")];
        let tail =
            prop_oneof![Just(""), Just("0"), Just("00000001"), Just("0000000000000000000001"), Just("5")];
        (base, tail, any::<bool>(), -2..2_i32).prop_map(|(base, tail, negative, exponent)| {
            let point = if base.contains('.') { "" } else { "." };
            let sign = if negative { "-" } else { "" };
            let decimal: Decimal = format!("{sign}{base}{point}{tail}e{exponent}").parse().expect("a number");
            let (digits, scale) = decimal.to_canonical_parts();
            match scale {
                0 => BigInteger::new(digits).expect("few bits").into(),
                _ => decimal.into(),
            }
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(1500))]

        #[test]
        fn bytes_are_ordered_as_values_are(left in any_value(), right in any_value()) {
            check_order(&left, &right)?;
        }

        #[test]
        fn bytes_are_ordered_as_scalars_are(left in any_scalar(), right in any_scalar()) {
            check_order(&left, &right)?;
        }

        #[test]
        fn bytes_are_ordered_as_numbers_are(
            left in prop_oneof![number(), near_number()], right in prop_oneof![number(), near_number()],
        ) {
            check_order(&left, &right)?;
        }

        #[test]
        fn a_text_is_ordered_by_its_bytes(
            left in proptest::collection::vec(prop_oneof![Just(0_u8), Just(1), Just(255)], 0..5),
            right in proptest::collection::vec(prop_oneof![Just(0_u8), Just(1), Just(255)], 0..5),
        ) {
            check_order(&left.clone().into(), &right.clone().into())?;
            let list = |bytes: &[u8]| Value::from(List::new(vec![bytes.into(), false.into()]).unwrap());
            check_order(&list(&left), &list(&right))?;
        }

        #[test]
        fn long_texts_are_ordered_by_their_beginning(
            left in "[ab]{0,3}", right in "[ab]{0,3}", length in 40..50_usize, tail in "[ab]{20}",
        ) {
            let text = |end: &str| Value::from(format!("{}{end}{tail}", "x".repeat(length)));
            check_order(&text(&left), &text(&right))?;
            let whole = Value::from(format!("{}{left}", "x".repeat(length)));
            check_order(&whole, &text(&right))?;
        }
    }

    #[test]
    fn equal_values_of_other_forms_have_equal_bytes() {
        let decimal = |text: &str| Value::from(text.parse::<Decimal>().unwrap());
        for (left, right) in [
            (Value::from(-0.0), Value::from(0.0)),
            (Value::from(-f64::NAN), Value::from(f64::NAN)),
            (decimal("1.00"), decimal("1")),
            (decimal("0e9"), decimal("0")),
            (decimal("-12e2"), decimal("-1200")),
        ] {
            assert_eq!(left.cmp(&right), Ordering::Equal);
            assert_eq!(ValueBytes::of(&left), ValueBytes::of(&right), "{left}");
        }
    }
}
