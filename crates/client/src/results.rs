//! `Results`: the results of a query, frame by frame, as the server sends them.

use crate::connection::{Connection, RequestFailure};
use crate::pool::Lease;
use crate::query::{Query, Within};
use crate::server_answer::{UnknownOutcome, error_of};
use crate::stream::failed;
use crate::wait_limit::WaitLimit;
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::value::Value;
use evergraph_protocol::response::attributes::Attributes;
use evergraph_protocol::response::read::Response;
use evergraph_protocol::response::status::Status;
use evergraph_protocol::result::result_value::{BulkResult, ResultValue};
use evergraph_storage::planted::{Bug, planted};
use std::collections::HashMap;
use uuid::Uuid;

/// Repetitions of a result after which its time and its caller are asked again.
const REPEATED_AT_ONCE: u64 = 1024;
/// Warnings of an answer that are kept, and their bytes: a server has a few, and whoever sends more tells nothing.
const WARNINGS_MAX: usize = 1000;
const WARNINGS_BYTES_MAX: usize = 1 << 20;

/// The results of a query, as the server sends them: what is not asked for yet is not computed, but for some frames.
///
/// Dropped before their end, they stop the query: its connection is closed; within a transaction the rest is skipped.
#[derive(Debug)]
pub struct Results<'c> {
    carrier: Carrier<'c>,
    id: Uuid,
    limit: WaitLimit,
    text: Option<Box<str>>,
    is_in_transaction: bool,
    /// A frame that came and was not taken yet.
    ahead: Option<Vec<BulkResult>>,
    /// A result that was taken less often than it occurs.
    repeated: Option<BulkResult>,
    /// What is left of a frame.
    current: std::vec::IntoIter<BulkResult>,
    has_ended: bool,
    warnings: Vec<String>,
    /// How many warnings were kept, and the bytes of all that came.
    warnings_count: usize,
    warnings_bytes: usize,
    keys: VertexKeys,
}

/// What carries results.
#[derive(Debug)]
enum Carrier<'c> {
    Leased(Box<Lease>),
    Borrowed(&'c mut Connection),
}

impl Carrier<'_> {
    fn connection(&mut self) -> &mut Connection {
        match self {
            Self::Leased(lease) => lease.connection(),
            Self::Borrowed(connection) => connection,
        }
    }
}

/// Unique keys of vertices in frames. Results lie in the frame that has their keys, or in those behind it up to the next
/// one that has keys, whose first results may still belong to the one before.
#[derive(Debug, Default)]
struct VertexKeys {
    newest: HashMap<i64, Value>,
    before: HashMap<i64, Value>,
}

impl<'c> Results<'c> {
    /// Sends `query` by `lease`, and waits for its first frame.
    pub(crate) fn of_lease(lease: Lease, query: &Query, database: Option<&str>) -> Result<Self> {
        Self::begin(Carrier::Leased(Box::new(lease)), query, database, None, query.limit())
    }

    /// The same in a session on `connection`.
    pub(crate) fn within(
        connection: &'c mut Connection,
        query: &Query,
        database: Option<&str>,
        within: &Within,
        limit: WaitLimit,
    ) -> Result<Self> {
        Self::begin(Carrier::Borrowed(connection), query, database, Some(within), limit)
    }

    fn begin(
        mut carrier: Carrier<'c>,
        query: &Query,
        database: Option<&str>,
        within: Option<&Within>,
        limit: WaitLimit,
    ) -> Result<Self> {
        let operation = query.operation(database, within);
        let id = carrier.connection().send(operation, &limit).map_err(RequestFailure::into_error)?;
        let mut results = Self {
            carrier,
            id,
            limit,
            text: query.as_text().map(Box::from),
            is_in_transaction: within.is_some(),
            ahead: None,
            repeated: None,
            current: Vec::new().into_iter(),
            has_ended: false,
            warnings: Vec::new(),
            warnings_count: 0,
            warnings_bytes: 0,
            keys: VertexKeys::default(),
        };
        let first = results.receive()?;
        results.ahead = Some(first);
        Ok(results)
    }

    /// The next frame; `None` after the last one. What [`Results::next_result`] left of the frame before comes first.
    ///
    /// # Errors
    /// Errors of the query, with the server's kind: `invalid`, `limit`, `conflict`, `busy`; `io` if the connection was lost,
    /// `cancelled`. If a query that writes may have been committed nevertheless, [`UnknownOutcome::is_of`] says so.
    pub fn next_frame(&mut self) -> Result<Option<Vec<BulkResult>>> {
        if self.repeated.is_some() || self.current.len() > 0 {
            let left = std::mem::take(&mut self.current);
            return Ok(Some(self.repeated.take().into_iter().chain(left).collect()));
        }
        loop {
            let frame = match self.ahead.take() {
                Some(frame) => frame,
                None if self.has_ended => return Ok(None),
                None => self.receive()?,
            };
            if !frame.is_empty() {
                return Ok(Some(frame));
            }
        }
    }

    /// The next result, with the number of times that it occurs.
    ///
    /// # Errors
    /// As [`Results::next_frame`].
    pub fn next_result(&mut self) -> Result<Option<BulkResult>> {
        loop {
            if let Some(result) = self.repeated.take().or_else(|| self.current.next()) {
                return Ok(Some(result));
            }
            match self.next_frame()? {
                Some(frame) => self.current = frame.into_iter(),
                None => return Ok(None),
            }
        }
    }

    /// All results, each as many times as it occurs.
    ///
    /// # Errors
    /// As [`Results::next_values`].
    pub fn collect(mut self) -> Result<Vec<ResultValue>> {
        self.next_values(usize::MAX)
    }

    /// The next results, at most `most` of them, each as many times as it occurs; fewer are the last ones.
    ///
    /// # Errors
    /// As [`Results::next_frame`]; `limit` if they take more than
    /// [`results_bytes_max`](crate::options::ClientOptions::results_bytes_max): a few bytes of a server may stand for a result that
    /// occurs any number of times.
    pub fn next_values(&mut self, most: usize) -> Result<Vec<ResultValue>> {
        let bytes_max = self.carrier.connection().destination().options.results_bytes_max;
        let (mut values, mut bytes) = (Vec::new(), 0_u64);
        while values.len() < most {
            let Some(BulkResult { value, bulk }) = self.next_result()? else { break };
            let count = bulk.min((most - values.len()) as u64);
            if count < bulk {
                self.repeated = Some(BulkResult { value: value.clone(), bulk: bulk - count });
            }
            let one = (size_of::<ResultValue>() + value.heap_bytes()) as u64;
            bytes = bytes.saturating_add(one.saturating_mul(count));
            if bytes > bytes_max && !planted(Bug::BulksUnchecked) {
                let text = format!(
                    "the results take more than {bytes_max} bytes: ask for fewer of them, or read them one by one, each with \
                     the number of times that it occurs"
                );
                return Err(Error::new(ErrorKind::Limit, text));
            }
            for repeated in 1..count {
                if repeated.is_multiple_of(REPEATED_AT_ONCE) {
                    self.check()?;
                }
                values.push(value.clone());
            }
            if count > 0 {
                values.push(value);
            }
        }
        Ok(values)
    }

    /// Whether the caller may go on with what came: for loops over a result that occurs many times, which wait for no server.
    ///
    /// # Errors
    /// `cancelled` on request, `limit` once the query's time is over.
    pub fn check(&mut self) -> Result<()> {
        let checked = self.limit.check();
        checked.map_err(|error| {
            let url = &self.carrier.connection().destination().url;
            failed(url, "take the results of", &error)
        })
    }

    /// What the server notes beside the results, such as an unknown name in the query; once.
    pub fn take_warnings(&mut self) -> Vec<String> {
        std::mem::take(&mut self.warnings)
    }

    /// The value of the unique key of a vertex in the newest frame, if it has one and the query asked for it.
    #[must_use]
    pub fn vertex_key(&self, vertex: i64) -> Option<&Value> {
        self.keys.newest.get(&vertex).or_else(|| self.keys.before.get(&vertex))
    }

    fn receive(&mut self) -> Result<Vec<BulkResult>> {
        let (id, limit) = (self.id, self.limit.clone());
        let answer = self.carrier.connection().receive(id, &limit);
        let response = answer.map_err(|failure| self.lost(failure))?;
        match response.status() {
            Some(status) if status.is_success() => {
                self.has_ended = status != Status::PartialContent;
                self.note(&response);
                Ok(response.results)
            }
            _ => {
                self.has_ended = true;
                Err(error_of(&response, self.text.as_deref()))
            }
        }
    }

    fn lost(&mut self, failure: RequestFailure) -> Error {
        self.has_ended = true;
        match failure {
            RequestFailure::Lost(error) if self.is_in_transaction => {
                Error::new(error.kind(), format!("{error}; the server rolls the transaction back"))
            }
            RequestFailure::Lost(error) => {
                UnknownOutcome::of(&error, "if the query writes, it is not known whether it was committed")
            }
            failure => failure.into_error(),
        }
    }

    fn note(&mut self, response: &Response) {
        if let Some(Value::List(warnings)) = response.attributes.get(Attributes::WARNINGS) {
            for warning in warnings.as_slice().iter().filter_map(Value::as_str) {
                self.warnings_bytes += warning.len();
                let has_room =
                    self.warnings_count < WARNINGS_MAX && self.warnings_bytes <= WARNINGS_BYTES_MAX;
                if has_room || planted(Bug::WarningsUnlimited) {
                    self.warnings_count += 1;
                    self.warnings.push(warning.to_owned());
                }
            }
        }
        if let Some(Value::Map(keys)) = response.attributes.get(Attributes::VERTEX_KEYS) {
            let key = |(vertex, key): &(Value, Value)| Some((vertex.as_i64()?, key.clone()));
            let newest = keys.as_slice().iter().filter_map(key).collect();
            self.keys.before = std::mem::replace(&mut self.keys.newest, newest);
        }
    }
}
