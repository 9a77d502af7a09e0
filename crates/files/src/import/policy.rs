//! Policy: what to do about duplicate vertices and about unknown ends of edges.
//!
//! By default both are bad rows. Other choices settle them, and are counted: a row that was settled is
//! no bad row and stands in no report.

/// What to do about a vertex whose id was there before.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum OnDuplicate {
    /// It is a bad row.
    #[default]
    Fail,
    /// The first one counts, the others are left out.
    First,
    /// The last one counts, with all its properties and its label.
    Last,
}

/// What to do about an edge to or from a vertex that isn't there.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum OnUnknown {
    /// It is a bad row.
    #[default]
    Fail,
    /// The edge is left out.
    Skip,
    /// The vertex is created, with its id and nothing else. Its label is the one whose vertices are in
    /// the id space; the name of a space that has none.
    Create,
}

/// What was settled.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Settled {
    /// Vertices whose id was there before: for each id, all but one.
    pub duplicates: u64,
    /// Edges left out for an end that isn't there.
    pub unknown: u64,
    /// Vertices created for edges, by label.
    pub created: Vec<(String, u64)>,
    /// Edges of files without direction whose pair of vertices had one already.
    pub repeated_pairs: u64,
}

impl Settled {
    /// Counts `count` vertices of `label` that were created.
    pub fn add_created(&mut self, label: &str, count: u64) {
        match self.created.iter_mut().find(|(known, _)| known == label) {
            Some((_, known)) => *known += count,
            None if count > 0 => self.created.push((label.to_owned(), count)),
            None => {}
        }
    }

    /// Takes over what was settled elsewhere.
    pub fn join(&mut self, other: Self) {
        self.duplicates += other.duplicates;
        self.unknown += other.unknown;
        self.repeated_pairs += other.repeated_pairs;
        other.created.iter().for_each(|(label, count)| self.add_created(label, *count));
    }

    /// Whether nothing was.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}
