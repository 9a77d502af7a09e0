//! Stream: the vertices of a GraphSON file one after the other, on one thread.
//!
//! Who reads on many threads cuts the file with [`Documents`] (or by lines, if it is not wrapped),
//! parses each text with [`parse_line`], and does at the end what this reader does: merges the sums
//! and checks them.

use std::io::BufRead;

use crate::element::Position;
use crate::error::ReadError;
use crate::graphson::documents::Documents;
use crate::graphson::line_read::{ParsedVertex, parse_line};
use crate::graphson::sides::{Side, SideSums};

/// How a file is read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StreamOptions {
    /// The side whose edges are taken.
    pub side: Side,
    /// How long the text of one vertex with its edges may be, in bytes. Reading one may take ten to
    /// twenty times that memory.
    pub vertex_bytes_max: usize,
}

impl Default for StreamOptions {
    /// Out-edges; 256 MiB a vertex, which is about a million edges on each side.
    fn default() -> Self {
        Self { side: Side::Out, vertex_bytes_max: 256 << 20 }
    }
}

/// Reads vertices with their edges, each edge once. The first error is the last item: among others
/// the one that the sides of the file differ, which is known at its end only.
#[derive(Debug)]
pub struct VertexStream<R> {
    documents: Documents<R>,
    side: Side,
    sums: SideSums,
    /// Where the vertex that was read last begins.
    position: Position,
    ended: bool,
}

impl<R: BufRead> VertexStream<R> {
    /// Reads what `bytes` gives.
    pub fn new(bytes: R, options: StreamOptions) -> Self {
        let documents = Documents::new(bytes, options.vertex_bytes_max);
        Self {
            documents,
            side: options.side,
            sums: SideSums::default(),
            position: Position::START,
            ended: false,
        }
    }

    fn read_next(&mut self) -> Result<Option<ParsedVertex>, ReadError> {
        let Some((start, text)) = self.documents.next_document()? else {
            let position = self.documents.position();
            self.sums.check(self.side).map_err(|reason| ReadError::Malformed { position, reason })?;
            return Ok(None);
        };
        self.position = start;
        let parsed = parse_line(text, self.side).map_err(|error| {
            let offset = usize::try_from(error.column - 1).expect("a place within the text");
            ReadError::Malformed { position: start.after(&text[..offset]), reason: error.reason }
        })?;
        self.sums.merge(&parsed.sums);
        Ok(Some(parsed))
    }

    /// Where in the file the vertex that was read last begins.
    pub fn position(&self) -> Position {
        self.position
    }
}

impl<R: BufRead> Iterator for VertexStream<R> {
    type Item = Result<ParsedVertex, ReadError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        let item = self.read_next().transpose();
        self.ended = !matches!(item, Some(Ok(_)));
        item
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<(usize, usize), ReadError> {
        let (mut vertices, mut edges) = (0, 0);
        for item in VertexStream::new(text.as_bytes(), StreamOptions::default()) {
            vertices += 1;
            edges += item?.edges.len();
        }
        Ok((vertices, edges))
    }

    const FIRST: &str = r#"{"id":1,"outE":{"a":[{"id":3,"inV":2}]}}"#;
    const SECOND: &str = r#"{"id":2,"inE":{"a":[{"id":3,"outV":1}]}}"#;

    #[test]
    fn an_edge_of_two_lines_comes_once_in_either_form() {
        assert_eq!(read(&format!("{FIRST}\n{SECOND}\n")).unwrap(), (2, 1));
        assert_eq!(read(&format!("{{\"vertices\":[{FIRST},{SECOND}]}}")).unwrap(), (2, 1));
        assert_eq!(read("").unwrap(), (0, 0));
    }

    #[test]
    fn a_file_that_lost_a_line_is_found_incomplete_at_its_end() {
        assert_eq!(read(FIRST).unwrap(), (1, 1), "a file of out-edges only is whole");
        let error = read(SECOND).unwrap_err();
        assert!(error.to_string().contains("in inE only"), "{error}");
        let third = r#"{"id":4,"inE":{"a":[{"id":5,"outV":1}]}}"#;
        let error = read(&format!("{FIRST}\n{SECOND}\n{third}\n")).unwrap_err();
        assert_eq!(
            error.to_string(),
            "line 4, column 1: outE and inE list different edges (1 and 2): the file is incomplete"
        );
    }

    #[test]
    fn an_error_names_the_place_in_the_file_and_ends_it() {
        let text = format!("{FIRST}\n{{\"id\":2,\"x\":1}}\n{SECOND}\n");
        let mut stream = VertexStream::new(text.as_bytes(), StreamOptions::default());
        assert!(stream.next().unwrap().is_ok());
        let error = stream.next().unwrap().unwrap_err();
        assert_eq!(error.position(), Position { line: 2, column: 8 });
        assert!(stream.next().is_none());
        let error = read(&format!("{{\"vertices\":[\n{FIRST},\n {{\"id\":2,\n \"x\":1}}]}}")).unwrap_err();
        assert_eq!(error.position(), Position { line: 3, column: 9 });
    }
}
