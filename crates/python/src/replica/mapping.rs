//! Mappings of PostgreSQL's tables: proposed, checked, and written rule by rule.

use crate::error::OrRaise;
use crate::long_call;
use evergraph::graph::cancel::CancelFlag;
use evergraph::import::mapping::document::Mapping;
use evergraph::import::mapping::table::TableRule;
use evergraph::{Error, Result};
use evergraph_replica::mapping::check::{Finding, Severity, check};
use evergraph_replica::mapping::propose::propose;
use evergraph_replica::mapping::rg_mapping;
use evergraph_replica::source::catalogue::Catalogue;
use evergraph_replica::source::contract::Source as _;
use evergraph_replica::source::postgres::server::PostgresSource;
use evergraph_replica::source::postgres::settings::ConnectionSettings;
use evergraph_replica::source::replica_source::ReplicaSource as _;
use pyo3::prelude::*;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Severity, cause, and the SQL that mends it.
type FindingTuple = (&'static str, String, Option<String>);

/// The source at a URL.
///
/// # Errors
/// `invalid` if it is no URL of PostgreSQL, or has a password.
pub fn source(url: &str, cancel: &CancelFlag) -> Result<PostgresSource> {
    Ok(PostgresSource::new(ConnectionSettings::from_url(url)?, cancel.clone()))
}

/// The mapping that the keys of a database suggest.
///
/// # Errors
/// Those of connecting; `InvalidError` if no table has a primary key.
#[pyfunction]
pub fn propose_mapping(py: Python<'_>, url: &str) -> PyResult<String> {
    long_call::run(py, None, |watch| {
        let catalogue = source(url, &watch.cancel)?.catalogue().map_err(Error::from)?;
        propose(&catalogue)
    })
}

/// What stands in the way of following a database by a mapping, which errors call `name`.
///
/// # Errors
/// Those of connecting, and of the text.
#[pyfunction]
pub fn check_mapping(
    py: Python<'_>,
    url: &str,
    text: &str,
    name: &str,
    publication: &str,
) -> PyResult<Vec<FindingTuple>> {
    let findings = long_call::run(py, None, |watch| {
        let mapping = Mapping::parse(name, text, Path::new("."))?;
        let mut source = source(url, &watch.cancel)?;
        let state = source.server_state().map_err(Error::from)?;
        let catalogue = source.catalogue().map_err(Error::from)?;
        Ok(check(&mapping.tables, &catalogue, &state, publication))
    })?;
    Ok(findings.into_iter().map(finding).collect())
}

fn finding(finding: Finding) -> FindingTuple {
    let severity = match finding.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
    };
    (severity, finding.cause, finding.remedy)
}

/// Rules of a mapping, by the calls of GART's paper, for the tables of a database as they were at the beginning.
///
/// Concurrency: one lock, held for a call, which neither waits nor calls Python.
#[pyclass(frozen, module = "evergraph._native")]
pub struct RgMapping {
    catalogue: Catalogue,
    rules: Mutex<Vec<TableRule>>,
}

impl RgMapping {
    /// Does `call`; the rules are as before if it fails.
    fn call(
        &self,
        py: Python<'_>,
        call: impl FnOnce(&mut rg_mapping::RgMapping<'_>) -> Result<()>,
    ) -> PyResult<()> {
        let mut rules = self.rules();
        let mut mapping = rg_mapping::RgMapping::with_rules(&self.catalogue, rules.clone());
        call(&mut mapping).or_raise(py)?;
        *rules = mapping.into_rules();
        Ok(())
    }

    fn rules(&self) -> MutexGuard<'_, Vec<TableRule>> {
        self.rules.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl RgMapping {
    /// No rules yet, for the tables of the database at a URL.
    #[new]
    fn new(py: Python<'_>, url: &str) -> PyResult<Self> {
        let catalogue =
            long_call::run(py, None, |watch| source(url, &watch.cancel)?.catalogue().map_err(Error::from))?;
        Ok(Self { catalogue, rules: Mutex::default() })
    }

    fn def_vertex(&self, py: Python<'_>, label: &str, table: &str) -> PyResult<()> {
        self.call(py, |mapping| mapping.def_vertex(label, table).map(drop))
    }

    fn add_vprop(&self, py: Python<'_>, label: &str, name: &str, column: &str) -> PyResult<()> {
        self.call(py, |mapping| mapping.add_vprop(label, name, column).map(drop))
    }

    /// By one foreign key, or by both of a join table.
    fn def_edge(
        &self,
        py: Python<'_>,
        edge_type: &str,
        start: &str,
        end: &str,
        key: &str,
        other_key: Option<&str>,
    ) -> PyResult<()> {
        self.call(py, |mapping| match other_key {
            None => mapping.def_edge(edge_type, start, end, key).map(drop),
            Some(other_key) => mapping.def_edge_m_to_m(edge_type, start, end, key, other_key).map(drop),
        })
    }

    fn add_eprop(&self, py: Python<'_>, edge_type: &str, name: &str, column: &str) -> PyResult<()> {
        self.call(py, |mapping| mapping.add_eprop(edge_type, name, column).map(drop))
    }

    /// The mapping file that says the rules.
    fn text(&self) -> String {
        rg_mapping::RgMapping::with_rules(&self.catalogue, self.rules().clone()).text()
    }
}
