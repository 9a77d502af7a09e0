//! Perform: what an operation does in ours. All do it in a transaction; a read can ask a snapshot as well.
//!
//! Whatever is asked of a node or link that is gone finds nothing, which is an answer like any other.

use crate::social::client::{LIST_MAX, OperationOutcome, seen_of_list};
use crate::social::graph::SocialGraph;
use crate::social::operation::{Link, Operation};
use evergraph::transaction::TransactionById;
use evergraph_graph::column::Column;
use evergraph_graph::error::{ErrorKind, Result};
use evergraph_graph::id::{Direction, EdgeId};
use evergraph_graph::look_up::{OrderedMatches, RangeCursor};
use evergraph_graph::newest::NewestEdges;
use evergraph_graph::transaction::Transaction as _;
use evergraph_graph::value::{Value, ValueType};
use evergraph_graph::view::GraphView;

/// The links of a node, the newest first: edges with their times, and columns of their versions and data.
struct LinkList {
    links: OrderedMatches<EdgeId>,
    _properties: [Column; 2],
}

impl LinkList {
    fn times(&self) -> impl Iterator<Item = i64> {
        self.links.values.iter().map(|time| time.as_i64().unwrap_or(0))
    }
}

/// What `operation` sees in `view`, as a number: 0 if it only writes.
///
/// # Errors
/// Errors of reading.
pub fn read(view: &impl GraphView, graph: &SocialGraph, operation: &Operation) -> Result<u64> {
    Ok(match operation {
        Operation::CountLinks(node, link_type) => {
            let mut counts = Vec::with_capacity(1);
            let types = [graph.types[*link_type]];
            view.degrees(&[graph.vertex(*node)], Some(&types), Direction::Out, &mut counts)?;
            counts.iter().sum()
        }
        Operation::GetLinks(links) => {
            let edges: Vec<EdgeId> = links.iter().map(|link| edge(graph, *link)).collect();
            let mut there = Vec::with_capacity(edges.len());
            view.has_edges(&edges, &mut there)?;
            let mut found = 0;
            for (edge, _) in edges.iter().zip(there).filter(|(_, there)| *there) {
                found += u64::from(!view.edge_property_map(*edge)?.is_empty());
            }
            found
        }
        Operation::GetLinkList(node, link_type) => {
            seen_of_list(link_list(view, graph, *node, *link_type)?.times())
        }
        Operation::GetNode(node) => u64::from(!view.vertex_property_map(graph.vertex(*node))?.is_empty()),
        _ => 0,
    })
}

/// Does `operation` at `time` in a transaction, a read too.
///
/// # Errors
/// Errors of reading and writing.
pub fn perform(
    tx: &mut TransactionById,
    graph: &SocialGraph,
    operation: &Operation,
    time: i64,
) -> Result<OperationOutcome> {
    let keys = graph.keys;
    let properties = |data: &[u8]| {
        [(keys.time, Value::I64(time)), (keys.version, Value::I64(1)), (keys.data, Value::Bytes(data.into()))]
    };
    match operation {
        Operation::PutLink(link, data) => {
            let edge = edge(graph, *link);
            let put = tx.put_edge(edge.source, edge.edge_type, edge.target, &properties(data));
            found(put.map(drop))?;
        }
        Operation::DeleteLink(link) => found(tx.delete_edge(edge(graph, *link)))?,
        Operation::AddNode(data) => {
            let vertex = tx.add_vertex(graph.label, &properties(data))?;
            return Ok(OperationOutcome { seen: 0, added: Some(vertex.0) });
        }
        Operation::UpdateNode(node, data) => {
            let vertex = graph.vertex(*node);
            let set = |(key, value)| tx.set_vertex_property(vertex, key, Some(value));
            found(properties(data).into_iter().try_for_each(set))?;
        }
        Operation::DeleteNode(node) => found(tx.delete_vertex(graph.vertex(*node)))?,
        reads => return Ok(OperationOutcome { seen: read(tx, graph, reads)?, added: None }),
    }
    Ok(OperationOutcome::default())
}

/// At most [`LIST_MAX`] of the links of a node.
fn link_list(view: &impl GraphView, graph: &SocialGraph, node: u32, link_type: usize) -> Result<LinkList> {
    let asked = NewestEdges::new(graph.vertex(node), graph.types[link_type], graph.keys.time);
    let (mut cursor, mut links) = (RangeCursor::default(), OrderedMatches::default());
    let keys = [graph.keys.version, graph.keys.data];
    let mut properties = [ValueType::I64, ValueType::Bytes].map(Column::new);
    view.newest_with_properties(&asked, &mut cursor, LIST_MAX, &mut links, &keys, &mut properties)?;
    Ok(LinkList { links, _properties: properties })
}

fn edge(graph: &SocialGraph, link: Link) -> EdgeId {
    EdgeId {
        source: graph.vertex(link.source),
        edge_type: graph.types[link.link_type],
        target: graph.vertex(link.target),
        discriminator: 0,
    }
}

/// Nothing there to write to is an answer, not a failure.
fn found(written: Result<()>) -> Result<()> {
    written.or_else(|error| if error.kind() == ErrorKind::NotFound { Ok(()) } else { Err(error) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clients::transact;
    use crate::social::network::Network;
    use crate::social::shape::Degrees;
    use evergraph::generate::random::Random;
    use evergraph::{Database, Isolation};
    use evergraph_graph::cancel::CancelFlag;
    use evergraph_graph::id::VertexId;

    #[test]
    fn each_operation_does_what_it_says_and_lists_begin_with_the_newest() {
        let database = Database::in_memory().unwrap();
        let network = Network::new(&Degrees::PowerLaw, 100, &mut Random::new(1, 0, 0));
        let graph = SocialGraph::load(&database, network, &CancelFlag::default()).unwrap();
        let mut time = 1000;
        let mut run = |operation: Operation| {
            time += 1;
            transact(&database, Isolation::Serializable, |tx| perform(tx, &graph, &operation, time))
                .unwrap()
                .0
        };
        let lonely = graph.network.by_links(99);
        let link = |target| Link { source: lonely, link_type: 1, target };
        for target in [5, 9, 5, 7] {
            run(Operation::PutLink(link(target), vec![1, 2]));
        }
        run(Operation::DeleteLink(link(7)));
        run(Operation::DeleteLink(link(8)));
        let list = || {
            let (links, _) =
                transact(&database, Isolation::Snapshot, |tx| link_list(tx, &graph, lonely, 1)).unwrap();
            let targets = links.links.items.iter().map(|edge| edge.target);
            links.times().zip(targets).collect::<Vec<_>>()
        };
        assert_eq!(list(), [(1003, graph.vertex(5)), (1002, graph.vertex(9))]);
        let added = run(Operation::AddNode(vec![3])).added.unwrap();
        run(Operation::DeleteNode(9));
        graph.network.replace(9, added);
        run(Operation::UpdateNode(9, vec![4]));
        for (operation, seen) in [
            (Operation::GetNode(9), 1),
            (Operation::CountLinks(9, 0), 0),
            (Operation::CountLinks(lonely, 1), 1),
            (Operation::GetLinks(vec![link(5), link(9)]), 1),
            (Operation::GetLinkList(lonely, 1), 1004),
        ] {
            assert_eq!(run(operation), OperationOutcome { seen, added: None });
        }
        let seen = database.snapshot().vertex_property_map(VertexId(added)).unwrap();
        assert!(seen.contains(&(graph.keys.data, Value::Bytes([4].into()))), "{seen:?}");
        assert_eq!(list(), [(1003, graph.vertex(5))], "a node that goes takes its links along");
    }
}
