//! Elements: whether a JSON or XML file holds a graph. Many such files in a folder hold something else.

use crate::import::input::Input;
use evergraph_graph::error::Result;

/// Bytes that are looked at.
const START_BYTES: usize = 64 * 1024;

/// What a vertex of GraphSON has, beside its id.
const VERTEX_KEYS: [&[u8]; 4] = [b"\"label\"", b"\"outE\"", b"\"inE\"", b"\"properties\""];

/// Whether `input` begins with a vertex of GraphSON, or with the wrapping of many, or is empty as
/// that of a graph without vertices.
///
/// # Errors
/// As reading.
pub fn looks_like_graphson(input: &Input) -> Result<bool> {
    let mut source = input.look()?;
    let start = source.peek(START_BYTES)?;
    let start = start.strip_prefix(b"\xef\xbb\xbf").unwrap_or(start).trim_ascii_start();
    let first_line = start.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let has = |text: &[u8], key: &[u8]| memchr::memmem::find(text, key).is_some();
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
    let mut source = input.look()?;
    let start = source.peek(START_BYTES)?;
    // In UTF-16 every other byte is zero.
    let start: Vec<u8> = start.iter().copied().filter(|byte| *byte != 0).collect();
    let has = |tag: &[u8]| memchr::memmem::find(&start, tag).is_some();
    Ok(has(b"<graphml") || has(b":graphml"))
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
    }
}
