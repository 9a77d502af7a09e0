//! Plans: which steps a query would take, and what each did.
//!
//! The body is that of a query by `POST /gremlin` in plain JSON, without `aliases`, since the path names the database.

use crate::databases::open_database::{DatabaseUse, UsePurpose};
use crate::failure::Failure;
use crate::http::admin::answer::{AdminAnswer, AdminResult};
use crate::http::admin::call::AdminCall;
use crate::http::error::HttpError;
use crate::options::ServerOptions;
use crate::query_registry::RunningText;
use crate::request_content::{RequestContent, query_timeout};
use crate::request_context::{Job, QueryText};
use crate::security::access::Access;
use crate::session::{QueryTerms, chosen_isolation, refuse_files, transaction_options};
use evergraph::gremlin::note::Notes;
use evergraph::gremlin::query::{Limits, Query, QuerySource};
use evergraph_graph::cancel::CancelFlag;
use evergraph_protocol::request::operation::{QueryOptions, Request};
use evergraph_protocol::request::read::RequestLimits;
use evergraph_query::explain::Explanation;
use evergraph_query::gremlin::bindings::Bindings;
use evergraph_report::plan::PlanReport;
use serde::Serialize;
use std::sync::Arc;
use uuid::Uuid;

/// Whether a query is run to learn what its steps do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Measuring {
    /// Nothing runs.
    Explain,
    /// It runs, and is committed if it writes.
    Profile,
}

/// A plan.
#[derive(Serialize)]
struct PlanDocument {
    /// As `evergraph query --explain` prints it.
    text: String,
    /// The same as data.
    plan: PlanReport,
}

/// `POST /databases/NAME/explain`.
///
/// # Errors
/// 400 for what is no query, with its place; 503 if the database is not open.
pub async fn explain(call: AdminCall) -> AdminResult {
    plan(call, Measuring::Explain).await
}

/// `POST /databases/NAME/profile`: runs the query within its limits; one that writes is committed.
///
/// # Errors
/// As [`explain`]; 403 if it writes and the user may not; what it meets.
pub async fn profile(call: AdminCall) -> AdminResult {
    plan(call, Measuring::Profile).await
}

async fn plan(call: AdminCall, measuring: Measuring) -> AdminResult {
    let body =
        call.take_document().ok_or_else(|| HttpError::invalid("the body is {\"gremlin\": \"g.V()\"}"))?;
    let (access, options) = (call.principal.on(call.database()), call.shared.core.options);
    let queries = Arc::clone(&call.shared.core.queries);
    let planning = call.with_database(move |using, cancel| {
        let query = PlannedQuery::read(&body.bytes)?;
        let text = RunningText::Text(Arc::clone(&query.text));
        let entry = queries.enter(text, access.clone(), None, cancel.clone());
        using.note_purpose(UsePurpose::Query(entry.id()));
        let planned = query.plan(using, &access, &options, cancel, measuring);
        Ok(planned.map_err(|failure| match failure.is_cancelled() && entry.is_cancelled() {
            true => Failure::cancelled(entry.id()),
            false => failure,
        })?)
    });
    let explanation = planning.await?;
    Ok(AdminAnswer::json(&PlanDocument { text: explanation.to_string(), plan: PlanReport(explanation) }))
}

/// A query in the body of a request.
struct PlannedQuery {
    text: Arc<str>,
    bindings: Bindings,
    options: QueryOptions,
}

impl PlannedQuery {
    fn read(body: &[u8]) -> Result<Self, Failure> {
        // Nobody reads the id.
        let request = Request::read_http(body, Uuid::nil(), &RequestLimits::default())?;
        match RequestContent::read(request.operation)? {
            RequestContent::Job { alias: Some(_), .. } => {
                Err(Failure::arguments("the argument `aliases`: the path names the database"))
            }
            RequestContent::Job {
                job: Job::Query { query: QueryText::Text(text, bindings), options },
                ..
            } => Ok(Self { text, bindings, options }),
            _ => Err(Failure::arguments("the argument `gremlin`: a query expected")),
        }
    }

    fn plan(
        self,
        using: &DatabaseUse,
        access: &Access,
        options: &ServerOptions,
        cancel: &CancelFlag,
        measuring: Measuring,
    ) -> Result<Explanation, Failure> {
        let database = using.database();
        let (notes, strict) = (Notes::default(), self.options.strict);
        let limits = Limits {
            timeout: query_timeout(options, &self.options),
            memory_bytes: options.query_memory_bytes,
            ..Limits::default()
        };
        let terms = QueryTerms { bindings: self.bindings, limits, cancel, strict, notes: &notes };
        let source = || QuerySource::Text(&self.text);
        if measuring == Measuring::Explain {
            return Ok(terms.of(database.ask(source())).explain()?);
        }
        let task = terms.clone().of(database.ask(source())).task()?;
        refuse_files(&task)?;
        if !task.writes() {
            let snapshot = Arc::new(database.snapshot());
            return Ok(terms.of(Query::shared(snapshot, source())).profile()?);
        }
        access.role_that_writes("this query writes")?;
        let isolation = chosen_isolation(&task)?.or(self.options.isolation);
        Ok(terms.of(database.ask(source()).transaction(transaction_options(isolation))).profile()?)
    }
}
