//! Node-link: the nodes and links of a JSON file. What is read comes back from our own GraphML, and errors name a place of the file.

use crate::elements::{check_written, read_all};
use crate::target::{Memory, Target};
use evergraph_formats::element_source::SourceOptions;
use evergraph_formats::node_link::reader::NodeLinkReader;
use evergraph_formats::node_link::shape;

/// The target.
pub const TARGET: Target = Target { seeds, promise, memory: Memory { fixed: 4 << 20, per_byte: 1024 } };

const SEEDS: [&str; 7] = [
    r##"{"directed": false, "multigraph": true, "graph": {"name": "k"}, "nodes": [{"id": "a", "w": 1, "l": [1, null, {"x": 0.5}]}, {"id": "b"}], "links": [{"source": "a", "target": "b", "key": 0}, {"source": 0, "target": 1}]}"##,
    r##"{"nodes":[{"name":"a","group":1},{"name":"b"}],"links":[{"source":0,"target":1,"value":3},{"source":"b","target":"a"}]}"##,
    r##"{"attributes":{},"options":{"type":"undirected"},"nodes":[{"key":"a","attributes":{"x":1e3}}],"edges":[{"key":"e","source":"a","target":"a","undirected":true},["a","a"]]}"##,
    r##"[{"data":{"id":"a","parent":"b"},"position":{"x":1},"group":"nodes"},{"data":{"id":"b"}},{"data":{"id":"e","source":"a","target":"b"},"classes":"x"}]"##,
    r##"{"elements":{"nodes":[{"data":{"id":"a"}}],"edges":[{"data":{"source":"a","target":"a","w":18446744073709551616}}]}}"##,
    r##"{"graph":{"directed":true,"nodes":{"a":{"label":"A","metadata":{"n":1}}},"edges":[{"source":"a","target":"a","relation":"is","directed":false}]}}"##,
    r##"{"nodes":[{"id":"1","labels":["P"],"properties":{"n":"\u00e4"}}],"relationships":[{"type":"K","startNode":"1","endNode":1}],"x":"y"}"##,
];

fn seeds() -> Vec<Vec<u8>> {
    SEEDS.map(|text| text.as_bytes().to_vec()).to_vec()
}

fn promise(input: &[u8]) {
    std::hint::black_box(shape::looks_like(input));
    check_written(&read_all(Ok(NodeLinkReader::new(input, SourceOptions::default())), Some(input)));
}
