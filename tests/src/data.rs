//! Data: files of data sets as text, and what is in it.

use flate2::read::MultiGzDecoder;
use std::fs::{self, File};
use std::io::Read as _;
use std::path::Path;
use std::str::FromStr;

/// The text of a file, unpacked if its name ends in `gz`.
///
/// # Panics
/// If it can't be read, or is empty.
#[must_use]
pub fn read_text(path: &Path) -> String {
    let mut text = String::new();
    if path.extension().is_some_and(|extension| extension == "gz") {
        MultiGzDecoder::new(File::open(path).unwrap()).read_to_string(&mut text).unwrap();
    } else {
        text = fs::read_to_string(path).unwrap();
    }
    assert!(!text.is_empty(), "{} is empty", path.display());
    text
}

/// The part of a JSON text that belongs to `key`: between the bracket behind it and that bracket's end.
/// Enough for files of counts, which have no brackets in their strings.
///
/// # Panics
/// If the key isn't there, or no bracket follows it.
#[must_use]
pub fn json_section<'a>(text: &'a str, key: &str) -> &'a str {
    let (_, rest) = text.split_once(&format!("\"{key}\"")).unwrap_or_else(|| panic!("no {key}"));
    let start = rest.find(['{', '[']).unwrap();
    let mut depth = 0;
    for (at, byte) in rest.bytes().enumerate().skip(start) {
        match byte {
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return &rest[start + 1..at];
        }
    }
    panic!("{key} has no end");
}

/// The strings and numbers of a JSON text, in their order, without quotes; keys are among them.
#[must_use]
pub fn json_atoms(section: &str) -> Vec<&str> {
    let atoms = section.split([',', ':', '[', ']', '{', '}']).map(|atom| atom.trim().trim_matches('"'));
    atoms.filter(|atom| !atom.is_empty()).collect()
}

/// Names and numbers of a section of a file of counts.
///
/// # Panics
/// If there is no such section, or a name has no number of the kind that is wanted.
#[must_use]
pub fn json_counts<N: FromStr>(text: &str, section: &str) -> Vec<(String, N)> {
    let atoms = json_atoms(json_section(text, section));
    let count = |text: &str| text.parse().unwrap_or_else(|_| panic!("{text} is a count"));
    atoms.chunks(2).map(|pair| (pair[0].to_owned(), count(pair[1]))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_section_ends_with_its_own_bracket() {
        let text = r#"{"a": {"b": 1, "c": [2, 3]}, "d": [["x", 4], ["y", 5]]}"#;
        assert_eq!(json_atoms(json_section(text, "a")), ["b", "1", "c", "2", "3"]);
        assert_eq!(json_atoms(json_section(text, "d")), ["x", "4", "y", "5"]);
        assert_eq!(json_counts::<u8>(text, "d"), [("x".to_owned(), 4), ("y".to_owned(), 5)]);
    }
}
