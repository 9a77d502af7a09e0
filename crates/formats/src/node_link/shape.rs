//! Shape: recognises a JSON file of nodes and links from its beginning.
//!
//! ```text
//! {"directed": ..., "nodes": [          yes, by a list's key in the outermost object
//! {"graph": {"nodes": {                 yes, by one in its graph
//! [{"data": {                           yes, Cytoscape's list of elements
//! {"id": 1, "label": ...}               no: a vertex of GraphSON, which has these keys deeper only
//! ```

/// The keys of lists of nodes and links.
const LISTS: [&[u8]; 6] = [b"nodes", b"nodeList", b"links", b"edges", b"edgeList", b"relationships"];

/// An object or array that is open.
struct OpenContainer {
    is_object: bool,
    /// The key that was read last.
    key: Vec<u8>,
}

/// Whether a file that begins with `start` is one of nodes and links. Cost: one pass.
#[must_use]
pub fn looks_like(start: &[u8]) -> bool {
    let start = start.strip_prefix(b"\xef\xbb\xbf").unwrap_or(start);
    let (mut open, mut at): (Vec<OpenContainer>, usize) = (Vec::new(), 0);
    while let Some(byte) = start.get(at) {
        at += 1;
        match byte {
            b'{' | b'[' => open.push(OpenContainer { is_object: *byte == b'{', key: Vec::new() }),
            b'}' | b']' => drop(open.pop()),
            b'"' => {
                let Some(length) = string_length(&start[at..]) else { return false };
                let text = &start[at..at + length];
                at += length + 1;
                let mut behind = start[at..].iter().copied().filter(|byte| !byte.is_ascii_whitespace());
                if behind.next() != Some(b':') {
                    continue;
                }
                let value = behind.next();
                if let Some(innermost) = open.last_mut().filter(|open| open.is_object) {
                    innermost.key = text.to_vec();
                }
                if is_telling(&open, text, value) {
                    return true;
                }
            }
            byte if open.is_empty() && !byte.is_ascii_whitespace() => return false,
            _ => {}
        }
    }
    false
}

/// Whether `key`, whose value begins with `value`, tells that the objects around it are a graph.
fn is_telling(open: &[OpenContainer], key: &[u8], value: Option<u8>) -> bool {
    let is_filled = matches!(value, Some(b'[' | b'{'));
    let outermost = open.first().map(|open| (open.is_object, open.key.as_slice()));
    let is_list = is_filled && LISTS.contains(&key);
    match (outermost, open.len()) {
        (Some((true, _)), 1) => is_list || (is_filled && key == b"elements"),
        (Some((true, b"graph")), 2) | (Some((true, b"graphs")), 3) => is_list,
        (Some((false, _)), 2) => key == b"data" && value == Some(b'{'),
        _ => false,
    }
}

/// How many bytes the string has that begins with `text`, behind its quote; `None` if it has no end there.
fn string_length(text: &[u8]) -> Option<usize> {
    let mut at = 0;
    loop {
        match text.get(at)? {
            b'"' => return Some(at),
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn graphs_are_told_from_other_json_by_their_beginning() {
        for text in [
            "{\"directed\": false, \"graph\": {}, \"nodes\": [{\"id\"",
            "\u{feff} {\n\"links\" : [",
            "{\"nodes\":[{\"label\":\"7\",\"id\":\"6\"}]}",
            "{\"graph\":{\"id\":\"x\",\"nodes\":{\"a\":{",
            "{\"graphs\":[{\"nodes\":{",
            "{\"elements\":{\"nodes\":[",
            "[{\"data\":{\"id\":\"a\"}}]",
            "{\"nodeList\":[],\"edgeList\":[]}",
        ] {
            assert!(looks_like(text.as_bytes()), "{text}");
        }
        for text in [
            "",
            "x",
            "7 {\"nodes\":[]}",
            "{\"id\":1,\"label\":\"person\",\"outE\":{\"nodes\":[{\"id\":1,\"inV\":2}]}}",
            "{\"vertices\":[{\"id\":1}]}",
            "{\"nodes\": 7}",
            "{\"a\": \"nodes\", \"b\": \"\\\"nodes\\\":[\"}",
            "{\"graph\": {\"x\": {\"nodes\": []}}}",
            "[{\"name\": \"data\"}]",
            "{\"name\": \"evergraph",
        ] {
            assert!(!looks_like(text.as_bytes()), "{text}");
        }
    }
}
