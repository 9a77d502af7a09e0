//! Pajek: a network's vertices and edges. What is read comes back from our own GraphML, and errors name a place of the file.

use crate::elements::{check_written, read_all};
use crate::target::{Memory, Target};
use evergraph_formats::element_source::SourceOptions;
use evergraph_formats::pajek::reader::PajekReader;

/// The target.
pub const TARGET: Target = Target { seeds, promise, memory: Memory { fixed: 4 << 20, per_byte: 1024 } };

const SEEDS: [&str; 3] = [
    r##"% c
*Network n
*Vertices 4
1 "Ada L" 0.1 0.2 ellipse x_fact 1
3 Bob [1-5]
*Arcs :1 "knows"
1 3 2.5 l "since" c Blue
2: 3 1
*Edges
1 1
"##,
    r##"*vertices 3 1
1 "a"
*matrix
0 1
*Partition p
*Vertices 3
1
"##,
    r##"*Vertices 3
*Arcslist
1 2 3
*Edgeslist :2
3 1
*Matrix
0 1 0 2 0 0
0 0 1.5
"##,
];

fn seeds() -> Vec<Vec<u8>> {
    SEEDS.map(|text| text.as_bytes().to_vec()).to_vec()
}

fn promise(input: &[u8]) {
    // Each form of a line's end counts as one.
    let mut text = Vec::with_capacity(input.len());
    for (at, byte) in input.iter().enumerate() {
        match byte {
            b'\r' if input.get(at + 1) == Some(&b'\n') => {}
            b'\r' => text.push(b'\n'),
            other => text.push(*other),
        }
    }
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&text);
    check_written(&read_all(Ok(PajekReader::new(input, SourceOptions::default())), Some(text)));
}
