//! GML: a list's vertices and edges. What is read comes back from our own GraphML, and errors name a place of the file.

use crate::elements::{check_written, read_all};
use crate::target::{Memory, Target};
use evergraph_formats::element_source::SourceOptions;
use evergraph_formats::gml::reader::GmlReader;

/// The target.
pub const TARGET: Target = Target { seeds, promise, memory: Memory { fixed: 4 << 20, per_byte: 1024 } };

const SEEDS: [&str; 3] = [
    r##"Creator "x"
graph [ directed 1 label "g"
  node [ id 0 label "a &amp; &#228;" w 1.5 x -Inf big 18446744073709551616 graphics [ x 1 Point [ y 2 ] ] ]
  node [ id 1 l 1 l "b" one "_networkx_list_start" one 7 m [ k [ v 1 ] ] ] # c
  edge [ id 7 source 0 target 1 value 8 ]
]"##,
    r##"graph[node[id A]node[id "B"]edge[source A target B label ""]]"##,
    r##"# comment
Version 1
graph
[
  comment [ a 1 ]
  node [ id 1 ] edge [ source 1 target 1 ]
]
after 1"##,
];

fn seeds() -> Vec<Vec<u8>> {
    SEEDS.map(|text| text.as_bytes().to_vec()).to_vec()
}

fn promise(input: &[u8]) {
    check_written(&read_all(Ok(GmlReader::new(input, SourceOptions::default())), Some(input)));
}
