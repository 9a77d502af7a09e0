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

impl Call {
    /// What it asks of a row.
    #[must_use]
    pub fn asks(&self) -> Vec<&By> {
        self.computed.iter().chain(self.options.iter().map(|(_, by)| by)).collect()
    }

    /// The same, to be changed.
    pub(super) fn asks_mut(&mut self) -> impl Iterator<Item = &mut By> {
        self.computed.iter_mut().chain(self.options.iter_mut().map(|(_, by)| by))
    }
}
