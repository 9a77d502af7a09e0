//! Announced: what a reader has announced goes with what it reads, in the same messages.

use crate::split_graph::{AGE, DirectAsker, KNOWS};
use crate::{read_by_messages, ring};
use evergraph_cluster::remote::partition_view::PartitionView;
use evergraph_cluster::remote::remote_snapshot::{RemoteLimits, RemoteSnapshot};
use evergraph_cluster::remote::remote_view::RemoteView;
use evergraph_cluster::remote::view_asking::{OwnWork, PartitionAsker};
use evergraph_graph::column::Column;
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::id::{Direction, PartitionId, VertexId};
use evergraph_graph::next_reads::NextReads;
use evergraph_graph::travel::Travels;
use evergraph_graph::value::ValueType;
use evergraph_graph::view::{NeighborBatch, NeighborCursor};
use evergraph_storage::view::View as _;
use std::sync::Arc;

/// Nobody answers for one partition.
struct LosingAsker {
    asker: Arc<DirectAsker>,
    lost: PartitionId,
}

impl PartitionAsker for LosingAsker {
    fn ask_beside(
        &self,
        messages: Vec<(PartitionId, Vec<u8>)>,
        own_work: OwnWork<'_>,
    ) -> Result<Vec<Vec<u8>>> {
        if messages.iter().any(|(partition, _)| *partition == self.lost) {
            return Err(Error::new(ErrorKind::Busy, "nobody answers"));
        }
        self.asker.ask_beside(messages, own_work)
    }

    fn travels(&self) -> Option<Arc<dyn Travels>> {
        self.asker.travels()
    }

    fn own_view(&self, partition: PartitionId) -> Option<Arc<dyn PartitionView>> {
        self.asker.own_view(partition)
    }

    fn keeps_all(&self) -> bool {
        self.asker.keeps_all()
    }
}

#[test]
fn what_is_read_goes_with_what_was_announced() {
    let (graph, vertices) = ring(100);
    read_by_messages(&graph, |reader, asker| {
        reader.ahead(NextReads::VertexProperties(&vertices[..40], AGE));
        let mut labels = Vec::new();
        reader.labels(&vertices[20..60], &mut labels).unwrap();
        assert_eq!((labels.len(), asker.counted()), (40, (1, 4)), "labels with ages");
        reader.ahead(NextReads::EdgesOfType(&vertices[40..60], KNOWS, Direction::Out));
        let mut ages = Column::new(ValueType::I64);
        reader.vertex_properties(&vertices[..40], AGE, &mut ages).unwrap();
        assert_eq!((ages.len(), asker.counted().0), (40, 0), "they have come");
        let list = |vertex: usize| {
            let (mut cursor, mut batch) = (NeighborCursor::default(), NeighborBatch::default());
            reader
                .neighbors(
                    &vertices[vertex..=vertex],
                    Some(&[KNOWS]),
                    Direction::Out,
                    &mut cursor,
                    9,
                    &mut batch,
                )
                .unwrap();
            batch.len()
        };
        assert_eq!((list(3), asker.counted().0), (2, 1), "a list with others");
        assert_eq!((list(41), asker.counted().0), (2, 0), "it has come");
    });
}

#[test]
fn a_partition_that_is_lost_fails_what_is_read_of_it_and_nothing_else() {
    let (graph, vertices) = ring(100);
    let lost = PartitionId(2);
    let (_, asker) = graph.remote_at(graph.now, RemoteLimits::default());
    let asker = Arc::new(LosingAsker { asker, lost }) as Arc<dyn PartitionAsker>;
    let snapshot = RemoteSnapshot::new(graph.now, graph.map_with(None), asker, RemoteLimits::default());
    let view = RemoteView::new(&snapshot);
    let of_lost = |vertex: &VertexId| graph.partitions.of_group(vertex.group()) == lost;
    let (there, elsewhere): (Vec<VertexId>, Vec<VertexId>) = vertices.into_iter().partition(of_lost);
    view.ahead(NextReads::VertexProperties(&there, AGE));
    let mut labels = vec![None; elsewhere.len()];
    view.labels(&elsewhere[..9], &mut labels[..9]).unwrap();
    assert!(labels[..9].iter().all(Option::is_some));
    let mut ages = Vec::new();
    let error = view.vertex_properties(&there, AGE, &mut ages).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Busy);
}
