//! `call('name')`: a service of the application, or an algorithm.

use crate::plan::operator::{By, Name};
use crate::value::map::ItemMap;

/// What lists the services.
pub const LIST: &str = "--list";

/// What lists those that are built in.
pub const LIST_BUILT_IN: &str = "--algorithms";

/// A call of a service.
#[derive(Clone, PartialEq, Debug)]
pub struct Call {
    /// Its name; [`LIST`] for the list of all.
    pub service: Name,
    /// What it is told, by name.
    pub parameters: ItemMap,
    /// What a map says besides that counts of the row.
    pub computed: Option<By>,
    /// What `with()` says besides, which counts before the others.
    pub options: Vec<(Name, By)>,
    /// Whether it begins the query: there is no row then.
    pub begins: bool,
    /// What the query shows of the graph.
    pub shown: Shown,
}

/// What a query shows of the graph. A service reads the graph itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Shown {
    /// All of it.
    #[default]
    Everything,
    /// The part that a strategy names.
    Part,
}
