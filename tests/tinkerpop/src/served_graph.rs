//! Served graph: a server of one database on a port of this machine, and clients of it.

use crate::attached::attached;
use crate::driver_bytecode::driver_bytecode;
use crate::target::RequestForm;
use evergraph::query::value::item::Item;
use evergraph::{Database, Error};
use evergraph_client::client::Client;
use evergraph_client::options::ClientOptions;
use evergraph_client::query::Query;
use evergraph_client::url::ServerUrl;
use evergraph_protocol::format::Format;
use evergraph_protocol::result::result_value::{BulkResult, ResultValue};
use evergraph_query::gremlin::bindings::Bindings;
use evergraph_server::options::ServerOptions;
use evergraph_server::server::Server;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

/// What a scenario calls its graph.
const NAME: &str = "scenario";

/// A server of one database.
pub struct ServedGraph {
    // Before the server, which waits for its clients to be gone.
    binary: Client,
    json: Client,
    _server: Server,
}

/// How many of its results a query is asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Wanted {
    /// All of them.
    All,
    /// The first one; the rest is given up.
    First,
}

impl ServedGraph {
    /// Serves `database`.
    ///
    /// # Errors
    /// If there is no port or no thread.
    pub fn start(database: &Database) -> Result<Self, Error> {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let server = Server::start(Arc::new(database.clone()), NAME, address, ServerOptions::default())?;
        let url: ServerUrl = format!("ws://{}/{NAME}", server.address()).parse()?;
        let client = |format| {
            let mut options = ClientOptions::default();
            options.format = format;
            Client::new(&url, options)
        };
        Ok(Self { binary: client(Format::GraphBinary)?, json: client(Format::GraphSon)?, _server: server })
    }

    /// The results of a query that is sent in `form`, each as often as it occurs.
    ///
    /// # Errors
    /// Those of the query; if no bytecode says the same as `text`; if a result is not what the graph has.
    pub fn run(
        &self,
        database: &Database,
        (form, text, bindings): (RequestForm, &str, Bindings),
        wanted: Wanted,
        timeout: Duration,
    ) -> Result<Vec<Item>, Error> {
        let (client, query) = match form {
            RequestForm::Text => (&self.binary, Query::text(text).bindings(bindings)),
            RequestForm::Bytecode => (&self.binary, Query::bytecode(driver_bytecode(text, &bindings)?)),
            RequestForm::BytecodeGraphSon => (&self.json, Query::bytecode(driver_bytecode(text, &bindings)?)),
        };
        let mut results = client.query(&query.timeout(timeout))?;
        let mut found: Vec<ResultValue> = Vec::new();
        while let Some(BulkResult { value, bulk }) = results.next_result()? {
            if wanted == Wanted::First {
                found.push(value);
                break;
            }
            (1..bulk).for_each(|_| found.push(value.clone()));
            found.push(value);
        }
        drop(results);
        let snapshot = database.snapshot();
        found.into_iter().map(|value| attached(value, &snapshot).map_err(Error::invalid)).collect()
    }
}
