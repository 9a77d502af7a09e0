//! Keeps: whether a naive engine keeps the entries of indexes.

/// See the file's caption.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Keeps {
    /// The front has them.
    #[default]
    NoIndexes,
    /// It answers look-ups itself.
    Indexes,
}

impl Keeps {
    /// The name of the engine in manifests.
    pub fn name(self) -> &'static str {
        match self {
            Self::NoIndexes => "naive",
            Self::Indexes => "naive-indexes",
        }
    }

    /// The engine of this name, if it is a naive one.
    pub fn of_name(name: &str) -> Option<Self> {
        [Self::NoIndexes, Self::Indexes].into_iter().find(|keeps| keeps.name() == name)
    }
}
