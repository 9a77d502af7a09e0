//! Query settings: a query as Python sends it to a server.

use crate::argument;
use crate::remote::received::SeenTypes;
use crate::remote::signals::Signals;
use crate::transaction_options::{isolation, seconds};
use evergraph_client::query::Query;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// What a call says beside the query and its variables.
#[derive(FromPyObject)]
pub struct RemoteQuerySettings {
    #[pyo3(item)]
    timeout: Option<f64>,
    #[pyo3(item)]
    isolation: Option<String>,
    #[pyo3(item)]
    strict: bool,
}

impl RemoteQuerySettings {
    /// The query that says `text`, stopped by `signals`.
    ///
    /// # Errors
    /// `InvalidError` for what no variable can be, and for a setting that there isn't; `NotFoundError` for an edge of a type
    /// that no result had.
    pub fn query(
        &self,
        text: &str,
        variables: &Bound<'_, PyDict>,
        types: &SeenTypes,
        signals: &Signals,
    ) -> PyResult<Query> {
        let py = variables.py();
        let bindings = argument::bindings(variables, &types.catalogue())?;
        let mut query = Query::text(text).bindings(bindings).strict(self.strict).cancel(&signals.interrupt);
        if let Some(timeout) = self.timeout.filter(|timeout| *timeout != f64::INFINITY) {
            query = query.timeout(seconds(py, "timeout", timeout)?);
        }
        if let Some(name) = &self.isolation {
            query = query.isolation(isolation(py, name)?);
        }
        Ok(query)
    }
}
