//! Tables: columns with a rule below their names, numbers at the right, nothing that isn't data.
//!
//! ```text
//! label   vertices
//! ────────────────
//! Person    62,586
//! ```

use comfy_table::presets::NOTHING;
use comfy_table::{Cell, CellAlignment, ContentArrangement, LineStyle, Table as Grid};
use std::fmt;

/// On which side the texts of a column stand.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Side {
    /// Words.
    Left,
    /// Numbers.
    Right,
}

/// A table of texts.
#[derive(Debug)]
pub struct Table {
    grid: Grid,
    sides: Vec<Side>,
}

impl Table {
    /// An empty table with these columns.
    #[must_use]
    pub fn new(columns: &[(&str, Side)]) -> Self {
        let sides: Vec<Side> = columns.iter().map(|(_, side)| *side).collect();
        let mut grid = Grid::new();
        grid.load_style(NOTHING.header_separator(LineStyle::none().fill('─')));
        // A line that is too long for the terminal is broken there; a file gets it whole.
        grid.set_content_arrangement(ContentArrangement::Disabled);
        let mut table = Self { grid, sides };
        let names = columns.iter().map(|(name, _)| (*name).to_owned());
        let header = table.cells(names);
        table.grid.set_header(header);
        table.grid.discover_columns();
        let last = columns.len().saturating_sub(1);
        for (place, column) in table.grid.column_iter_mut().enumerate() {
            column.set_padding((0, if place == last { 0 } else { 2 }));
        }
        table
    }

    /// Adds a row with a text for each column. Control characters are shown, not obeyed: the texts
    /// may come from anybody's data.
    pub fn row(&mut self, texts: impl IntoIterator<Item = String>) {
        let cells = self.cells(texts.into_iter().map(|text| visible(&text)));
        self.grid.add_row(cells);
    }

    fn cells(&self, texts: impl Iterator<Item = String>) -> Vec<Cell> {
        texts
            .zip(&self.sides)
            .map(|(text, side)| {
                let alignment = match side {
                    Side::Left => CellAlignment::Left,
                    Side::Right => CellAlignment::Right,
                };
                Cell::new(text).set_alignment(alignment)
            })
            .collect()
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.grid.lines().try_for_each(|line| writeln!(f, "{}", line.trim_end()))
    }
}

/// `text` with control characters written as escapes, so that data can't move a terminal's cursor.
#[must_use]
pub fn visible(text: &str) -> String {
    if !text.contains(char::is_control) {
        return text.to_owned();
    }
    text.chars()
        .map(|char| if char.is_control() { char.escape_default().to_string() } else { char.to_string() })
        .collect()
}

/// What people call the place that `--output` names.
#[must_use]
pub fn output_name(output: &str) -> String {
    if output == "-" { "standard output".to_owned() } else { visible(output) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_stand_left_and_numbers_right_below_a_rule() {
        let mut table = Table::new(&[("label", Side::Left), ("vertices", Side::Right)]);
        table.row(["Person".to_owned(), "62,586".to_owned()]);
        table.row(["Ü".to_owned(), "7".to_owned()]);
        assert_eq!(
            table.to_string(),
            "label   vertices\n────────────────\nPerson    62,586\nÜ              7\n"
        );
    }

    #[test]
    fn control_characters_in_data_are_shown() {
        assert_eq!(visible("a\u{1b}[2Jb\n"), "a\\u{1b}[2Jb\\n");
        assert_eq!(visible("grün"), "grün");
    }
}
