//! `call('name')`: a service of the application.

use crate::plan::operator::{By, Name};
use crate::value::map::ItemMap;

/// What lists the services.
pub const LIST: &str = "--list";

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
}
