//! What a remote snapshot makes of holders that answer little, the same again, or nothing.

use super::*;
use crate::remote::answer_writer::{AnswersWriter, PageBytes};
use crate::remote::item_form::ListWriter;
use crate::remote::remote_view::RemoteView;
use crate::remote::view_answer::{put_label, put_newest_edge, put_property};
use crate::remote::view_asking::OwnWork;
use crate::remote::view_question::ViewQuestions;
use evergraph_graph::error::Error;
use evergraph_graph::id::{Direction, TypeId, VertexId};
use evergraph_graph::index::IndexKind;
use evergraph_graph::look_up::OrderedMatches;
use evergraph_graph::newest::NewestEdges;
use evergraph_graph::next_reads::NextReads;
use evergraph_graph::owner::Owner;
use evergraph_storage::view::View as _;

/// Labels that a message has room for.
const LABELS_MAX: usize = 4;

/// One partition, and one group.
struct OnePartition;

impl GraphMap for OnePartition {
    fn partitions(&self) -> PartitionCount {
        PartitionCount::new(1).expect("a graph may have one partition")
    }

    fn group_count(&self) -> u32 {
        1
    }

    fn group_label(&self, group: GroupId) -> Option<LabelId> {
        (group == GroupId(0)).then_some(LabelId(0))
    }

    fn partition_of_value(&self, _: IndexId, _: &Value) -> Option<PartitionId> {
        None
    }
}

/// Answers a few labels a message, always the same page of lists, maps and newest edges, and no sizes of indexes.
struct OddHolder {
    messages: Mutex<usize>,
    /// Why it says nothing of indexes.
    refusal: ErrorKind,
}

impl OddHolder {
    fn answer(&self, question: &ViewQuestion, writer: &mut AnswersWriter) -> Result<()> {
        let (mut answer, mut page) = (writer.begin(), PageBytes::default());
        match question {
            ViewQuestion::Labels { vertices } => {
                for vertex in vertices.iter().take(LABELS_MAX) {
                    writer.put(&mut answer, |out| put_label(out, Some(LabelId(vertex.0 as u16))))?;
                }
            }
            ViewQuestion::Lists { .. } => {
                page.put(100, |out| ListWriter::default().put(out, (VertexId(9), 0)));
                writer.put(&mut answer, |out| page.encode(out, false))?;
            }
            ViewQuestion::VertexMaps { .. } => {
                page.put(100, |out| put_property(out, KeyId(1), &Value::I64(5)));
                writer.put(&mut answer, |out| page.encode(out, false))?;
            }
            ViewQuestion::Newest { asked, .. } => {
                writer.put_flag(true);
                let edge = asked.edge(VertexId(9), 0);
                writer.put(&mut answer, |out| {
                    put_newest_edge(out, &Value::I64(5), edge, std::iter::empty());
                })?;
                writer.put_flag(false);
            }
            ViewQuestion::IndexSizes => {
                return Err(Error::new(self.refusal, "nobody says how large indexes are"));
            }
            other => panic!("nobody asks {other:?}"),
        }
        writer.end(answer);
        Ok(())
    }
}

impl PartitionAsker for OddHolder {
    fn ask_beside(
        &self,
        messages: Vec<(PartitionId, Vec<u8>)>,
        own_work: OwnWork<'_>,
    ) -> Result<Vec<Vec<u8>>> {
        own_work(&|| Ok(()))?;
        let answer = |(_, bytes): (PartitionId, Vec<u8>)| {
            let mut messages = self.messages.lock();
            *messages += 1;
            assert!(*messages < 10, "it is asked again and again");
            let asked = ViewQuestions::decode(&bytes).expect("it was encoded");
            let mut writer = AnswersWriter::new(asked.answer_bytes_max);
            self.answer(&asked.questions[0], &mut writer)?;
            Ok(writer.finish())
        };
        messages.into_iter().map(answer).collect()
    }

    fn travels(&self) -> Option<Arc<dyn Travels>> {
        None
    }

    fn own_view(&self, _: PartitionId) -> Option<Arc<dyn PartitionView>> {
        None
    }

    fn keeps_all(&self) -> bool {
        false
    }
}

fn snapshot(refusal: ErrorKind) -> (RemoteSnapshot, Arc<OddHolder>) {
    let holder = Arc::new(OddHolder { messages: Mutex::new(0), refusal });
    let asker = Arc::clone(&holder) as Arc<dyn PartitionAsker>;
    (RemoteSnapshot::new(Timestamp(7), Arc::new(OnePartition), asker, RemoteLimits::default()), holder)
}

/// The asker of a node that keeps all partitions, of which one has failed.
struct FailedAtHand(Arc<OddHolder>);

impl PartitionAsker for FailedAtHand {
    fn ask_beside(
        &self,
        messages: Vec<(PartitionId, Vec<u8>)>,
        own_work: OwnWork<'_>,
    ) -> Result<Vec<Vec<u8>>> {
        self.0.ask_beside(messages, own_work)
    }

    fn travels(&self) -> Option<Arc<dyn Travels>> {
        None
    }

    fn own_view(&self, _: PartitionId) -> Option<Arc<dyn PartitionView>> {
        None
    }

    fn keeps_all(&self) -> bool {
        true
    }
}

#[test]
fn where_all_is_at_hand_nothing_is_announced_until_a_partition_has_failed() {
    let holder = Arc::new(OddHolder { messages: Mutex::new(0), refusal: ErrorKind::Io });
    let asker = Arc::new(FailedAtHand(Arc::clone(&holder)));
    let snapshot = RemoteSnapshot::new(Timestamp(7), Arc::new(OnePartition), asker, RemoteLimits::default());
    let view = RemoteView::new(&snapshot);
    let vertices: Vec<_> = (0..3).map(VertexId).collect();
    assert!(!view.heeds_ahead());
    view.ahead(NextReads::Labels(&vertices));
    assert!(snapshot.announced.lock().questions.is_empty(), "it is gathered for nobody");
    view.labels(&vertices[..1], &mut [None]).unwrap();
    assert!(view.heeds_ahead(), "each read of the failed one is a message of its own");
    view.ahead(NextReads::Labels(&vertices));
    assert_eq!(snapshot.announced.lock().questions.len(), 1);
}

#[test]
fn what_is_announced_comes_message_by_message_as_it_is_read() {
    let (snapshot, holder) = snapshot(ErrorKind::Io);
    let view = RemoteView::new(&snapshot);
    let vertices: Vec<_> = (0..10).map(VertexId).collect();
    view.ahead(NextReads::Labels(&vertices));
    let read = |some: &[VertexId]| {
        let mut labels = vec![None; some.len()];
        view.labels(some, &mut labels).unwrap();
        let wanted: Vec<_> = some.iter().map(|vertex| Some(LabelId(vertex.0 as u16))).collect();
        assert_eq!(labels, wanted);
        *holder.messages.lock()
    };
    assert_eq!(read(&vertices[..1]), 1, "one message, whatever was announced");
    assert_eq!(read(&vertices[1..4]), 1);
    assert_eq!(read(&vertices[4..5]), 2, "the rest was announced still");
    assert_eq!(read(&vertices), 3);
    assert!(snapshot.announced.lock().questions.is_empty());
    // What a reader asks for itself is announced no more.
    let more: Vec<_> = (20..28).map(VertexId).collect();
    view.ahead(NextReads::Labels(&more));
    assert_eq!(read(&more), 5);
    let announced = snapshot.announced.lock();
    assert_eq!((announced.questions.len(), announced.items), (0, 0));
}

#[test]
fn a_page_that_begins_where_the_one_before_did_is_an_error_and_no_endless_question() {
    fn list(view: RemoteView<'_>) -> Result<()> {
        view.neighbors(VertexId(1), TypeId(0), Direction::Out, None, 100, &mut Vec::new())
    }
    fn map(view: RemoteView<'_>) -> Result<()> {
        view.vertex_property_map(VertexId(1)).map(drop)
    }
    fn newest(view: RemoteView<'_>) -> Result<()> {
        let asked = NewestEdges::new(VertexId(1), TypeId(0), KeyId(1));
        view.newest(&asked, None, 100, &mut OrderedMatches::default()).map(drop)
    }
    let reads: [fn(RemoteView<'_>) -> Result<()>; 3] = [list, map, newest];
    for read in reads {
        let (snapshot, holder) = snapshot(ErrorKind::Io);
        let error = read(RemoteView::new(&snapshot)).unwrap_err();
        assert_eq!((error.kind(), *holder.messages.lock()), (ErrorKind::Io, 2));
        assert!(error.to_string().contains("goes back"), "{error}");
    }
}

#[test]
fn sizes_of_indexes_that_nobody_tells_are_asked_for_once() {
    let index = IndexId { owner: Owner::Label(LabelId(0)), key: KeyId(0), kind: IndexKind::Hash };
    // Whoever cancelled a query says nothing of the partitions.
    for (refusal, messages) in [(ErrorKind::Io, 1), (ErrorKind::Busy, 1), (ErrorKind::Cancelled, 3)] {
        let (snapshot, holder) = snapshot(refusal);
        let view = RemoteView::new(&snapshot);
        assert!((0..3).all(|_| view.index_size(index).is_none()));
        assert_eq!(*holder.messages.lock(), messages, "{refusal:?}");
    }
}
