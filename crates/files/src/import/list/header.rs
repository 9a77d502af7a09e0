//! List header: the first lines of DIMACS and Matrix Market files, which describe the others.
//!
//! ```text
//! c comment                       %%MatrixMarket matrix coordinate real general
//! p sp 3353 8870                  % comment
//! a 1 2 57                        5 5 8
//!                                 1 1 0.5
//! ```
//!
//! They say which vertices there are (1 to n), how many edges follow, and what stands behind the ends.
//! A symmetric matrix gives each of its edges once, as the file has it: from row to column. The lines
//! behind the header are read as those of any list of edges.

use crate::import::bytes::lines::Lines;
use crate::import::field::cell::CellType;
use crate::import::list::file::ListKind;
use evergraph_formats::dimacs::{self, DimacsLine};
use evergraph_formats::error::LineError;
use evergraph_formats::matrix_market::{self, Banner, Field, Symmetry};
use evergraph_graph::error::{Error, Result};
use evergraph_graph::value::ValueType;
use std::collections::VecDeque;

/// What the first lines of a list say.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ListHeader {
    /// Lines of the file that belong to it.
    pub lines: u64,
    /// Vertices are numbered from 1 to this.
    pub vertices_count: u64,
    /// Lines of edges that follow.
    pub edges_count: u64,
    /// What stands at the beginning of each line, if something does.
    pub marker: Option<u8>,
    /// The type of what stands behind the ends, if something does: a weight.
    pub weight: Option<CellType>,
}

/// Reads the header of a list of `kind`, and leaves what is behind it in `blocks`; `None` for lists that
/// have none.
///
/// # Errors
/// As reading; `invalid` with the line, for a header that is malformed or says what isn't read.
pub fn read_header(
    kind: ListKind,
    name: &str,
    lines: &mut Lines,
    blocks: &mut VecDeque<Vec<u8>>,
) -> Result<Option<ListHeader>> {
    let mut reader = match kind {
        ListKind::Vertices | ListKind::Edges => return Ok(None),
        ListKind::Dimacs => Reader::Dimacs,
        ListKind::MatrixMarket => Reader::Banner,
    };
    let mut line_number = 0;
    while let Some(block) = lines.next_block()? {
        let mut start = 0;
        for line in block.split_inclusive(|byte| *byte == b'\n') {
            line_number += 1;
            start += line.len();
            let read = reader.read(line.trim_ascii_end());
            let read = read.map_err(|why| Error::invalid(format!("{name}:{line_number}: {why}")))?;
            if let Some(header) = read {
                blocks.push_back(block[start..].to_vec());
                return Ok(Some(ListHeader { lines: line_number, ..header }));
            }
        }
    }
    Err(Error::invalid(format!("{name}: ends before its header does: expected a line `{}`", reader.wanted())))
}

impl ListHeader {
    /// Fails unless the file had the edges that it announced.
    ///
    /// # Errors
    /// A text for people, if `found` is another number.
    pub fn check_edges(&self, found: u64) -> std::result::Result<(), String> {
        if found == self.edges_count {
            return Ok(());
        }
        let plural = if self.edges_count == 1 { "" } else { "s" };
        Err(format!(
            "line {} announces {} edge{plural}, but the file has {found}",
            self.lines, self.edges_count
        ))
    }
}

enum Reader {
    Dimacs,
    Banner,
    Size(Banner),
}

impl Reader {
    /// What the line that is missing looks like.
    fn wanted(&self) -> &'static str {
        match self {
            Self::Dimacs => "p sp VERTICES ARCS",
            Self::Banner => "%%MatrixMarket matrix coordinate real general",
            Self::Size(_) => "ROWS COLUMNS ENTRIES",
        }
    }

    /// Reads one line; the header with the last one.
    fn read(&mut self, line: &[u8]) -> std::result::Result<Option<ListHeader>, String> {
        let why = |LineError { reason, .. }: LineError| reason;
        match *self {
            Self::Dimacs => match dimacs::parse_line(line, None).map_err(why)? {
                DimacsLine::Problem(problem) => Ok(Some(ListHeader {
                    lines: 0,
                    vertices_count: problem.vertices_count,
                    edges_count: problem.arcs_count,
                    marker: Some(b'a'),
                    weight: Some(CellType::Scalar(ValueType::F64)),
                })),
                DimacsLine::Comment | DimacsLine::Arc(_) => Ok(None),
            },
            Self::Banner => {
                let banner = matrix_market::parse_banner(line).map_err(why)?;
                if banner.symmetry == Symmetry::SkewSymmetric {
                    return Err(
                        "skew-symmetric matrices are not supported: an edge and its mirror image differ"
                            .to_owned(),
                    );
                }
                *self = Self::Size(banner);
                Ok(None)
            }
            Self::Size(_) if matrix_market::is_comment(line) => Ok(None),
            Self::Size(banner) => {
                let size = matrix_market::parse_size(line, banner).map_err(why)?;
                if size.rows != size.columns {
                    return Err(format!(
                        "a matrix of {} rows and {} columns joins two kinds of vertices: only square ones are read",
                        size.rows, size.columns
                    ));
                }
                Ok(Some(ListHeader {
                    lines: 0,
                    vertices_count: size.rows,
                    edges_count: size.entries,
                    marker: None,
                    weight: match banner.field {
                        Field::Real => Some(CellType::Scalar(ValueType::F64)),
                        Field::Integer => Some(CellType::Scalar(ValueType::I64)),
                        Field::Pattern => None,
                    },
                }))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::import::bytes::source::Source;
    use std::io::Cursor;

    fn read(kind: ListKind, text: &str, block_bytes: usize) -> Result<(ListHeader, Vec<u8>)> {
        let source = Source::from_reader("g", Cursor::new(text.to_owned().into_bytes())).unwrap();
        let mut lines = Lines::new(source, block_bytes);
        let mut blocks = VecDeque::new();
        let header = read_header(kind, "g", &mut lines, &mut blocks)?.unwrap();
        while let Some(block) = lines.next_block()? {
            blocks.push_back(block);
        }
        Ok((header, blocks.into_iter().flatten().collect()))
    }

    #[test]
    fn a_header_is_read_and_what_follows_is_left() {
        for block_bytes in [1, 20, 1000] {
            let (header, rest) =
                read(ListKind::Dimacs, "c roads\n\np sp 3 2\na 1 2 7\na 2 3 8\n", block_bytes).unwrap();
            assert_eq!((header.lines, header.vertices_count, header.edges_count), (3, 3, 2));
            assert_eq!((header.marker, rest.as_slice()), (Some(b'a'), b"a 1 2 7\na 2 3 8\n".as_slice()));
            let text = "%%MatrixMarket matrix coordinate pattern symmetric\n% x\n3 3 1\n2 1\n";
            let (header, rest) = read(ListKind::MatrixMarket, text, block_bytes).unwrap();
            assert_eq!((header.lines, header.vertices_count, header.edges_count), (3, 3, 1));
            assert_eq!((header.weight, rest.as_slice()), (None, b"2 1\n".as_slice()));
            assert!(header.check_edges(1).is_ok());
            assert_eq!(header.check_edges(2).unwrap_err(), "line 3 announces 1 edge, and 2 are there");
        }
    }

    #[test]
    fn a_header_that_is_not_read_is_named_by_its_line() {
        for (kind, text, expected) in [
            (
                ListKind::Dimacs,
                "c x\n",
                "g: ends before its header does: expected a line `p sp VERTICES ARCS`",
            ),
            (
                ListKind::MatrixMarket,
                "%%MatrixMarket matrix coordinate real general\n% x\n",
                "g: ends before its header does: expected a line `ROWS COLUMNS ENTRIES`",
            ),
            (ListKind::Dimacs, "c x\na 1 2 3\n", "g:2: "),
            (ListKind::MatrixMarket, "1 1 1\n", "g:1: "),
            (
                ListKind::MatrixMarket,
                "%%MatrixMarket matrix coordinate real general\n2 3 0\n",
                "g:2: a matrix of 2 rows",
            ),
            (
                ListKind::MatrixMarket,
                "%%MatrixMarket matrix coordinate real skew-symmetric\n",
                "g:1: skew-symmetric",
            ),
        ] {
            let error = read(kind, text, 100).unwrap_err().to_string();
            assert!(error.starts_with(expected), "{error}");
        }
    }
}
