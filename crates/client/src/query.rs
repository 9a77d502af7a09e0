//! `Query`: a query, its variables and its limits, to be sent to a server.

use crate::interrupt::Interrupt;
use crate::wait_limit::WaitLimit;
use evergraph_graph::transaction::Isolation;
use evergraph_protocol::request::operation::{
    Alias, MaterializeProperties, Operation, QueryOptions, Session,
};
use evergraph_query::gremlin::bindings::Bindings;
use evergraph_query::gremlin::bytecode::Bytecode;
use std::time::Duration;

/// Results in a frame at most, of the server's 512 KiB.
const FRAME_RESULTS: usize = 1024;
/// How much later than a query's own time limit its answer is still awaited: the server's error says more.
const ANSWER_TIME: Duration = Duration::from_secs(5);
/// What the server's logs call this client.
pub(crate) const USER_AGENT: &str = concat!("evergraph/", env!("CARGO_PKG_VERSION"));

/// A query, its variables and its limits.
///
/// ```
/// use evergraph_client::query::Query;
/// use std::time::Duration;
///
/// let query = Query::text("g.V().has('Person', 'name', name)").bind("name", "Ada").timeout(Duration::from_secs(5));
/// ```
#[derive(Clone, Debug)]
pub struct Query {
    source: QuerySource,
    bindings: Bindings,
    timeout: Option<Duration>,
    interrupt: Interrupt,
    isolation: Option<Isolation>,
    properties: MaterializeProperties,
    is_strict: bool,
    with_vertex_keys: bool,
}

/// What a query says.
#[derive(Clone, Debug)]
enum QuerySource {
    Text(Box<str>),
    Bytecode(Bytecode),
}

impl Query {
    /// A query in Gremlin, as text. Its results come one by one, without bulk.
    #[must_use]
    pub fn text(text: impl Into<Box<str>>) -> Self {
        Self::new(QuerySource::Text(text.into()))
    }

    /// The instructions of a driver. Equal results may come together, with a bulk.
    #[must_use]
    pub fn bytecode(bytecode: Bytecode) -> Self {
        Self::new(QuerySource::Bytecode(bytecode))
    }

    fn new(source: QuerySource) -> Self {
        Self {
            source,
            bindings: Bindings::new(),
            timeout: None,
            interrupt: Interrupt::default(),
            isolation: None,
            properties: MaterializeProperties::All,
            is_strict: false,
            with_vertex_keys: false,
        }
    }

    /// Gives a variable of a text its value.
    #[must_use]
    pub fn bind(
        mut self,
        name: impl Into<Box<str>>,
        value: impl Into<evergraph_graph::value::Value>,
    ) -> Self {
        self.bindings.bind(name, value);
        self
    }

    /// All variables of a text, in place of those before.
    #[must_use]
    pub fn bindings(self, bindings: Bindings) -> Self {
        Self { bindings, ..self }
    }

    /// How long it may take until its last result is read. The server's own limit holds as well.
    #[must_use]
    pub fn timeout(self, timeout: Duration) -> Self {
        Self { timeout: Some(timeout), ..self }
    }

    /// What stops it: its connection is closed, which cancels it on the server.
    #[must_use]
    pub fn cancel(self, interrupt: impl Into<Interrupt>) -> Self {
        Self { interrupt: interrupt.into(), ..self }
    }

    /// The isolation level of a transaction of its own. Within a transaction, that one's.
    #[must_use]
    pub fn isolation(self, isolation: Isolation) -> Self {
        Self { isolation: Some(isolation), ..self }
    }

    /// Which parts of elements are sent; all by default.
    #[must_use]
    pub fn properties(self, properties: MaterializeProperties) -> Self {
        Self { properties, ..self }
    }

    /// Whether a name that the graph does not have is an error.
    #[must_use]
    pub fn strict(self, is_strict: bool) -> Self {
        Self { is_strict, ..self }
    }

    /// The values of unique keys of the vertices in its results come with them: see
    /// [`Results::vertex_key`](crate::results::Results::vertex_key).
    #[must_use]
    pub fn with_vertex_keys(self) -> Self {
        Self { with_vertex_keys: true, ..self }
    }

    /// Its text, if it is one.
    pub(crate) fn as_text(&self) -> Option<&str> {
        match &self.source {
            QuerySource::Text(text) => Some(text),
            QuerySource::Bytecode(_) => None,
        }
    }

    /// How long its answers are awaited.
    pub(crate) fn limit(&self) -> WaitLimit {
        let limit = WaitLimit::new(&self.interrupt);
        match self.timeout.and_then(|timeout| timeout.checked_add(ANSWER_TIME)) {
            Some(time) => limit.within(time),
            None => limit,
        }
    }

    /// What a request for its plan says of it.
    pub(crate) fn plan_operation(&self) -> Operation {
        let options = QueryOptions {
            evaluation_timeout_ms: self.timeout.map(milliseconds),
            isolation: self.isolation,
            strict: self.is_strict,
            ..QueryOptions::default()
        };
        let bindings = self.bindings.clone();
        let gremlin = self.as_text().unwrap_or_default().into();
        Operation::Eval { gremlin, language: None, bindings, options }
    }

    /// The request for it on `database`, or in a session with its isolation level.
    pub(crate) fn operation(&self, database: Option<&str>, within: Option<&Within>) -> Operation {
        let mut options = options(database, within);
        options.evaluation_timeout_ms = self.timeout.map(milliseconds);
        options.materialize_properties = Some(self.properties);
        options.strict = self.is_strict;
        options.vertex_keys = self.with_vertex_keys;
        if within.is_none() {
            options.isolation = self.isolation;
        }
        match &self.source {
            QuerySource::Bytecode(bytecode) => Operation::Bytecode { bytecode: bytecode.clone(), options },
            QuerySource::Text(gremlin) => Operation::Eval {
                gremlin: gremlin.clone(),
                language: Some("gremlin-lang".into()),
                bindings: self.bindings.clone(),
                options,
            },
        }
    }
}

/// The session that a request is part of.
#[derive(Clone, Debug)]
pub(crate) struct Within {
    pub(crate) session: Box<str>,
    pub(crate) isolation: Option<Isolation>,
}

/// The options of a request.
pub(crate) fn options(database: Option<&str>, within: Option<&Within>) -> QueryOptions {
    let alias = |name: &str| Alias { alias: "g".into(), name: name.into() };
    QueryOptions {
        aliases: database.map(alias).into_iter().collect(),
        batch_size: Some(FRAME_RESULTS),
        user_agent: Some(USER_AGENT.into()),
        session: within.map(|within| Session { id: within.session.clone(), manages_transactions: false }),
        isolation: within.and_then(|within| within.isolation),
        ..QueryOptions::default()
    }
}

/// At least 1, since 0 means no limit.
fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX).clamp(1, i64::MAX as u64)
}
