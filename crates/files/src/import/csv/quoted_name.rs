//! Quoted name: names with special characters in text files.
//!
//! ```text
//! born                 born
//! a:b (c)              "a\u003ab\u0020\u0028c\u0029"
//! ```
//!
//! In a header a name ends at `:`, and blanks around it don't count; labels end at `;`. A name that
//! isn't made of letters, digits, `_`, `-` and `.` alone is written as a JSON string in which every
//! other character is escaped: whoever splits the text finds nothing to split by.

use evergraph_formats::json::read::JsonReader;
use std::borrow::Cow;
use std::fmt::Write;

/// The name that stands in `text`; `None` if it is no quoted one.
#[must_use]
pub fn read(text: &str) -> Option<String> {
    if !text.starts_with('"') {
        return None;
    }
    let mut reader = JsonReader::new(text.as_bytes());
    let name = reader.read_string().ok()?.into_owned();
    reader.finish().ok().map(|()| name)
}

/// `name` as [`read`] reads it back, in quotes only if it needs them.
#[must_use]
pub fn write(name: &str) -> Cow<'_, str> {
    if !name.is_empty() && name.chars().all(is_plain) {
        return Cow::Borrowed(name);
    }
    let mut text = String::from("\"");
    for letter in name.chars() {
        if is_plain(letter) {
            text.push(letter);
            continue;
        }
        for unit in letter.encode_utf16(&mut [0; 2]) {
            write!(text, "\\u{unit:04x}").expect("a string takes all that is written to it");
        }
    }
    text.push('"');
    Cow::Owned(text)
}

fn is_plain(letter: char) -> bool {
    letter.is_alphanumeric() || matches!(letter, '_' | '-' | '.')
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn plain_names_stay_as_they_are_and_others_have_nothing_to_split_by() {
        assert_eq!(write("größe_2.0-b"), "größe_2.0-b");
        assert_eq!(write("a:b (c)"), r#""a\u003ab\u0020\u0028c\u0029""#);
        assert_eq!(write("😀"), r#""\ud83d\ude00""#);
        assert_eq!(write(""), r#""""#);
        assert_eq!(read("name"), None);
        assert_eq!(read(r#""half"#), None);
        assert_eq!(read(r#""a" b"#), None);
    }

    proptest! {
        #[test]
        fn every_name_comes_back(name in ".{0,6}") {
            let text = write(&name);
            prop_assert!(!text.contains([':', ';', ',', '{', '(', ' ', '\n', '|', '\t']), "{text}");
            prop_assert_eq!(read(&text).unwrap_or_else(|| text.to_string()), name);
        }
    }
}
