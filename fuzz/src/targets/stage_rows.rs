//! Stage rows: rows of a query that come from another node. Rows that are read are as many as stand there, and are written in bytes
//! that read the same again; an error names its place.

use crate::samples::values;
use crate::target::{Memory, Target};
use evergraph_graph::id::{EdgeId, TypeId, VertexId};
use evergraph_query::travel::rows;
use evergraph_query::value::item::Item;

/// The target.
pub const TARGET: Target = Target { seeds, promise, memory: Memory { fixed: 1 << 20, per_byte: 512 } };

fn seeds() -> Vec<Vec<u8>> {
    let near: Vec<_> = (0..40).map(|row| (VertexId(row * 3), 1)).collect();
    let far: Vec<_> = (0..40).map(|row| (VertexId(row * 100_000_000), u64::from(row) + 1)).collect();
    let edge = EdgeId { source: VertexId(7), edge_type: TypeId(2), target: VertexId(9), discriminator: 3 };
    let mut items: Vec<_> = values().into_iter().map(|value| (Item::Value(value), 1)).collect();
    items.extend([(Item::Null, 2), (Item::Edge(edge), 1), (Item::Vertex(VertexId(4)), 9)]);
    let edges = vec![(Item::Edge(edge), 1); 5];
    let encoded = [items, edges].map(|rows| rows::of_items(&rows).expect("all of them travel").bytes);
    [rows::of_vertices(&near).bytes, rows::of_vertices(&far).bytes].into_iter().chain(encoded).collect()
}

fn promise(input: &[u8]) {
    match rows::decode(input) {
        Ok(batch) => {
            assert_eq!(batch.current.len(), batch.len());
            assert!((0..batch.len()).all(|row| batch.bulk(row) > 0), "a row stands for one at least");
            let rows: Vec<_> =
                batch.current.items().enumerate().map(|(row, item)| (item, batch.bulk(row))).collect();
            let written = rows::of_items(&rows).expect("what was read travels");
            let again = rows::decode(&written.bytes).expect("what was written reads");
            assert_eq!((written.count as usize, again.len()), (rows.len(), rows.len()));
            for (row, (item, (read, bulk))) in again.current.items().zip(&rows).enumerate() {
                // As text: some numbers equal nothing.
                assert_eq!((format!("{item:?}"), again.bulk(row)), (format!("{read:?}"), *bulk));
            }
        }
        Err(error) => assert!(error.offset <= input.len() && !error.expected.is_empty(), "{error}"),
    }
}
