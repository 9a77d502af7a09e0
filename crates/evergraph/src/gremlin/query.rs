//! A query: its text or bytecode, variables and limits, and how its results are fetched.

use crate::gremlin::algorithms;
use crate::gremlin::answer::FromItem;
use crate::gremlin::argument::IntoArgument;
use crate::gremlin::elements::{ElementDetail, Elements};
use crate::gremlin::graph::{DatabaseTarget, QueryTarget, SharedSnapshotTarget, Streams};
use crate::gremlin::note::{Note, Notes};
use crate::gremlin::results::Results;
use crate::gremlin::task::Task;
use crate::snapshot::Snapshot;
use evergraph_graph::budget::Unlimited;
use evergraph_graph::cancel::CancelFlag;
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::transaction::TransactionOptions;
use evergraph_query::error::TextError;
use evergraph_query::execute::limits::Charge;
use evergraph_query::gremlin::bindings::Bindings;
use evergraph_query::gremlin::bytecode::Bytecode;
use evergraph_query::gremlin::call as calls;
use evergraph_query::gremlin::compile::compile_until;
use evergraph_query::gremlin::mention::Mentions;
use evergraph_query::gremlin::parser::ParseLimits;
use evergraph_query::gremlin::read::read;
use evergraph_query::plan::operator::Plan;
use evergraph_query::service::Services;
use evergraph_query::unknown_name;
use evergraph_query::value::item::Item;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long a query may take, how much memory, and how many results it may have: a minute, a gibibyte, any.
pub type Limits = evergraph_query::execute::limits::QueryLimits;

/// What a query says.
#[derive(Clone, Copy, Debug)]
pub enum QuerySource<'q> {
    /// Gremlin as text.
    Text(&'q str),
    /// The instructions that a driver wrote.
    Bytecode(&'q Bytecode),
}

/// Checked calls, and what they were read from.
enum ReadQuery<'q> {
    Text(&'q str, calls::Query),
    Bytecode(Bytecode),
}

impl<'q> QuerySource<'q> {
    fn read(self, bindings: &Bindings) -> Result<ReadQuery<'q>> {
        match self {
            QuerySource::Text(text) => {
                let query = read(text, &ParseLimits::default(), bindings);
                Ok(ReadQuery::Text(text, query.map_err(|error| shown_in(error, text))?))
            }
            QuerySource::Bytecode(bytecode) => {
                let mut bytecode = bytecode.clone();
                bytecode.check()?;
                Ok(ReadQuery::Bytecode(bytecode))
            }
        }
    }
}

impl ReadQuery<'_> {
    fn query(&self) -> &calls::Query {
        match self {
            Self::Text(_, query) => query,
            Self::Bytecode(bytecode) => bytecode.query(),
        }
    }

    /// `error` in these calls, with its position.
    fn error(&self, error: TextError) -> Error {
        match self {
            Self::Text(text, _) => shown_in(error.within(text), text),
            Self::Bytecode(bytecode) => bytecode.placed(error).into(),
        }
    }

    /// The notes about its names on `graph`.
    fn notes(&self, graph: &impl QueryTarget) -> Result<Vec<Note>> {
        let mentions = Mentions::of(self.query());
        if mentions.read.is_empty() {
            return Ok(Vec::new());
        }
        let notes = unknown_name::notes(&mentions, &*graph.names()?).into_iter();
        Ok(match self {
            Self::Text(text, _) => notes.map(|error| Note::in_text(error.within(text), text)).collect(),
            Self::Bytecode(bytecode) => notes.map(|error| Note::new(bytecode.placed(error))).collect(),
        })
    }
}

fn shown_in(error: TextError, text: &str) -> Error {
    Error::new(error.kind, error.shown_in(text)).because(error)
}

impl<'q> From<&'q str> for QuerySource<'q> {
    fn from(text: &'q str) -> Self {
        QuerySource::Text(text)
    }
}

impl<'q> From<&'q Bytecode> for QuerySource<'q> {
    fn from(bytecode: &'q Bytecode) -> Self {
        QuerySource::Bytecode(bytecode)
    }
}

/// A query on `G` that has not run yet: it runs, and reports errors, only when its results are requested.
#[must_use = "a query runs only when its results are requested: `run()`, `values()`, `iter()`"]
pub struct Query<'q, G> {
    graph: G,
    said: QuerySource<'q>,
    bindings: Bindings,
    /// The first variable with an unsupported value.
    wrong: Option<Error>,
    limits: Limits,
    cancel: CancelFlag,
    services: Services,
    files: bool,
    notes: Option<Notes>,
    strict: bool,
}

impl<'q, G> Query<'q, G> {
    pub(crate) fn new(graph: G, said: impl Into<QuerySource<'q>>) -> Self {
        Self {
            graph,
            said: said.into(),
            bindings: Bindings::new(),
            wrong: None,
            limits: Limits::default(),
            cancel: CancelFlag::default(),
            services: algorithms::services().clone(),
            files: false,
            notes: None,
            strict: false,
        }
    }

    /// Gives the variable `name` of the text a value; the last one counts. An unsupported value is an error
    /// when the query runs; an unused variable is ignored.
    pub fn bind(mut self, name: &str, value: impl IntoArgument) -> Self {
        match value.into_argument() {
            Ok(argument) => self.bindings.bind_argument(name, argument),
            Err(error) => {
                self.wrong.get_or_insert(error.context(format_args!("variable `{name}`")));
            }
        }
        self
    }

    /// Replaces all variables so far by `bindings`.
    pub fn bindings(self, bindings: Bindings) -> Self {
        Self { bindings, ..self }
    }

    /// How long it may take, from its begin until its last result is fetched, including parsing, planning and, on the
    /// database, attempts
    /// after conflicts and the commit. Default: one minute; [`Duration::MAX`] for no limit.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.limits.timeout = timeout;
        self
    }

    /// How many bytes it may hold at once in addition to the graph: rows, texts, collections, groups, paths,
    /// collected results, writes. They are taken from the database's
    /// [budget](crate::options::Options::memory_limit_bytes). Default: 1 GiB.
    pub fn memory_bytes(mut self, memory_bytes: u64) -> Self {
        self.limits.memory_bytes = memory_bytes;
        self
    }

    /// How many results it may have, for those who cannot take any number: one more is an error. A query that runs
    /// for its writes alone ([`Query::run`]) is not limited. Default: no limit.
    ///
    /// ```
    /// use evergraph::{Database, ErrorKind};
    ///
    /// let db = Database::in_memory()?;
    /// let numbers = "g.inject(1, 2, 3)";
    /// assert_eq!(db.gremlin(numbers).result_rows(3).values::<i64>()?, [1, 2, 3]);
    /// let error = db.gremlin(numbers).result_rows(2).items().unwrap_err();
    /// assert_eq!(error.kind(), ErrorKind::Limit);
    /// assert!(error.to_string().contains("its limit `result_rows` of 2"));
    /// # Ok::<(), evergraph::Error>(())
    /// ```
    pub fn result_rows(mut self, result_rows: u64) -> Self {
        self.limits.result_rows = result_rows;
        self
    }

    /// How many bytes its results may take together, as they lie in memory, without the properties of elements
    /// ([`Elements`]). As [`Query::result_rows`] otherwise. Default: no limit.
    pub fn result_bytes(mut self, result_bytes: u64) -> Self {
        self.limits.result_bytes = result_bytes;
        self
    }

    /// All limits at once.
    pub fn limits(self, limits: Limits) -> Self {
        Self { limits, ..self }
    }

    /// Stops with `cancelled` when `cancel` is set.
    pub fn cancel(self, cancel: &CancelFlag) -> Self {
        Self { cancel: cancel.clone(), ..self }
    }

    /// Services that `call()` may call in addition to algorithms. Default: none.
    pub fn services(self, services: &Services) -> Self {
        Self { services: services.clone().with_built_in_of(algorithms::services()), ..self }
    }

    /// Whether it may read and write files: `g.io('people.json').read()` imports, `.write()` exports. Default: false,
    /// because a text from outside should not name files of this machine. Only on the database, and such
    /// a query does nothing else. Without the feature `files` it is an error.
    pub fn files(self, files: bool) -> Self {
        Self { files, ..self }
    }

    /// Collects notes about the query in `notes`, before its first result: see [`Note`]. The last call counts.
    ///
    /// ```
    /// use evergraph::Database;
    /// use evergraph::gremlin::note::Notes;
    ///
    /// let db = Database::in_memory()?;
    /// db.gremlin("g.addV('Account').property('name', 'ann')").run()?;
    /// let notes = Notes::default();
    /// assert_eq!(db.gremlin("g.V().hasLabel('Acount').count()").notes(&notes).one::<i64>()?, 0);
    /// let said = "line 1, column 16: no label is called `Acount`; did you mean `Account`?";
    /// assert_eq!(notes.take()[0].to_string(), said);
    /// # Ok::<(), evergraph::Error>(())
    /// ```
    pub fn notes(self, notes: &Notes) -> Self {
        Self { notes: Some(notes.clone()), ..self }
    }

    /// Whether an unknown name is an error; by default it gets a [`Note`]. A text chooses the same
    /// by `g.with('strict')`.
    pub fn strict(self, strict: bool) -> Self {
        Self { strict, ..self }
    }
}

impl<'q, G: QueryTarget> Query<'q, G> {
    /// The plan of the query, as data. Nothing runs.
    ///
    /// # Errors
    /// `invalid` or `limit` for the text or the bytecode, with the place; see [`crate::gremlin`].
    pub fn plan(self) -> Result<Plan> {
        Ok(self.prepare()?.1.plan)
    }

    /// The plan with its limits, to be run on a target that is chosen by what it does: see [`Task`]. Nothing runs.
    ///
    /// # Errors
    /// As [`Query::plan`].
    pub fn task(self) -> Result<Task> {
        Ok(self.prepare()?.1)
    }

    pub(crate) fn prepare(self) -> Result<(G, Task)> {
        if let Some(wrong) = self.wrong {
            return Err(wrong);
        }
        let started = Instant::now();
        let charge = Charge::new(self.limits, self.cancel.clone(), &Unlimited).since(started);
        let read = self.said.read(&self.bindings);
        let planned = read.and_then(|read| {
            let plan = compile_until(read.query(), &charge.cancel()).map_err(|error| read.error(error))?;
            Ok((read, plan))
        });
        // If its time is over, or somebody asked it to stop, the query says so in its own words.
        charge.check()?;
        let (read, plan) = planned?;
        let strict = self.strict || plan.is_strict();
        if strict || self.notes.is_some() {
            let notes = read.notes(&self.graph)?;
            if let (true, Some(first)) = (strict, notes.first()) {
                return Err(first.clone().into());
            }
            self.notes.iter().for_each(|into| into.set(notes.clone()));
        }
        let (limits, cancel, services, files) = (self.limits, self.cancel, self.services, self.files);
        Ok((self.graph, Task { plan, started, limits, cancel, services, files }))
    }
}

impl<G: QueryTarget> Query<'_, G> {
    /// All results.
    ///
    /// # Errors
    /// `invalid` for a text that is not a query, with the position, for a query that writes on a snapshot, and for
    /// what a
    /// step can't do; `limit`, `cancelled`; in a transaction errors of its writes, on the database also of the
    /// commit: `conflict` only after many attempts.
    pub fn items(self) -> Result<Vec<Item>> {
        self.most(usize::MAX)
    }

    /// All results, each as a `T`.
    ///
    /// # Errors
    /// As [`Query::items`]; `invalid` for a result that is not a `T`, naming its kind. Writes of the query stay.
    pub fn values<T: FromItem>(self) -> Result<Vec<T>> {
        let numbered = self.items()?.into_iter().enumerate();
        numbered
            .map(|(at, item)| {
                T::from_item(item).map_err(|error| error.context(format_args!("result {}", at + 1)))
            })
            .collect()
    }

    /// The only result.
    ///
    /// # Errors
    /// As [`Query::values`]; `not_found` if there is none, `invalid` if there are more. Writes of the query stay.
    pub fn one<T: FromItem>(self) -> Result<T> {
        let mut items = self.most(2)?.into_iter();
        match (items.next(), items.next()) {
            (Some(item), None) => T::from_item(item),
            (Some(_), Some(_)) => Err(Error::invalid(
                "one result was requested, but there are more: end the query with limit(1), or fetch all",
            )),
            (None, _) => Err(Error::new(ErrorKind::NotFound, "one result was requested, but there is none")),
        }
    }

    /// The first result, if there is one. A query that only reads ends there.
    ///
    /// # Errors
    /// As [`Query::values`].
    pub fn first<T: FromItem>(self) -> Result<Option<T>> {
        self.most(1)?.into_iter().next().map(T::from_item).transpose()
    }

    /// Runs it to its end for its writes; its results are not kept.
    ///
    /// # Errors
    /// As [`Query::items`].
    pub fn run(self) -> Result<()> {
        self.most(0).map(drop)
    }

    fn most(self, most: usize) -> Result<Vec<Item>> {
        let (graph, task) = self.prepare()?;
        graph.items(&task, most)
    }
}

impl<G> Query<'_, G> {
    /// The results one by one, while the query runs. Not on the database: stream from a snapshot or a
    /// transaction.
    ///
    /// # Errors
    /// As [`Query::items`] for the text; an error while it runs comes in place of a result.
    pub fn iter<'g>(self) -> Result<Results<'g>>
    where
        G: Streams<'g>,
    {
        let (graph, task) = self.prepare()?;
        graph.results(&task)
    }
}

impl<G> Query<'_, G> {
    /// All results, and the elements in them as the query left them. Not on the database, as [`Query::iter`].
    ///
    /// # Errors
    /// As [`Query::items`] and [`Elements::read`].
    pub fn items_with_elements<'g>(self, detail: ElementDetail) -> Result<(Vec<Item>, Elements)>
    where
        G: Streams<'g>,
    {
        let mut results = self.iter()?;
        let items = results.rest()?;
        let elements = results.elements(&items, detail)?;
        Ok((items, elements))
    }
}

impl<'q> Query<'q, SharedSnapshotTarget> {
    /// A query on `snapshot` whose results keep the snapshot alive, and borrow nothing.
    ///
    /// ```
    /// use evergraph::Database;
    /// use evergraph::gremlin::query::Query;
    /// use std::sync::Arc;
    ///
    /// let db = Database::in_memory()?;
    /// db.gremlin("g.inject(1, 2, 3).addV('Point')").run()?;
    /// let mut results = Query::shared(Arc::new(db.snapshot()), "g.V()").iter()?;
    /// assert_eq!(results.next_items(2)?.len(), 2);
    /// let rest = std::thread::spawn(move || results.next_items(2)).join().expect("it does not panic")?;
    /// assert_eq!(rest.len(), 1);
    /// # Ok::<(), evergraph::Error>(())
    /// ```
    pub fn shared(snapshot: Arc<Snapshot>, source: impl Into<QuerySource<'q>>) -> Self {
        Self::new(SharedSnapshotTarget::new(snapshot), source)
    }
}

impl Query<'_, DatabaseTarget<'_>> {
    /// The isolation and the timeout of the transaction, should the query write, and what it sees at least, on a cluster.
    ///
    /// ```
    /// use evergraph::{Database, Isolation};
    ///
    /// let db = Database::in_memory()?;
    /// db.gremlin("g.addV('person')").transaction(Isolation::Serializable).run()?;
    /// # Ok::<(), evergraph::Error>(())
    /// ```
    pub fn transaction(mut self, options: impl Into<TransactionOptions>) -> Self {
        self.graph.options = options.into();
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::database::Database;
    use evergraph_query::error::StopReason;

    #[test]
    fn a_query_that_fails_as_it_says_or_is_out_of_time_is_told_from_a_wrong_one() {
        let db = Database::in_memory().unwrap();
        db.gremlin("g.inject(1, 2).addV('Point')").run().unwrap();
        let reason = |error: &Error| StopReason::of(error).cloned();
        for text in [
            "g.V().fail('no stock')",
            "g.V().map(__.fail('no stock'))",
            "g.V().local(__.union(__.fail('no stock')))",
            "g.mergeV([(T.label): 'Point']).option(Merge.onMatch, __.fail('no stock'))",
            "g.inject(1).addV('Point').sideEffect(__.fail('no stock'))",
        ] {
            let error = db.gremlin(text).run().unwrap_err();
            assert_eq!(reason(&error), Some(StopReason::Fail("no stock".into())), "{text}");
            assert_eq!((error.kind(), error.kind().exit_code()), (ErrorKind::Invalid, 2), "{text}");
            assert!(error.to_string().contains("fail() was reached: no stock"), "{error}");
        }
        let error = db.gremlin("g.V().otu()").run().unwrap_err();
        assert_eq!((error.kind(), reason(&error)), (ErrorKind::Invalid, None));
        let endless = db.gremlin("g.V().repeat(__.identity()).until(__.hasLabel('Nowhere'))");
        let error = endless.timeout(Duration::from_millis(20)).run().unwrap_err();
        assert_eq!((error.kind(), reason(&error)), (ErrorKind::Limit, Some(StopReason::Timeout)));
    }

    #[test]
    fn results_are_limited_however_they_are_fetched_and_writes_are_not() {
        let db = Database::in_memory().unwrap();
        db.gremlin("g.inject(1, 2, 3, 4).addV('Point').property('text', 'abcdefgh')").run().unwrap();
        let snapshot = Arc::new(db.snapshot());
        let over = |error: &Error, limit: &str, reason: StopReason| {
            assert_eq!((error.kind(), StopReason::of(error)), (ErrorKind::Limit, Some(&reason)));
            assert!(error.to_string().contains(limit), "{error}");
        };
        let rows = |error: Error| over(&error, "`result_rows` of 3", StopReason::ResultRows);
        let text = "g.V().values('text')";
        rows(db.gremlin(text).result_rows(3).items().unwrap_err());
        rows(db.begin().gremlin(text).result_rows(3).items().unwrap_err());
        assert_eq!(db.gremlin(text).result_rows(4).items().unwrap().len(), 4);
        assert!(db.gremlin(text).result_rows(3).first::<String>().is_ok(), "one is given");
        // One by one the first still come; after the error nothing does.
        let mut results = Query::shared(Arc::clone(&snapshot), text).result_rows(3).iter().unwrap();
        assert_eq!(results.by_ref().take(3).filter(Result::is_ok).count(), 3);
        rows(results.next().unwrap().unwrap_err());
        assert!(results.next().is_none() && results.next_traversers(9).unwrap().is_empty());
        let mut results = Query::shared(Arc::clone(&snapshot), text).result_rows(3).iter().unwrap();
        assert_eq!(results.next_traversers(3).unwrap().len(), 3);
        rows(results.next_traversers(1).unwrap_err());
        let bytes = |error: Error| over(&error, "`result_bytes` of 100 bytes", StopReason::ResultBytes);
        bytes(db.gremlin(text).result_bytes(100).items().unwrap_err());
        let mut results = Query::shared(snapshot, text).result_bytes(100).iter().unwrap();
        bytes(results.next_items(9).unwrap_err());
        db.gremlin("g.inject(1, 2, 3, 4).addV('Point')").result_rows(1).run().unwrap();
        assert!(db.gremlin("g.inject(1, 2, 3, 4).addV('Point')").result_rows(1).items().is_err());
        assert_eq!(db.gremlin("g.V().count()").one::<i64>().unwrap(), 8, "what is refused is rolled back");
    }
}
