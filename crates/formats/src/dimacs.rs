//! DIMACS: weighted directed graphs in the format of the 9th DIMACS challenge on shortest paths (`.gr`).
//!
//! ```text
//! c  a comment
//! p sp 3353 8870        the problem: shortest paths, 3,353 vertices, 8,870 arcs; once, before arcs
//! a 1 2 57              an arc from vertex 1 to vertex 2 of weight 57
//! ```
//!
//! Vertices are numbered from 1, weights are whole numbers. [`parse_line`] is a pure function, so lines
//! can be read on many threads; what one line can't know (that the problem comes first and once, and
//! how many arcs there are) is for the caller, with [`Problem::check_arcs`]. Coordinates (`.co`) are
//! refused by name: they are no part of the graph.
//!
//! Source: 9th DIMACS Implementation Challenge, "File formats".

use std::io::{self, Write};

use crate::error::{LineError, WriteError};
use crate::words::Words;

/// What a line says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DimacsLine {
    /// Nothing: a comment, or a blank line.
    Comment,
    /// The size of the graph.
    Problem(Problem),
    /// An arc.
    Arc(Arc),
}

/// The size of a graph.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Problem {
    /// Vertices, numbered from 1.
    pub vertices_count: u64,
    /// Lines with arcs.
    pub arcs_count: u64,
}

/// An edge with a weight.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Arc {
    /// The vertex where it begins, from 1.
    pub source: u64,
    /// The vertex where it ends, from 1.
    pub target: u64,
    /// Its weight.
    pub weight: i64,
}

/// Reads a line, with or without its end. `problem` is the size that a line before it gave; until there
/// was one, arcs are refused, and from then on a second one.
///
/// # Errors
/// If the line has none of the forms above, or a vertex that the graph has not.
pub fn parse_line(line: &[u8], problem: Option<Problem>) -> Result<DimacsLine, LineError> {
    let mut words = Words::of(line);
    let Some(kind) = words.next() else { return Ok(DimacsLine::Comment) };
    match (kind.bytes, problem) {
        ([b'c', ..], _) => Ok(DimacsLine::Comment),
        (b"p", None) => {
            let form = words.require("sp, the problem of shortest paths")?;
            if form.bytes != b"sp" {
                return Err(form.error("sp, the problem of shortest paths (.gr); others are not read"));
            }
            let vertices_count = words.number("the number of vertices")?;
            let arcs_count = words.number("the number of arcs")?;
            words.finish()?;
            Ok(DimacsLine::Problem(Problem { vertices_count, arcs_count }))
        }
        (b"p", Some(_)) => Err(kind.error("a and an arc (the problem is stated once)")),
        (b"a", Some(problem)) => {
            let source = words.index("a source", problem.vertices_count)?;
            let target = words.index("a target", problem.vertices_count)?;
            let weight = words.number("a weight, which is a whole number,")?;
            words.finish()?;
            Ok(DimacsLine::Arc(Arc { source, target, weight }))
        }
        (b"a", None) => Err(kind.error("p and the problem before the first arc")),
        (b"v", _) => Err(kind.error("c, p or a (coordinates of .co files are not read)")),
        _ => Err(kind.error("c, p or a at the beginning of the line")),
    }
}

impl Problem {
    /// Fails unless the file had the arcs that it announced.
    ///
    /// # Errors
    /// A text for people, if `found` is another number.
    pub fn check_arcs(self, found: u64) -> Result<(), String> {
        if found == self.arcs_count {
            return Ok(());
        }
        Err(format!("the problem announces {} arcs, but the file has {found}", self.arcs_count))
    }
}

/// Writes a graph to `W`, which should be buffered.
#[derive(Debug)]
pub struct DimacsWriter<W> {
    bytes: W,
    problem: Problem,
    arcs_count: u64,
}

impl<W: Write> DimacsWriter<W> {
    /// Writes the line of the problem to `bytes`.
    ///
    /// # Errors
    /// If bytes can't be written.
    pub fn new(mut bytes: W, problem: Problem) -> io::Result<Self> {
        writeln!(bytes, "p sp {} {}", problem.vertices_count, problem.arcs_count)?;
        Ok(Self { bytes, problem, arcs_count: 0 })
    }

    /// Writes an arc.
    ///
    /// # Errors
    /// [`WriteError::Io`]; [`WriteError::Unwritable`] if an end is not from 1 to the number of vertices.
    pub fn write_arc(&mut self, arc: Arc) -> Result<(), WriteError> {
        let vertices = 1..=self.problem.vertices_count;
        if !vertices.contains(&arc.source) || !vertices.contains(&arc.target) {
            let element = format!("arc from {} to {}", arc.source, arc.target);
            let reason = format!("vertices are numbered from 1 to {}", vertices.end());
            return Err(WriteError::Unwritable { element, reason });
        }
        self.arcs_count += 1;
        Ok(writeln!(self.bytes, "a {} {} {}", arc.source, arc.target, arc.weight)?)
    }

    /// Flushes the file and gives `W` back.
    ///
    /// # Errors
    /// [`WriteError::Io`]; [`WriteError::Unwritable`] if there were more or fewer arcs than announced.
    pub fn finish(mut self) -> Result<W, WriteError> {
        let checked = self.problem.check_arcs(self.arcs_count);
        checked.map_err(|reason| WriteError::Unwritable { element: "graph".to_owned(), reason })?;
        self.bytes.flush()?;
        Ok(self.bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const PROBLEM: Problem = Problem { vertices_count: 3, arcs_count: 2 };

    #[test]
    fn lines_say_what_their_first_letter_tells() {
        for line in ["", "\r\n", "c", "c a 1 2 3", "c9 9th DIMACS"] {
            assert_eq!(parse_line(line.as_bytes(), None), Ok(DimacsLine::Comment), "{line}");
        }
        assert_eq!(parse_line(b"p sp 3 2\n", None), Ok(DimacsLine::Problem(PROBLEM)));
        let arc = Arc { source: 1, target: 3, weight: -7 };
        assert_eq!(parse_line(b" a\t1  3 -7 \r\n", Some(PROBLEM)), Ok(DimacsLine::Arc(arc)));
    }

    #[test]
    fn other_lines_are_refused_with_their_column() {
        for (line, problem, column) in [
            ("p sp 3", None, 7),
            ("p sp 3 2 1", None, 10),
            ("p sp -3 2", None, 6),
            ("p aux sp co 3", None, 3),
            ("p max 3 2", None, 3),
            ("p sp 3 2", Some(PROBLEM), 1),
            ("a 1 2 3", None, 1),
            ("a 0 2 3", Some(PROBLEM), 3),
            ("a 1 4 3", Some(PROBLEM), 5),
            ("a 1 2 0.5", Some(PROBLEM), 7),
            ("a 1 2", Some(PROBLEM), 6),
            ("a 1 2 3 4", Some(PROBLEM), 9),
            ("a 1 2 99999999999999999999", Some(PROBLEM), 7),
            ("a 1 \u{1f600} 3", Some(PROBLEM), 5),
            ("v 1 -73530767 41085396", Some(PROBLEM), 1),
            ("1 2 3", Some(PROBLEM), 1),
        ] {
            assert_eq!(parse_line(line.as_bytes(), problem).expect_err(line).column, column, "{line}");
        }
        assert!(parse_line(b"a 1 \xff 3", Some(PROBLEM)).is_err());
        let error = parse_line(b"a 1 4 3", Some(PROBLEM)).unwrap_err().to_string();
        assert_eq!(error, "column 5: expected a target from 1 to 3, found \"4\"");
    }

    #[test]
    fn a_writer_keeps_its_announcement() {
        let mut writer = DimacsWriter::new(Vec::new(), PROBLEM).unwrap();
        let arc = |source, target| Arc { source, target, weight: 1 };
        assert!(writer.write_arc(arc(0, 1)).is_err() && writer.write_arc(arc(1, 4)).is_err());
        writer.write_arc(arc(1, 2)).unwrap();
        let error = writer.finish().unwrap_err().to_string();
        assert_eq!(error, "graph: the problem announces 2 arcs, but the file has 1");
    }

    proptest! {
        #[test]
        fn a_graph_is_read_back_as_it_was(
            arcs in proptest::collection::vec((1..=9_u64, 1..=9_u64, any::<i64>()), 0..9),
        ) {
            let arcs: Vec<_> = arcs.into_iter().map(|(source, target, weight)| Arc { source, target, weight }).collect();
            let problem = Problem { vertices_count: 9, arcs_count: arcs.len() as u64 };
            let mut writer = DimacsWriter::new(Vec::new(), problem).unwrap();
            arcs.iter().for_each(|arc| writer.write_arc(*arc).unwrap());
            let bytes = writer.finish().unwrap();
            let (mut read, mut stated) = (Vec::new(), None);
            for line in bytes.split_inclusive(|byte| *byte == b'\n') {
                match parse_line(line, stated).unwrap() {
                    DimacsLine::Problem(problem) => stated = Some(problem),
                    DimacsLine::Arc(arc) => read.push(arc),
                    DimacsLine::Comment => {}
                }
            }
            prop_assert_eq!((stated, read), (Some(problem), arcs));
        }

        #[test]
        fn any_line_is_something_or_an_error(line in proptest::collection::vec(any::<u8>(), 0..40)) {
            let _ = parse_line(&line, Some(PROBLEM));
        }
    }
}
