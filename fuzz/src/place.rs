//! Place: whether what an error names lies inside the input.

use evergraph_formats::element::Position;

/// Lines of `input`; one that ends without a break counts, and so does the empty one at the end.
#[must_use]
pub fn lines_count(input: &[u8]) -> u64 {
    input.iter().filter(|byte| **byte == b'\n').count() as u64 + 1
}

/// Panics unless `position` is in `input`, or right behind a line of it.
pub fn assert_inside(position: Position, input: &[u8]) {
    let line = usize::try_from(position.line).ok().and_then(|line| line.checked_sub(1));
    let line = line.and_then(|line| input.split(|byte| *byte == b'\n').nth(line));
    let line = line.unwrap_or_else(|| panic!("{position} is behind the last line"));
    let columns = 1..=line.len() as u64 + 1;
    assert!(columns.contains(&position.column), "{position} is outside its line of {} bytes", line.len());
}

/// The line that an error names after `name` and a colon, from 1; `None` if it doesn't name the file so.
#[must_use]
pub fn named_line(error: &str, name: &str) -> Option<u64> {
    let behind = error.strip_prefix(name)?.strip_prefix(':')?;
    behind.split(|letter: char| !letter.is_ascii_digit()).next()?.parse().ok()
}
