//! Missing ends: whether a copy keeps what edges need whose ends are not there.

/// Whether edges whose ends are missing are kept for later.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum MissingEnds {
    /// The database goes on to follow its source: what an edge needs to appear with its end is kept.
    Kept,
    /// Nothing comes later: such edges are counted and left out.
    Dropped,
}
