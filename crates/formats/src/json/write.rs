//! JSON writer: strings with their escapes. All other JSON is written by the callers.

use std::fmt::Write;

/// Appends `text` in quotes. Only what must be escaped is: quotes, backslashes, control characters.
pub fn write_string(json: &mut String, text: &str) {
    json.push('"');
    let mut plain = text;
    while let Some(place) = plain.bytes().position(|byte| byte < 0x20 || byte == b'"' || byte == b'\\') {
        json.push_str(&plain[..place]);
        match plain.as_bytes()[place] {
            b'"' => json.push_str("\\\""),
            b'\\' => json.push_str("\\\\"),
            b'\n' => json.push_str("\\n"),
            b'\r' => json.push_str("\\r"),
            b'\t' => json.push_str("\\t"),
            control => write!(json, "\\u{control:04x}").expect("a string takes all that is written to it"),
        }
        plain = &plain[place + 1..];
    }
    json.push_str(plain);
    json.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn only_what_must_be_escaped_is() {
        let mut json = String::new();
        write_string(&mut json, "é\"\\\n\u{1}\u{7f}/");
        assert_eq!(json, "\"é\\\"\\\\\\n\\u0001\u{7f}/\"");
    }

    proptest! {
        #[test]
        fn another_reader_reads_the_string_back(text in "(.|\"|\\\\|[\\x00-\\x1f]){0,12}") {
            let mut json = String::new();
            write_string(&mut json, &text);
            prop_assert_eq!(serde_json::from_str::<String>(&json).unwrap(), text);
        }
    }
}
