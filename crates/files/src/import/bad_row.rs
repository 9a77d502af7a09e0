//! Bad row: a row that cannot be loaded, and what is wrong with it.

use std::fmt;

/// Characters of a bad row that are kept.
const TEXT_CHARACTERS_MAX: usize = 200;

/// A row that cannot be loaded.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BadRow {
    /// The file, as errors name it.
    pub file: String,
    /// The line where the row begins, counted from 1.
    pub line: u64,
    /// What is wrong.
    pub fault: Fault,
}

/// What is wrong with a row.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fault {
    /// The column it is about; `None` if it is about the row.
    pub column: Option<FaultyColumn>,
    /// Why the row can't be loaded.
    pub reason: String,
    /// The row's text, shortened: the line, or the fields of a CSV record with delimiters between.
    pub text: String,
}

/// The column that a fault is about.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FaultyColumn {
    /// Its number, counted from 1.
    pub number: usize,
    /// What the header calls it.
    pub name: String,
}

impl Fault {
    /// A fault of column `index`, counted from 0, which the header calls `name`.
    #[must_use]
    pub fn of_column(index: usize, name: &str, reason: String, text: &[u8]) -> Self {
        let column = Some(FaultyColumn { number: index + 1, name: name.to_owned() });
        Self { column, ..Self::of_row(reason, text) }
    }

    /// A fault of a row as a whole.
    #[must_use]
    pub fn of_row(reason: String, text: &[u8]) -> Self {
        // A character takes four bytes at most: no need to look at megabytes.
        let start = String::from_utf8_lossy(&text[..text.len().min(4 * TEXT_CHARACTERS_MAX + 4)]);
        let mut kept: String = start.chars().take(TEXT_CHARACTERS_MAX).collect();
        if kept.len() < text.len() && kept.chars().count() == TEXT_CHARACTERS_MAX {
            kept.push('…');
        }
        Self { column: None, reason, text: kept }
    }
}

impl fmt::Display for BadRow {
    /// Writes `file:line: column 3 (born:int): what is wrong`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: ", self.file, self.line)?;
        if let Some(FaultyColumn { number, name }) = &self.fault.column {
            write!(f, "column {number} ({name}): ")?;
        }
        f.write_str(&self.fault.reason)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_row_is_shortened_by_whole_characters() {
        let fault = Fault::of_row(String::new(), "é".repeat(100_000).as_bytes());
        assert_eq!(fault.text, format!("{}…", "é".repeat(TEXT_CHARACTERS_MAX)));
        let whole = "é".repeat(TEXT_CHARACTERS_MAX);
        assert_eq!(Fault::of_row(String::new(), whole.as_bytes()).text, whole);
    }
}
