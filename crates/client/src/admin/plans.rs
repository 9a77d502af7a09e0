//! Plans: which steps a query would take, and what each did.

use crate::admin::call::{Admin, Changes, Request};
use crate::query::Query;
use evergraph_graph::error::{Error, Result};
use evergraph_protocol::request::operation::Request as ProtocolRequest;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use ureq::http::Method;
use uuid::Uuid;

/// A plan.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[non_exhaustive]
pub struct RemotePlan<T> {
    /// As `evergraph query --explain` prints it.
    pub text: String,
    /// As `evergraph query --explain --json` prints it.
    pub plan: T,
}

impl Admin {
    /// The plan of a query, which is not run. Needs the role reader.
    ///
    /// # Errors
    /// `invalid` for what is no query, with its place, and for bytecode.
    pub fn explain<T: DeserializeOwned>(&self, query: &Query) -> Result<RemotePlan<T>> {
        self.plan("explain", query, Changes::Nothing)
    }

    /// Runs a query, within the server's limits and its own, for a plan that says what each step did. A query that writes is
    /// committed, which needs the role writer.
    ///
    /// # Errors
    /// As [`Admin::explain`]; those of the query.
    pub fn profile<T: DeserializeOwned>(&self, query: &Query) -> Result<RemotePlan<T>> {
        self.plan("profile", query, Changes::Something)
    }

    fn plan<T: DeserializeOwned>(
        &self,
        what: &str,
        query: &Query,
        changes: Changes,
    ) -> Result<RemotePlan<T>> {
        let text = query
            .as_text()
            .ok_or_else(|| Error::invalid("the plan of a query as text is shown, not of bytecode"))?;
        let request = ProtocolRequest { id: Uuid::nil(), operation: query.plan_operation() };
        let document = request
            .to_http_body()
            .map_err(|error| Error::new(error.kind(), format!("send a query: {error}")).because(error))?;
        let path = self.database_path(&[what])?;
        let (method, query) = (Method::POST, Some(text));
        self.answer(Request { method, path: &path, document: Some(document), query, changes })
    }
}
