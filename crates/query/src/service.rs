//! Services: code of the application that `call('name')` runs within a query.
//!
//! ```
//! use evergraph_graph::error::Result;
//! use evergraph_graph::id::Direction;
//! use evergraph_graph::view::GraphView;
//! use evergraph_query::service::{Kind, Request, Service, Services};
//! use evergraph_query::value::item::Item;
//!
//! /// How many edges each vertex has: `g.V().call('degree')`.
//! struct Degree;
//!
//! impl Service for Degree {
//!     fn summary(&self) -> &str {
//!         "How many edges a vertex has."
//!     }
//!
//!     fn kinds(&self) -> &[Kind] {
//!         &[Kind::Streaming]
//!     }
//!
//!     fn call(&self, graph: &dyn GraphView, requests: &[Request], found: &mut Vec<(u32, Item)>) -> Result<()> {
//!         for (row, request) in (0..).zip(requests) {
//!             let mut degrees = Vec::new();
//!             let vertices: Vec<_> = request.input.iter().filter_map(Item::as_vertex).collect();
//!             graph.degrees(&vertices, None, Direction::Both, &mut degrees)?;
//!             found.extend(degrees.into_iter().map(|degree| (row, Item::from(degree as i64))));
//!         }
//!         Ok(())
//!     }
//! }
//!
//! let services = Services::default().with("degree", Degree);
//! assert_eq!(services.names().collect::<Vec<_>>(), ["degree"]);
//! ```
//!
//! Source: the service registry of TinkerPop 3.6 and its `call()` step. Differs: a service is asked for a batch of rows
//! at once, and reads the graph only.

use crate::value::item::Item;
use crate::value::map::ItemMap;
use evergraph_graph::budget::Budget;
use evergraph_graph::cancel::CancelFlag;
use evergraph_graph::error::Result;
use evergraph_graph::view::GraphView;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// Where in a query a service can be called.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// At its beginning: `g.call('search')`. There is no input.
    Start,
    /// Behind a step, for each row.
    Streaming,
}

impl Kind {
    /// What it is called.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Start => "Start",
            Self::Streaming => "Streaming",
        }
    }
}

/// What a service is asked by one row.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// What the row is at; nothing at the beginning of a query.
    pub input: Option<Item>,
    /// The parameters from `call()` and from `with()` after it, by name.
    pub parameters: ItemMap,
}

/// Code of the application that a query can call.
///
/// Concurrency: several queries may call it at once.
pub trait Service: Send + Sync {
    /// What it does, in one line.
    fn summary(&self) -> &str;

    /// Where it can be called.
    fn kinds(&self) -> &[Kind];

    /// Its parameters by name, with a line about each.
    fn parameters(&self) -> &[(&str, &str)] {
        &[]
    }

    /// Appends the results of `requests` to `found`, with the number of the request; the numbers ascend.
    ///
    /// # Errors
    /// Any error; `invalid` for a parameter with a wrong value, naming it.
    fn call(&self, graph: &dyn GraphView, requests: &[Request], found: &mut Vec<(u32, Item)>) -> Result<()>;

    /// As [`Service::call`], within the limits of the query: for a service that may take long, or much memory.
    ///
    /// # Errors
    /// As [`Service::call`]; `limit`, `cancelled`.
    fn call_within(
        &self,
        graph: &dyn GraphView,
        requests: &[Request],
        limits: &Limits<'_>,
        found: &mut Vec<(u32, Item)>,
    ) -> Result<()> {
        limits.cancel.check()?;
        self.call(graph, requests, found)
    }
}

/// The limits of a query that apply to a service.
pub struct Limits<'a> {
    /// Set when the query is cancelled or its time is over.
    pub cancel: CancelFlag,
    /// The budget for memory that counts as the query's.
    pub budget: &'a dyn Budget,
}

/// Services by name. Copies share them.
#[derive(Clone, Default)]
pub struct Services {
    by_name: Arc<BTreeMap<Box<str>, Arc<dyn Service>>>,
    /// The services that a database provides.
    built_in: Arc<BTreeMap<Box<str>, Arc<dyn Service>>>,
}

impl Services {
    /// These and `service`, which takes the place of one of the same name.
    #[must_use]
    pub fn with(mut self, name: impl Into<Box<str>>, service: impl Service + 'static) -> Self {
        Arc::make_mut(&mut self.by_name).insert(name.into(), Arc::new(service));
        self
    }

    /// These and `service`, which a database brings along: one of the application's with the same name goes first.
    #[must_use]
    pub fn with_built_in(mut self, name: impl Into<Box<str>>, service: impl Service + 'static) -> Self {
        Arc::make_mut(&mut self.built_in).insert(name.into(), Arc::new(service));
        self
    }

    /// The services of the application with what is built in of `other`.
    #[must_use]
    pub fn with_built_in_of(self, other: &Self) -> Self {
        Self { built_in: Arc::clone(&other.built_in), ..self }
    }

    /// The service called `name`.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&dyn Service> {
        self.by_name.get(name).or_else(|| self.built_in.get(name)).map(|service| &**service)
    }

    /// Whether `name` calls what a database brings along.
    #[must_use]
    pub fn is_built_in(&self, name: &str) -> bool {
        self.built_in.contains_key(name) && !self.by_name.contains_key(name)
    }

    /// The names of those that are built in, in alphabetical order.
    pub fn built_in_names(&self) -> impl Iterator<Item = &str> {
        self.built_in.keys().map(|name| &**name)
    }

    /// The names of those of the application, in alphabetical order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.by_name.keys().map(|name| &**name)
    }
}

impl fmt::Debug for Services {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_list().entries(self.names()).finish()
    }
}
