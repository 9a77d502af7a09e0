//! GraphSON: a file of vertices with their edges. What is read comes back from our own file, and errors
//! name a place of it.

use crate::place::assert_inside;
use crate::samples;
use crate::target::{Memory, Target};
use evergraph::export::options::ExportFormat;
use evergraph_formats::element::{Edge, Vertex};
use evergraph_formats::graphson::line_write::{Layout, VertexWriter};
use evergraph_formats::graphson::sides::Side;
use evergraph_formats::graphson::stream::{StreamOptions, VertexStream};

/// The target.
pub const TARGET: Target = Target { seeds, promise, memory: Memory { fixed: 1 << 20, per_byte: 512 } };

const OTHERS: [&str; 5] = [
    r#"{"id":{"@type":"g:Int32","@value":1},"label":"person","outE":{"knows":[{"id":7,"inV":2}]}}"#,
    r#"{"id":1,"label":"a","inE":{"k":[{"id":{"@type":"g:Int64","@value":9},"outV":1,"properties":{"w":0.5}}]}}"#,
    r#"{"vertices":[{"id":"x"},{"id":"y","properties":{"p":[{"id":3,"value":"v","properties":{"m":true}}]}}]}"#,
    r#"{"id":1,"properties":{"at":[{"value":{"@type":"g:Date","@value":1481750076295}}]}}"#,
    r#"{"id":1,"label":"v","type":"vertex","outE":{"e":[{"id":"a","inV":1,"properties":{}}]}}"#,
];

fn seeds() -> Vec<Vec<u8>> {
    let exported = samples::exported(ExportFormat::GraphSon).into_iter().map(|(_, text)| text);
    exported.chain(OTHERS.map(|text| text.as_bytes().to_vec())).collect()
}

fn promise(input: &[u8]) {
    for side in [Side::Out, Side::In] {
        let read = read(input, side);
        for layout in [Layout::Lines, Layout::Wrapped] {
            let mut writer = VertexWriter::new(Vec::new(), layout);
            for (vertex, edges) in &read {
                let (out, in_) = match side {
                    Side::Out => (edges.as_slice(), [].as_slice()),
                    Side::In => ([].as_slice(), edges.as_slice()),
                };
                writer.write_vertex(vertex, out, in_).expect("a vertex that was read can be written");
            }
            let text = writer.finish().expect("memory takes bytes");
            assert_eq!(self::read(&text, side), read, "{}", String::from_utf8_lossy(&text));
        }
    }
}

/// The vertices up to the first error, each with its edges by type.
fn read(text: &[u8], side: Side) -> Vec<(Vertex, Vec<Edge>)> {
    let mut stream = VertexStream::new(text, StreamOptions { side, ..StreamOptions::default() });
    let mut read = Vec::new();
    while let Some(parsed) = stream.next() {
        match parsed {
            Ok(mut parsed) => {
                assert_inside(stream.position(), text);
                parsed.edges.sort_by(|a, b| a.edge_type.cmp(&b.edge_type));
                read.push((parsed.vertex, parsed.edges));
            }
            Err(error) => {
                assert_inside(error.position(), text);
                break;
            }
        }
    }
    read
}
