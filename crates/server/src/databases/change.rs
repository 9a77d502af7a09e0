//! Change: what becomes of a database while the server runs, as whoever administers it asks for it.

use crate::databases::options::CreateOptions;

/// What is to become of a database.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum DatabaseChange {
    /// A new, empty one is made below the root, and opened.
    Create(CreateOptions),
    /// It is opened; one below the root that was made by hand meanwhile is found.
    Open,
    /// It is closed: other processes may open it, until it is opened here again.
    Close,
    /// It is closed and removed, for good.
    Drop,
}
