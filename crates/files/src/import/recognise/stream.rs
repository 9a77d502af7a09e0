//! Stream: what standard input or a nameless pipe holds, by its first bytes.
//!
//! ```text
//! PAR1  {"id":  {"nodes":  <graphml  <gexf  graph [  *Vertices  %%MatrixMarket  p sp  7 12  id,name
//!   │      │        │         │        │       │         │            │          │     │     └ CSV, which is
//!   └ .parquet ...  by the ending that such a file would have                              looked at further
//! ```

use crate::import::bytes::input::Input;
use crate::import::csv::delimiter::detect_delimiter;
use crate::import::field::integer::{parse_i64, parse_u64};
use crate::import::list::line::{Separator, first_data_line};
use crate::import::mapping::words::is_role_word;
use crate::import::recognise::elements::{
    looks_like_gexf, looks_like_gml, looks_like_graphml, looks_like_graphson, looks_like_node_link,
    looks_like_pajek,
};
use evergraph_graph::error::Result;

/// Bytes that are looked at.
const START_BYTES: usize = 64 * 1024;

/// The ending that `input` would have if it were a file; that of a list of edges if it shows nothing else,
/// so that errors tell what is wrong in its lines.
///
/// # Errors
/// As reading.
pub fn ending_by_content(input: &Input) -> Result<&'static str> {
    let mut source = input.look()?;
    let start = source.peek(START_BYTES)?;
    if start.trim_ascii().is_empty() {
        return Ok("e");
    }
    if start.starts_with(b"PAR1") {
        return Ok("parquet");
    }
    if start.get(..14).is_some_and(|banner| banner.eq_ignore_ascii_case(b"%%MatrixMarket")) {
        return Ok("mtx");
    }
    if is_dimacs(start) {
        return Ok("gr");
    }
    let is_csv = first_data_line(start).is_some_and(|line| !is_edge(line) && is_header_or_row(line));
    Ok(match () {
        () if looks_like_node_link(input)? => "json",
        () if looks_like_graphson(input)? => "graphson",
        () if looks_like_graphml(input)? => "graphml",
        () if looks_like_gexf(input)? => "gexf",
        () if looks_like_pajek(input)? => "net",
        () if looks_like_gml(input)? => "gml",
        () if is_csv => "csv",
        () => "e",
    })
}

/// Whether the lines before the first one without `c` are comments, and that one counts vertices and arcs.
fn is_dimacs(start: &[u8]) -> bool {
    let mut lines = start.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
    let first = lines.find(|line| !line.is_empty() && *line != b"c" && !line.starts_with(b"c "));
    first.is_some_and(|line| line.starts_with(b"p sp "))
}

fn is_edge(line: &[u8]) -> bool {
    let mut fields = Separator::detect(line).fields(line);
    let is_id = |field: &[u8]| parse_i64(field).is_ok() || parse_u64(field).is_ok();
    (0..2).all(|_| fields.next().is_some_and(is_id))
}

/// Whether `line` has several columns, or one with a role.
fn is_header_or_row(line: &[u8]) -> bool {
    line.contains(&detect_delimiter(line))
        || std::str::from_utf8(line).is_ok_and(|word| is_role_word(word.trim()))
}
