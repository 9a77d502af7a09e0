//! `RemoteDatabase`: a database of a server.

use crate::algorithms::AlgorithmCall;
use crate::database::index_kind;
use crate::error::{OrRaise, exception, invalid, raised};
use crate::handle::ProcessLocal;
use crate::long_call::fraction;
use crate::names::ScopeArgument;
use crate::remote::query_settings::RemoteQuerySettings;
use crate::remote::received::SeenTypes;
use crate::remote::results::RemoteResults;
use crate::remote::signals::Signals;
use crate::remote::transaction::RemoteTransaction;
use crate::transaction_options::{seconds, transaction_options};
use evergraph::storage::indexing::IndexRequest;
use evergraph::{Error, ErrorKind, OwnerName};
use evergraph_client::admin::call::Admin;
use evergraph_client::admin::jobs::RemoteProgress;
use evergraph_client::algorithm::{AlgorithmRequest, AlgorithmTable};
use evergraph_client::client::Client;
use evergraph_client::health::Health;
use evergraph_client::options::ClientOptions;
use evergraph_client::password::Password;
use evergraph_client::url::ServerUrl;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use pyo3_arrow::PyTable;
use serde_json::Value as Json;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

/// How a server is reached; what is `None` is as it is by default.
#[derive(FromPyObject)]
pub struct ConnectSettings {
    #[pyo3(item)]
    user: Option<String>,
    #[pyo3(item)]
    password: Option<String>,
    #[pyo3(item)]
    password_file: Option<PathBuf>,
    #[pyo3(item)]
    tls_root: Option<PathBuf>,
    #[pyo3(item)]
    client_certificate: Option<PathBuf>,
    #[pyo3(item)]
    client_key: Option<PathBuf>,
    #[pyo3(item)]
    timeout: Option<f64>,
    #[pyo3(item)]
    table_bytes_max: Option<u64>,
}

/// Connects and logs in.
///
/// # Errors
/// `InvalidError` for a URL that is none, a wrong password, and certificates that cannot be used; `IoError` if there is no
/// server; `LimitError` if it takes too long.
#[pyfunction]
pub fn connect(py: Python<'_>, url: &str, settings: ConnectSettings) -> PyResult<RemoteDatabase> {
    let mut url: ServerUrl = url.parse().or_raise(py)?;
    match (&url.user, settings.user) {
        (Some(own), Some(other)) if *own != other => {
            return Err(invalid(
                py,
                format!("the URL names the user {own:?}, and user={other:?} another one"),
            ));
        }
        (_, Some(user)) => url.user = Some(user),
        (_, None) => {}
    }
    let signals = Signals::new();
    let mut options = ClientOptions::default();
    options.interrupt = signals.interrupt.clone();
    options.password = match (settings.password, settings.password_file) {
        (Some(_), Some(_)) => return Err(invalid(py, "password and password_file exclude each other")),
        (Some(password), None) => Some(Password::new(password)),
        (None, Some(path)) => Some(Password::from_file(&path).or_raise(py)?),
        (None, None) => Password::from_variable(),
    };
    options.tls.root = settings.tls_root;
    options.tls.certificate = settings.client_certificate;
    options.tls.key = settings.client_key;
    if let Some(timeout) = settings.timeout {
        options.connect_time_max = seconds(py, "timeout", timeout)?;
    }
    if let Some(bytes) = settings.table_bytes_max {
        options.table_bytes_max = bytes;
        options.results_bytes_max = options.results_bytes_max.max(bytes);
    }
    let client = signals.run(py, || Client::connect(&url, options))?;
    let shown = url.to_string();
    Ok(RemoteDatabase {
        client: ProcessLocal::new(Mutex::new(Some(client))),
        url: shown,
        types: Arc::default(),
    })
}

/// A database of a server.
///
/// Concurrency: any thread; the lock is held to copy the client or take it out.
#[pyclass(frozen, module = "evergraph._native")]
pub struct RemoteDatabase {
    client: ProcessLocal<Mutex<Option<Client>>>,
    url: String,
    types: Arc<SeenTypes>,
}

impl RemoteDatabase {
    fn client(&self, py: Python<'_>) -> PyResult<Client> {
        let client = self.client.get(py)?.lock().unwrap_or_else(PoisonError::into_inner);
        client
            .clone()
            .ok_or_else(|| exception(py, "DatabaseClosed", "this connection to a server was closed"))
    }

    /// Administration of the server, which signals stop.
    fn admin(&self, py: Python<'_>) -> PyResult<(Admin, Signals)> {
        let signals = Signals::new();
        Ok((self.client(py)?.admin().cancel(&signals.interrupt), signals))
    }
}

#[pymethods]
impl RemoteDatabase {
    #[getter]
    fn url(&self) -> &str {
        &self.url
    }

    #[getter]
    fn is_open(&self, py: Python<'_>) -> PyResult<bool> {
        Ok(self.client.get(py)?.lock().unwrap_or_else(PoisonError::into_inner).is_some())
    }

    fn close(&self, py: Python<'_>) -> PyResult<()> {
        let client = self.client.get(py)?.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(client) = client {
            py.detach(|| client.close());
        }
        Ok(())
    }

    /// Runs a query, in a transaction of its own.
    fn query(
        &self,
        py: Python<'_>,
        text: &str,
        variables: &Bound<'_, PyDict>,
        settings: RemoteQuerySettings,
    ) -> PyResult<RemoteResults> {
        let client = self.client(py)?;
        let signals = Signals::new();
        let query = settings.query(text, variables, &self.types, &signals)?;
        let results = signals.run(py, || client.query(&query))?;
        Ok(RemoteResults::streaming(results, signals, Arc::clone(&self.types)))
    }

    fn begin(
        &self,
        py: Python<'_>,
        isolation: Option<&str>,
        timeout: Option<f64>,
    ) -> PyResult<RemoteTransaction> {
        let client = self.client(py)?;
        let options = transaction_options(py, isolation, timeout)?;
        let signals = Signals::new();
        let transaction = signals.run(py, || client.begin(options, &signals.interrupt))?;
        Ok(RemoteTransaction::new(transaction, Arc::clone(&self.types)))
    }

    /// Calls `attempt(transaction)`, which commits it, again and again until it doesn't raise `ConflictError`.
    fn transact(
        &self,
        py: Python<'_>,
        attempt: Py<PyAny>,
        isolation: Option<&str>,
        timeout: Option<f64>,
    ) -> PyResult<Py<PyAny>> {
        let client = self.client(py)?;
        let options = transaction_options(py, isolation, timeout)?;
        let conflict = py.import("evergraph.errors")?.getattr("ConflictError")?.unbind();
        let (signals, mut found) = (Signals::new(), None);
        let done = py.detach(|| {
            client.retrying(options, &signals.interrupt, |transaction| {
                Python::attach(|py| {
                    let transaction = RemoteTransaction::new(transaction, Arc::clone(&self.types));
                    let outcome =
                        Py::new(py, transaction).and_then(|transaction| attempt.call1(py, (transaction,)));
                    outcome.map_err(|error| {
                        let again = error.is_instance(py, conflict.bind(py));
                        found = Some(error);
                        let kind = if again { ErrorKind::Conflict } else { ErrorKind::Invalid };
                        Error::new(kind, "what was raised says more")
                    })
                })
            })
        });
        done.map_err(|error| found.unwrap_or_else(|| signals.exception(py, &error)))
    }

    /// Runs an algorithm on a snapshot of the database, and returns its rows as a table.
    fn algorithm<'py>(
        &self,
        py: Python<'py>,
        name: &str,
        parameters: &Bound<'_, PyDict>,
        scope: ScopeArgument,
        keys: Vec<String>,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let client = self.client(py)?;
        let AlgorithmCall { algorithm, arguments } = AlgorithmCall::new(py, name, parameters)?;
        let signals = Signals::telling(progress);
        let request = AlgorithmRequest::new(algorithm, arguments).scope(scope.0).keys(keys);
        let request = request.cancel(&signals.interrupt);
        let AlgorithmTable { schema, batches } = signals.run(py, || client.algorithm(&request))?;
        PyTable::try_new(batches, schema)?.into_pyarrow(py)
    }

    /// A part of what the server knows of the database, as JSON: `schema`, `statistics` or `indexes`.
    fn report(&self, py: Python<'_>, what: &str) -> PyResult<String> {
        let (admin, signals) = self.admin(py)?;
        let found = signals.run(py, || match what {
            "schema" => admin.schema::<Json>(),
            "indexes" => admin.indexes::<Json>().map(Json::Array),
            _ => admin.statistics::<Json>(),
        });
        Ok(found?.to_string())
    }

    /// Builds an index; whether it was not there.
    #[expect(clippy::too_many_arguments, reason = "what an index is, as of an embedded database")]
    fn create_index(
        &self,
        py: Python<'_>,
        name: &str,
        of_edges: bool,
        key: &str,
        kind: &str,
        unique: bool,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<bool> {
        let owner = if of_edges { OwnerName::EdgeType(name) } else { OwnerName::Label(name) };
        let request = IndexRequest { owner, key, kind: index_kind(py, kind)?, unique };
        let (admin, signals) = self.admin(py)?;
        let mut tell = |now: &RemoteProgress| {
            if let Some(progress) = &progress {
                let part = now.total.and_then(|total| fraction(now.done, total));
                signals
                    .call(|py| progress.call1(py, (&*now.phase, part, format!("{} {}", now.done, now.unit))));
            }
        };
        let created = py.detach(|| admin.create_index::<Json>(&request, &mut tell));
        signals.ended(py, created.map(|created| created.created))
    }

    fn drop_index(&self, py: Python<'_>, name: &str, of_edges: bool, key: &str, kind: &str) -> PyResult<()> {
        let owner = if of_edges { OwnerName::EdgeType(name) } else { OwnerName::Label(name) };
        let kind = index_kind(py, kind)?;
        let (admin, signals) = self.admin(py)?;
        signals.run(py, || admin.drop_index(owner, key, kind))
    }

    /// The plan of a query; with figures if it is run.
    fn plan(
        &self,
        py: Python<'_>,
        text: &str,
        variables: &Bound<'_, PyDict>,
        settings: RemoteQuerySettings,
        runs: bool,
    ) -> PyResult<String> {
        let (admin, signals) = self.admin(py)?;
        let query = settings.query(text, variables, &self.types, &signals)?;
        let plan = signals.run(py, || match runs {
            true => admin.profile::<Json>(&query),
            false => admin.explain::<Json>(&query),
        });
        Ok(plan?.text)
    }

    /// How the server is: "ready", "degraded", "not_ready" or "alive", and why.
    fn health(&self, py: Python<'_>, timeout: f64) -> PyResult<(&'static str, Option<String>)> {
        let client = self.client(py)?;
        let timeout = seconds(py, "timeout", timeout)?;
        let signals = Signals::new();
        let health = signals.run(py, || client.health(timeout, &signals.interrupt))?;
        match health {
            Health::Ready => Ok(("ready", None)),
            Health::Degraded(reason) => Ok(("degraded", Some(reason))),
            Health::Alive => Ok(("alive", None)),
            Health::NotReady(reason) => Ok(("not_ready", Some(reason))),
            _ => Err(raised(py, &Error::invalid("the server is in a state that this version does not know"))),
        }
    }
}
