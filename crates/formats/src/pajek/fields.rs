//! Fields: one line of a Pajek file as words and quoted texts, with their columns.
//!
//! ```text
//! 1 "Vert 1" 0.5 [1-7]      1, Vert 1, 0.5, [1-7]
//! ```

/// A word, or a text in quotes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Field<'a> {
    /// Its text, without quotes.
    pub text: &'a str,
    /// The byte of the line where it begins, from 1.
    pub column: u64,
}

/// The fields of `line`. A quote that isn't closed ends with the line.
pub fn fields(line: &str) -> impl Iterator<Item = Field<'_>> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let rest = &line[at..];
        let start = at + (rest.len() - rest.trim_ascii_start().len());
        let rest = &line[start..];
        let column = start as u64 + 1;
        let first = rest.bytes().next()?;
        if first == b'"' {
            let inner = &rest[1..];
            let end = inner.find('"').unwrap_or(inner.len());
            at = (start + 1 + end + 1).min(line.len());
            return Some(Field { text: &inner[..end], column });
        }
        let end = rest.find(|letter: char| letter.is_ascii_whitespace()).unwrap_or(rest.len());
        at = start + end;
        Some(Field { text: &rest[..end], column })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_quoted_texts_are_told_apart() {
        let found = |line| fields(line).map(|field| (field.text, field.column)).collect::<Vec<_>>();
        assert_eq!(found(" 1 \"Vert 1\"0.5\t[1-7]  "), [("1", 2), ("Vert 1", 4), ("0.5", 12), ("[1-7]", 16)]);
        assert_eq!(found("1 \"open é"), [("1", 1), ("open é", 3)]);
        assert_eq!(found("\"\""), [("", 1)]);
        assert_eq!(found("\""), [("", 1)]);
        assert_eq!(found("  "), []);
    }
}
