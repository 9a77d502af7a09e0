//! Role: what a user may do with one database.

/// What a user may do with a database. Each role includes those before it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Role {
    /// Read snapshots.
    Reader,
    /// Write as well.
    Writer,
    /// Administer the database as well.
    Admin,
}

impl Role {
    /// All of them, from the least.
    pub const ALL: [Self; 3] = [Self::Reader, Self::Writer, Self::Admin];

    /// Its name in files, options and messages.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Reader => "reader",
            Self::Writer => "writer",
            Self::Admin => "admin",
        }
    }

    /// The role with this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|role| role.name() == name)
    }

    /// Whether it may change the graph.
    #[must_use]
    pub const fn may_write(self) -> bool {
        matches!(self, Self::Writer | Self::Admin)
    }
}
