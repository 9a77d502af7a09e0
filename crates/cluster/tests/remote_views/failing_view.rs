//! Failing view: a partition at hand whose store cannot be read, or is read for ever.

use evergraph_cluster::remote::item_form::ListEntry;
use evergraph_cluster::remote::partition_view::PartitionView;
use evergraph_cluster::remote::view_answer::{AnswerPage, GroupFacts, ViewAnswer};
use evergraph_cluster::remote::view_question::ViewQuestion;
use evergraph_graph::cancel::CancelFlag;
use evergraph_graph::column::ValueSink;
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::id::{Direction, EdgeId, GroupId, KeyId, LabelId, TypeId, VertexId};
use evergraph_graph::value::Value;
use evergraph_storage::io::clock::{Clock as _, SystemClock};
use evergraph_storage::snapshot::index_entries::CheckTime;
use evergraph_storage::view::GroupBits;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// Far more than anything here takes.
const LONG: Duration = Duration::from_secs(20);

/// How it fails. Before that it appends what is wrong.
#[derive(Clone)]
pub enum FailingView {
    ByError,
    ByPanic,
    /// Says nothing of any item, and does not fail.
    ByNothing,
    /// An index that is scanned until its reader waits no longer.
    Endless,
    /// An index that finds nothing, looks once, and counts its questions. It cancels its reader with the first.
    Cancelling(CancelFlag, Arc<AtomicUsize>),
    /// An index that is scanned, which looks before each of ten groups, and counts its looks. It cancels its reader with the first.
    CancellingScan(CancelFlag, Arc<AtomicUsize>),
}

impl FailingView {
    fn fail<T>(&self) -> Result<T> {
        match self {
            Self::Endless
            | Self::Cancelling(..)
            | Self::CancellingScan(..)
            | Self::ByNothing
            | Self::ByError => Err(Error::new(ErrorKind::Corrupt, "a page is damaged")),
            Self::ByPanic => panic!("on purpose"),
        }
    }
}

impl FailingView {
    fn fail_or_forget<T>(&self) -> Result<Vec<T>> {
        if let Self::ByNothing = self { Ok(Vec::new()) } else { self.fail() }
    }
}

impl PartitionView for FailingView {
    fn facts(&self, _: &[GroupId]) -> Result<Vec<GroupFacts>> {
        self.fail()
    }

    fn edge_types(&self, _: GroupId, _: Direction) -> Result<Vec<TypeId>> {
        self.fail()
    }

    fn group_edge_count(&self, _: GroupId, _: TypeId) -> Result<u64> {
        self.fail()
    }

    fn live(&self, _: GroupId) -> Result<GroupBits> {
        self.fail()
    }

    fn labels(&self, _: &[VertexId]) -> Result<Vec<Option<LabelId>>> {
        self.fail_or_forget()
    }

    fn vertex_properties(&self, _: &[VertexId], _: KeyId, values: &mut dyn ValueSink) -> Result<()> {
        if let Self::ByNothing = self {
            return Ok(());
        }
        values.put(Some(Value::I64(77)));
        self.fail()
    }

    fn vertex_property_map(&self, _: VertexId) -> Result<Vec<(KeyId, Value)>> {
        self.fail()
    }

    fn neighbors(
        &self,
        vertex: VertexId,
        _: (TypeId, Direction),
        _: Option<ListEntry>,
        _: usize,
        list: &mut Vec<ListEntry>,
    ) -> Result<()> {
        list.push((vertex, 77));
        self.fail()
    }

    fn degrees(&self, _: &[VertexId], _: (TypeId, Direction)) -> Result<Vec<u64>> {
        self.fail_or_forget()
    }

    fn has_edges(&self, _: &[EdgeId]) -> Result<Vec<bool>> {
        self.fail_or_forget()
    }

    fn count_edges_between(&self, _: &[(VertexId, VertexId)], _: TypeId) -> Result<Vec<u32>> {
        self.fail_or_forget()
    }

    fn edge_properties(&self, _: &[EdgeId], _: KeyId, values: &mut dyn ValueSink) -> Result<()> {
        if let Self::ByNothing = self {
            return Ok(());
        }
        values.put(Some(Value::I64(77)));
        self.fail()
    }

    fn edge_property_map(&self, _: EdgeId) -> Result<Vec<(KeyId, Value)>> {
        self.fail()
    }

    fn of_index(&self, _: &ViewQuestion, _: usize, check_time: CheckTime<'_>) -> Result<Option<ViewAnswer>> {
        match self {
            Self::Endless => {
                let clock = SystemClock::new();
                while clock.now() < LONG {
                    check_time()?;
                }
            }
            Self::Cancelling(reader, questions) => {
                questions.fetch_add(1, Ordering::Relaxed);
                check_time()?;
                reader.cancel();
                return Ok(Some(ViewAnswer::Items(AnswerPage { entries: Vec::new(), is_last: true })));
            }
            Self::CancellingScan(reader, looks) => {
                for _ in 0..10 {
                    looks.fetch_add(1, Ordering::Relaxed);
                    check_time()?;
                    reader.cancel();
                }
                return Ok(Some(ViewAnswer::Items(AnswerPage { entries: Vec::new(), is_last: true })));
            }
            Self::ByNothing => return Ok(None),
            Self::ByError | Self::ByPanic => {}
        }
        self.fail()
    }
}
