//! List: the first lines of a list of edges or vertices without column names.
//!
//! ```text
//! 1 2 1082040961      the third column is the weight; here it is rather a time, and the summary says so
//! 1 2 0.5 7 x         nobody knows what a third one behind the ends is: a problem
//! ```

use crate::import::bytes::input::Input;
use crate::import::field::integer::{parse_i64, parse_u64};
use crate::import::list::line::{Separator, first_data_line};
use crate::import::list::reader::default_columns;
use crate::import::options::ImportOptions;
use evergraph_graph::error::Result;
use std::ops::RangeInclusive;

/// Bytes that are looked at.
const START_BYTES: usize = 64 * 1024;

/// Lines that a column of times must have at least, to be taken for one.
const TIMES_MIN: usize = 2;

/// Seconds since 1970: from March 1973 to October 2096.
const TIMES: RangeInclusive<i64> = 100_000_000..=4_000_000_000;

/// What the first lines show.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ListLook {
    /// What its lines are made of.
    pub shape: ListShape,
    /// What one may want to say of its columns.
    pub advice: Option<String>,
    /// Why they can't be read as they are.
    pub problem: Option<String>,
}

/// What the lines of a list are made of.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum ListShape {
    /// Numbers: ids, and what stands behind them; or there are no lines.
    #[default]
    Numbers,
    /// Ids, and unnamed texts behind them.
    Texts,
    /// Something else than ids.
    Other,
}

/// Looks at the list in `input`, whose lines begin with `ids` ids.
///
/// # Errors
/// As reading.
pub fn look_at_list(input: &Input, ids: usize, options: &ImportOptions) -> Result<ListLook> {
    let columns = if ids == 1 { &options.lists.vertex_columns } else { &options.lists.edge_columns };
    let mut source = input.look()?;
    let start = source.peek(START_BYTES)?;
    // What is cut off is no line.
    let end =
        if start.len() < START_BYTES { start.len() } else { memchr::memrchr(b'\n', start).unwrap_or(0) };
    let start = &start[..end];
    // Where lines end in CR alone the reader says so.
    let first = first_data_line(start).filter(|line| !line.contains(&b'\r'));
    let Some(first) = first else { return Ok(ListLook::default()) };
    let separator = options.csv.delimiter.map_or_else(|| Separator::detect(first), Separator::from_option);
    let is_id = |field: &[u8]| parse_i64(field).is_ok() || parse_u64(field).is_ok();
    let mut fields = separator.fields(first);
    if !(0..ids).all(|_| fields.next().is_some_and(is_id)) {
        return Ok(ListLook { shape: ListShape::Other, ..ListLook::default() });
    }
    if columns.is_some() {
        return Ok(ListLook::default());
    }
    let shape = if fields.all(is_number) { ListShape::Numbers } else { ListShape::Texts };
    let count = separator.fields(first).count().saturating_sub(ids);
    let problem = default_columns(ids, count).err();
    let advice = ((ids, count) == (2, 1) && are_times(start, separator)).then(|| {
        "its third column is read as the weight, but looks like times, in seconds since 1970: --columns \
         'time:datetime{epoch:seconds}' reads them (columns = [\"time:datetime{epoch:seconds}\"] in a mapping)"
            .to_owned()
    });
    Ok(ListLook { shape, advice, problem })
}

/// Whether `field` is a number, or empty, as a weight or a time may be.
fn is_number(field: &[u8]) -> bool {
    field.is_empty() || std::str::from_utf8(field).is_ok_and(|text| text.parse::<f64>().is_ok())
}

/// Whether the third columns of all lines of `start` look like times.
fn are_times(start: &[u8], separator: Separator) -> bool {
    let mut rows = 0;
    let lines = start.split(|byte| *byte == b'\n').filter(|line| first_data_line(line).is_some());
    for line in lines {
        let third = separator.fields(line).nth(2);
        if !third.is_some_and(|third| parse_i64(third).is_ok_and(|time| TIMES.contains(&time))) {
            return false;
        }
        rows += 1;
    }
    rows >= TIMES_MIN
}

#[cfg(test)]
mod tests {
    use super::*;

    fn look(text: &str, ids: usize, change: impl FnOnce(&mut ImportOptions)) -> ListLook {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("g.txt");
        std::fs::write(&path, text).unwrap();
        let mut options = ImportOptions::new([]);
        change(&mut options);
        look_at_list(&Input::new(&path).unwrap(), ids, &options).unwrap()
    }

    #[test]
    fn a_third_column_of_times_is_told_from_weights() {
        let is_time = |text: &str| look(text, 2, |_| ()).advice.is_some();
        assert!(is_time("# SNAP\n1 2 1082040961\n3 4 1082155839\n"));
        assert!(is_time("1,2,1082040961\n3,4,1082155839"));
        for weights in [
            "1 2 1082040961\n",
            "1 2 1082040961\n3 4 5\n",
            "1 2 1082040961\n3 4 1082155839.5\n",
            "1 2 1082040961\n3 4\n",
            "1 2 0.5 1082040961\n3 4 0.5 1082040961\n",
            "1 2\n3 4\n",
            "",
        ] {
            assert!(!is_time(weights), "{weights}");
        }
        let shape = |text: &str| look(text, 2, |_| ()).shape;
        assert_eq!(shape("1 2 0.5\n"), ListShape::Numbers);
        assert_eq!((shape("1,2,2020-01-01\n"), shape("Ada Mary\n")), (ListShape::Texts, ListShape::Other));
        let named = |options: &mut ImportOptions| options.lists.edge_columns = Some("weight".to_owned());
        assert!(look("1 2 1082040961\n3 4 1082155839\n", 2, named).advice.is_none());
        let long = "1 2 1082040961\n".repeat(10_000);
        assert!(is_time(&long), "the line that is cut off is no line");
    }

    #[test]
    fn columns_without_names_are_a_problem() {
        let problem = look("1 2 3 4 5\n", 2, |_| ()).problem.unwrap();
        assert!(
            problem
                .starts_with("3 columns behind source and target have no names: give them, as in --columns ")
        );
        let problem = look("1 2 3\n", 1, |_| ()).problem.unwrap();
        assert!(
            problem.starts_with("2 columns behind the id have no names: give them, as in --vertex-columns ")
        );
    }
}
