//! Told: a section as a Markdown table, ready to be pasted where figures are kept.

use crate::bench::section::Section;
use serde::Serialize;
use std::fmt;

/// A section, and the table that people read in place of the list of its figures.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Told {
    /// The figures, for programs, and the notes.
    pub section: Section,
    /// Names of columns: words in the first, numbers in the others.
    pub columns: Vec<&'static str>,
    /// A text for each column.
    pub rows: Vec<Vec<String>>,
}

impl fmt::Display for Told {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let header: Vec<String> = self.columns.iter().map(|name| (*name).to_owned()).collect();
        let width = |column: usize| {
            let texts = self.rows.iter().chain([&header]).filter_map(|row| row.get(column));
            texts.map(|text| text.chars().count()).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..header.len()).map(width).collect();
        let line = |f: &mut fmt::Formatter<'_>, texts: &[String]| {
            for (column, (text, width)) in texts.iter().zip(&widths).enumerate() {
                if column == 0 { write!(f, "| {text:<width$} |")? } else { write!(f, " {text:>width$} |")? }
            }
            writeln!(f)
        };
        writeln!(f, "**{}**\n", self.section.title)?;
        line(f, &header)?;
        for (column, width) in widths.iter().enumerate() {
            let dashes = "-".repeat(*width);
            if column == 0 { write!(f, "|-{dashes}-|")? } else { write!(f, "-{dashes}:|")? }
        }
        writeln!(f)?;
        self.rows.iter().try_for_each(|row| line(f, row))?;
        writeln!(f)?;
        self.section.notes.iter().try_for_each(|note| writeln!(f, "- {note}"))?;
        writeln!(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_markdown_with_numbers_at_the_right() {
        let section = Section { title: "T".to_owned(), figures: Vec::new(), notes: vec!["why".to_owned()] };
        let rows = vec![vec!["long name".to_owned(), "7".to_owned()]];
        let told = Told { section, columns: vec!["what", "much"], rows };
        assert_eq!(
            told.to_string(),
            "**T**\n\n| what      | much |\n|-----------|-----:|\n| long name |    7 |\n\n- why\n\n"
        );
    }
}
