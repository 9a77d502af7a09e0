//! Results of a query, one by one.

use evergraph_graph::error::Result;
use evergraph_query::session;
use evergraph_query::value::item::Item;

/// The results of a query, in its order: a batch is computed when the previous one is used up. Ends after an error.
///
/// Dropping it ends the query: a query that writes has then written for the fetched results and the rest of their
/// batch.
pub struct Results<'q> {
    /// `None` after the end.
    running: Option<session::Results<'q>>,
    /// The rest of the batch, and how often each row comes.
    rows: std::vec::IntoIter<(Item, u64)>,
    /// The row that comes again.
    again: Option<(Item, u64)>,
}

impl<'q> Results<'q> {
    pub(crate) fn new(running: session::Results<'q>) -> Self {
        Self { running: Some(running), rows: Vec::new().into_iter(), again: None }
    }

    fn fetch(&mut self) -> Result<Option<Item>> {
        loop {
            if let Some((item, times)) = self.again.take().or_else(|| self.rows.next()) {
                match times {
                    0 => continue,
                    1 => return Ok(Some(item)),
                    _ => self.again = Some((item.clone(), times - 1)),
                }
                return Ok(Some(item));
            }
            let Some(running) = &mut self.running else { return Ok(None) };
            let Some(batch) = running.next_batch()? else { return Ok(None) };
            let rows = batch.current.items().enumerate().map(|(row, item)| (item, batch.bulk(row)));
            self.rows = rows.collect::<Vec<_>>().into_iter();
        }
    }
}

impl Iterator for Results<'_> {
    type Item = Result<Item>;

    fn next(&mut self) -> Option<Self::Item> {
        let next = self.fetch().transpose();
        if !matches!(next, Some(Ok(_))) {
            self.running = None;
        }
        next
    }
}

impl std::iter::FusedIterator for Results<'_> {}
