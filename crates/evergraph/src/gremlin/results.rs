//! Results of a query: one by one, or some at a time.
//!
//! ```text
//! pipeline ── a batch ──> rows, each with its bulk ──> Iterator, next_items    a result each
//!                                                  └─> next_traversers         equal ones together
//! ```
//!
//! Results that own what they read (of a [`SharedSnapshotTarget`](crate::gremlin::graph::SharedSnapshotTarget) or a
//! [`SharedTransaction`](crate::shared_transaction::SharedTransaction)) are `'static` and [`Send`]: a server suspends a
//! query between two batches, continues it on any thread, and drops it to cancel it.

use crate::gremlin::elements::{ElementDetail, Elements};
use evergraph_graph::byte_size::ByteSize;
use evergraph_graph::catalogue::Catalogue;
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::view::GraphView;
use evergraph_query::execute::context::Graph;
use evergraph_query::execute::limits::{Charge, ResultMeter};
use evergraph_query::session;
use evergraph_query::value::item::Item;
use std::sync::Arc;

/// The results of a query, in its order: a batch is computed when the previous one is used up. Ends after an error.
///
/// Dropping it ends the query: a query that writes has then written for the fetched results and the rest of their
/// batch.
pub struct Results<'q> {
    state: State<'q>,
    /// The rest of the batch, and how often each row comes.
    rows: std::vec::IntoIter<(Item, u64)>,
    /// The row that comes again.
    again: Option<(Item, u64)>,
    /// What was given.
    meter: ResultMeter,
}

/// A query, or what is left of it.
enum State<'q> {
    Running(Box<session::Results<'q>>),
    /// The graph is kept for those who look up what the last results name.
    Ended(Graph<'q>, Charge<'q>),
    /// For the moment between the two.
    Ending,
}

/// A result that comes `bulk` times in a row.
#[derive(Clone, PartialEq, Debug)]
pub struct Traverser {
    /// The result.
    pub item: Item,
    /// How many results it stands for, at least one.
    pub bulk: u64,
}

impl<'q> Results<'q> {
    pub(crate) fn new(running: session::Results<'q>) -> Self {
        let meter = ResultMeter::new(running.charge().limits());
        let state = State::Running(Box::new(running));
        Self { state, rows: Vec::new().into_iter(), again: None, meter }
    }

    /// The next results, at most `most`; fewer are the last ones.
    ///
    /// # Errors
    /// Errors of the query; `limit` if they hold more memory together than the query may.
    pub fn next_items(&mut self, most: usize) -> Result<Vec<Item>> {
        let limit_bytes = self.charge().limits().memory_bytes;
        let (mut all, mut held_bytes) = (Vec::new(), 0);
        for item in self.by_ref().take(most) {
            let item = item?;
            held_bytes += (size_of::<Item>() + item.heap_bytes()) as u64;
            if held_bytes > limit_bytes {
                self.end();
                let limit = ByteSize(limit_bytes);
                let text = format!(
                    "the results would hold more than the query's {limit} of memory: fetch them one by one, narrow the \
                     query, or raise the limit"
                );
                return Err(Error::new(ErrorKind::Limit, text));
            }
            all.push(item);
        }
        Ok(all)
    }

    /// The next results, at most `most` traversers; none if there are no more. At most one batch is computed, so that
    /// fewer need not be the last ones. A limit of rows counts traversers.
    ///
    /// # Errors
    /// Errors of the query.
    pub fn next_traversers(&mut self, most: usize) -> Result<Vec<Traverser>> {
        let next = self.traversers(most);
        if next.is_err() {
            self.end();
        }
        next
    }

    fn traversers(&mut self, most: usize) -> Result<Vec<Traverser>> {
        if self.again.is_none() && self.rows.len() == 0 {
            self.compute()?;
        }
        let rows = self.again.take().into_iter().chain(self.rows.by_ref()).take(most);
        let mut traversers = Vec::with_capacity(rows.size_hint().0);
        for (item, bulk) in rows {
            self.meter.count(&item, 1)?;
            traversers.push(Traverser { item, bulk });
        }
        Ok(traversers)
    }

    /// All results that are left.
    ///
    /// # Errors
    /// Errors of the query; `limit` if they hold more memory together than the query may.
    pub(crate) fn rest(&mut self) -> Result<Vec<Item>> {
        let State::Running(running) = &mut self.state else { return Ok(Vec::new()) };
        let all = running.collect();
        self.end();
        all
    }

    /// Labels and perhaps properties of the elements in `items`, as the graph has them now: results of this query, or
    /// what was made of them.
    ///
    /// # Errors
    /// As [`Elements::read`], within the limits of the query.
    pub fn elements<'i>(
        &self,
        items: impl IntoIterator<Item = &'i Item>,
        detail: ElementDetail,
    ) -> Result<Elements> {
        let mut charge = self.charge().clone();
        let _waits = charge.limit_waits();
        let read = Elements::read(self.view(), items, detail, &mut charge);
        charge.explained(read)
    }

    /// The graph that they come from, with the writes of the query so far.
    #[must_use]
    pub fn view(&self) -> &dyn GraphView {
        match &self.state {
            State::Running(running) => running.view(),
            State::Ended(graph, _) => graph.view(),
            State::Ending => unreachable!("it ends within one call"),
        }
    }

    /// The names of what is in them. A query that writes may add some.
    #[must_use]
    pub fn catalogue(&self) -> Arc<Catalogue> {
        self.view().catalogue()
    }

    fn charge(&self) -> &Charge<'q> {
        match &self.state {
            State::Running(running) => running.charge(),
            State::Ended(_, charge) => charge,
            State::Ending => unreachable!("it ends within one call"),
        }
    }

    fn end(&mut self) {
        (self.rows, self.again) = (Vec::new().into_iter(), None);
        self.state = match std::mem::replace(&mut self.state, State::Ending) {
            State::Running(running) => {
                let (graph, charge) = running.end();
                State::Ended(graph, charge)
            }
            ended => ended,
        };
    }

    /// Computes batches until there are rows, or the end.
    fn compute(&mut self) -> Result<()> {
        while self.rows.len() == 0 {
            let State::Running(running) = &mut self.state else { return Ok(()) };
            let Some(batch) = running.next_batch()? else {
                self.end();
                return Ok(());
            };
            let rows = batch.current.items().enumerate().map(|(row, item)| (item, batch.bulk(row)));
            self.rows = rows.filter(|(_, bulk)| *bulk > 0).collect::<Vec<_>>().into_iter();
        }
        Ok(())
    }

    fn fetch(&mut self) -> Result<Option<Item>> {
        loop {
            if let Some((item, times)) = self.again.take().or_else(|| self.rows.next()) {
                self.meter.count(&item, 1)?;
                if times > 1 {
                    self.again = Some((item.clone(), times - 1));
                }
                return Ok(Some(item));
            }
            if matches!(self.state, State::Ended(..)) {
                return Ok(None);
            }
            self.compute()?;
        }
    }
}

impl Iterator for Results<'_> {
    type Item = Result<Item>;

    fn next(&mut self) -> Option<Self::Item> {
        let next = self.fetch().transpose();
        if matches!(next, Some(Err(_))) {
            self.end();
        }
        next
    }
}

impl std::iter::FusedIterator for Results<'_> {}
