//! Elements: whether a JSON, XML or text file holds a graph. Many such files in a folder hold something else.

use crate::import::bytes::input::Input;
use crate::import::mapping::rule::FileFormat;
use evergraph_formats::node_link::shape;
use evergraph_graph::error::Result;

/// Bytes that are looked at.
const START_BYTES: usize = 64 * 1024;

/// The endings of files that hold vertices and edges together, some of them among others.
pub const ELEMENT_ENDINGS: [&str; 9] =
    ["graphson", "json", "cyjs", "graphml", "xml", "gexf", "gml", "net", "paj"];

/// What a vertex of GraphSON has, beside its id.
const VERTEX_KEYS: [&[u8]; 4] = [b"\"label\"", b"\"outE\"", b"\"inE\"", b"\"properties\""];

/// The key of a graph in GML.
const GRAPH: &[u8] = b"graph";

/// What `input` is, whose name ends in `ending`, one of [`ELEMENT_ENDINGS`]; `None` if it is no graph.
///
/// # Errors
/// As reading.
pub fn format_of_elements(ending: &str, input: &Input) -> Result<Option<FileFormat>> {
    let xml = |otherwise| {
        Ok(match () {
            () if looks_like_graphml(input)? => Some(FileFormat::GraphMl),
            () if looks_like_gexf(input)? => Some(FileFormat::Gexf),
            () => otherwise,
        })
    };
    match ending {
        "graphson" => Ok(Some(FileFormat::GraphSon)),
        "graphml" => Ok(Some(FileFormat::GraphMl)),
        "gexf" => Ok(Some(FileFormat::Gexf)),
        // Some call GraphML so, too.
        "gml" => xml(looks_like_gml(input)?.then_some(FileFormat::Gml)),
        "xml" => xml(None),
        "net" | "paj" => Ok(looks_like_pajek(input)?.then_some(FileFormat::Pajek)),
        _ if looks_like_node_link(input)? => Ok(Some(FileFormat::NodeLink)),
        _ => Ok(looks_like_graphson(input)?.then_some(FileFormat::GraphSon)),
    }
}

/// Whether `input` begins with a vertex of GraphSON, or with the wrapping of many, or is empty as
/// that of a graph without vertices.
///
/// # Errors
/// As reading.
pub fn looks_like_graphson(input: &Input) -> Result<bool> {
    let mut source = input.look()?;
    let start = without_mark(source.peek(START_BYTES)?).trim_ascii_start();
    let first_line = start.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let is_wrapped = start.starts_with(b"{") && start[1..].trim_ascii_start().starts_with(b"\"vertices\"");
    let is_vertex = first_line.starts_with(b"{")
        && has(first_line, b"\"id\"")
        && VERTEX_KEYS.iter().any(|key| has(first_line, key));
    Ok(is_wrapped || is_vertex || start.is_empty())
}

/// Whether `input` has GraphML's tag in its beginning.
///
/// # Errors
/// As reading.
pub fn looks_like_graphml(input: &Input) -> Result<bool> {
    let start = without_zeros(input)?;
    Ok(has(&start, b"<graphml") || has(&start, b":graphml"))
}

/// Whether `input` has GEXF's tag in its beginning.
///
/// # Errors
/// As reading.
pub fn looks_like_gexf(input: &Input) -> Result<bool> {
    let start = without_zeros(input)?;
    Ok(has(&start, b"<gexf") || has(&start, b":gexf"))
}

/// Whether `input` begins as JSON with lists of nodes and links does.
///
/// # Errors
/// As reading.
pub fn looks_like_node_link(input: &Input) -> Result<bool> {
    Ok(shape::looks_like(input.look()?.peek(START_BYTES)?))
}

/// Whether `input` has a line in its beginning that counts the vertices of a network of Pajek.
///
/// # Errors
/// As reading.
pub fn looks_like_pajek(input: &Input) -> Result<bool> {
    let mut source = input.look()?;
    let start = without_mark(source.peek(START_BYTES)?);
    let mut lines = start.split(|byte| matches!(byte, b'\n' | b'\r')).map(<[u8]>::trim_ascii);
    Ok(lines.any(|line| line.get(..9).is_some_and(|word| word.eq_ignore_ascii_case(b"*vertices"))))
}

/// Whether `input` has the beginning of a graph in GML.
///
/// # Errors
/// As reading.
pub fn looks_like_gml(input: &Input) -> Result<bool> {
    let mut source = input.look()?;
    let start = without_mark(source.peek(START_BYTES)?);
    let is_graph = |at: usize| {
        let (before, rest) = start.split_at(at);
        let is_word = rest.get(..GRAPH.len()).is_some_and(|word| word.eq_ignore_ascii_case(GRAPH));
        let begins = before.last().is_none_or(u8::is_ascii_whitespace);
        is_word && begins && rest[GRAPH.len()..].trim_ascii_start().starts_with(b"[")
    };
    Ok(memchr::memchr2_iter(b'g', b'G', start).any(is_graph))
}

/// `start` without a byte order mark of UTF-8.
fn without_mark(start: &[u8]) -> &[u8] {
    start.strip_prefix(b"\xef\xbb\xbf").unwrap_or(start)
}

/// The beginning of `input` without zeros: in UTF-16 every other byte is one.
fn without_zeros(input: &Input) -> Result<Vec<u8>> {
    Ok(input.look()?.peek(START_BYTES)?.iter().copied().filter(|byte| *byte != 0).collect())
}

fn has(text: &[u8], part: &[u8]) -> bool {
    memchr::memmem::find(text, part).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn graphs_are_told_from_other_files_of_their_kind() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        let json = |text: &str| {
            fs::write(&path, text).unwrap();
            looks_like_graphson(&Input::new(&path).unwrap()).unwrap()
        };
        assert!(json("{\"id\":1,\"label\":\"person\"}\n"));
        assert!(json("\u{feff}{ \"vertices\" : [\n"));
        assert!(json("{\"outE\":{},\"id\":1}"));
        assert!(!json("{\"name\": \"evergraph\"}"));
        assert!(!json("{\n \"id\": 5,\n \"label\": 7}"));
        assert!(json("\n"), "a graph without vertices");
        assert!(!json("[1]"));
        let xml = |text: &[u8]| {
            fs::write(&path, text).unwrap();
            looks_like_graphml(&Input::new(&path).unwrap()).unwrap()
        };
        assert!(xml(b"<?xml version='1.0'?>\n<graphml xmlns='x'>"));
        assert!(xml(b"<\0g\0r\0a\0p\0h\0m\0l\0>\0"));
        assert!(!xml(b"<html>") && !xml(b""));
        let told = |ending: &str, text: &str| {
            fs::write(&path, text).unwrap();
            format_of_elements(ending, &Input::new(&path).unwrap()).unwrap()
        };
        assert_eq!(told("xml", "<g:gexf xmlns:g='x'>"), Some(FileFormat::Gexf));
        assert_eq!(told("gml", "<?xml version='1.0'?><graphml>"), Some(FileFormat::GraphMl));
        assert_eq!(told("gml", "graph [ ]"), Some(FileFormat::Gml));
        assert_eq!(told("gml", "<gml:FeatureCollection/>"), None);
        assert_eq!(told("net", "a title\r*VERTICES 3\r"), Some(FileFormat::Pajek));
        assert_eq!(told("net", "\u{feff}*Vertices 3\n"), Some(FileFormat::Pajek));
        for text in ["\u{feff}graph[", "Creator \"x\" Version 1 graph [ ]", "# c\nGraph\n[\n]"] {
            assert_eq!(told("gml", text), Some(FileFormat::Gml), "{text}");
        }
        assert_eq!(told("gml", "subgraph [ ]"), None);
        assert_eq!(told("net", "1 2\n"), None);
        assert_eq!(told("json", "{\"id\":1,\"label\":\"a\"}"), Some(FileFormat::GraphSon));
        assert_eq!(told("json", "{\"nodes\":[{\"id\":1,\"label\":\"a\"}]}"), Some(FileFormat::NodeLink));
        assert_eq!(told("json", "{\"name\":\"x\"}"), None);
    }
}
