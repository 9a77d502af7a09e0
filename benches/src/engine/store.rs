//! Store: what every engine can do with edges, and what they share to do it.

use evergraph_graph::error::{Error, ErrorKind, Result};
use std::fmt;

/// A directed edge, by the numbers of its ends.
pub type Edge = (u32, u32);

/// When a commit may be acknowledged.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Commit {
    /// At once: the system writes when it likes.
    Unsynced,
    /// When it is on stable storage.
    Durable,
}

/// How a store whose data are larger than memory is read: some must know when they are opened.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Access {
    /// All of it, in order.
    Scan,
    /// Here and there.
    Single,
}

/// A store of edges. Any thread may use it.
pub trait Store: Send + Sync {
    /// Makes all `edges` be there, in one transaction.
    ///
    /// # Errors
    /// What the engine says.
    fn put(&self, edges: &[Edge]) -> Result<()>;

    /// As [`Store::put`], of those of `edges` that are not there: each is looked up before.
    ///
    /// # Errors
    /// What the engine says.
    fn put_missing(&self, edges: &[Edge]) -> Result<()> {
        let mut missing = Vec::with_capacity(edges.len());
        self.read(&mut |reader| {
            missing.clear();
            for edge in edges {
                if !reader.has(*edge)? {
                    missing.push(*edge);
                }
            }
            Ok(())
        })?;
        self.put(&missing)
    }

    /// Makes none of `edges` be there, in one transaction.
    ///
    /// # Errors
    /// What the engine says.
    fn delete(&self, edges: &[Edge]) -> Result<()>;

    /// Fills an empty store with `edges`, ascending and each once, as fast as the engine can.
    ///
    /// # Errors
    /// What the engine says.
    fn load(&self, edges: &[Edge]) -> Result<()>;

    /// Calls `body` with a reader of one moment.
    ///
    /// # Errors
    /// What the engine or `body` says.
    fn read(&self, body: &mut dyn FnMut(&mut dyn Reader) -> Result<()>) -> Result<()>;

    /// Waits until background work that would make reads slow is done.
    ///
    /// # Errors
    /// What the engine says.
    fn settle(&self) -> Result<()>;

    /// Leaves everything on disk as a clean end does.
    ///
    /// # Errors
    /// What the engine says.
    fn close(self: Box<Self>) -> Result<()>;
}

/// Reads one moment of a store.
pub trait Reader {
    /// Whether there is an edge.
    ///
    /// # Errors
    /// What the engine says.
    fn has(&mut self, edge: Edge) -> Result<bool>;

    /// Appends up to `limit` out-neighbours of `vertex`, ascending.
    ///
    /// # Errors
    /// What the engine says.
    fn neighbors(&mut self, vertex: u32, limit: usize, into: &mut Vec<u32>) -> Result<()>;

    /// Calls `visit` with every vertex that has out-neighbours and with them, ascending, as fast as the
    /// engine can; a list may come in several pieces.
    ///
    /// # Errors
    /// What the engine says.
    fn scan(&mut self, visit: &mut dyn FnMut(u32, &[u32])) -> Result<()>;
}

/// What a store's engine said, as an error of ours.
pub fn failed(engine: &'static str) -> impl Fn(&dyn fmt::Display) -> Error {
    move |error| Error::new(ErrorKind::Io, format!("{engine} said: {error}"))
}

/// What a key that must be 8 bytes is.
pub(crate) fn edge_key(edge: Edge) -> [u8; 8] {
    ((u64::from(edge.0) << 32) | u64::from(edge.1)).to_be_bytes()
}

/// The edge of a key; an error for anything but 8 bytes.
pub(crate) fn edge_of(key: &[u8]) -> Result<Edge> {
    let bytes: [u8; 8] = key.try_into().map_err(|_| {
        Error::new(ErrorKind::Corrupt, format!("an edge's key has {} bytes instead of 8", key.len()))
    })?;
    let number = u64::from_be_bytes(bytes);
    Ok(((number >> 32) as u32, number as u32))
}

/// Hands out edges that come one by one as lists.
pub(crate) struct Lists<'a> {
    visit: &'a mut dyn FnMut(u32, &[u32]),
    source: u32,
    targets: Vec<u32>,
}

impl<'a> Lists<'a> {
    pub(crate) fn new(visit: &'a mut dyn FnMut(u32, &[u32])) -> Self {
        Self { visit, source: 0, targets: Vec::new() }
    }

    pub(crate) fn push(&mut self, (source, target): Edge) {
        if source != self.source {
            self.flush();
            self.source = source;
        }
        self.targets.push(target);
    }

    pub(crate) fn finish(mut self) {
        self.flush();
    }

    fn flush(&mut self) {
        if !self.targets.is_empty() {
            (self.visit)(self.source, &self.targets);
            self.targets.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_in_the_order_of_edges() {
        let edges = [(0, 1), (0, 255), (0, 256), (1, 0), (256, 2), (u32::MAX, 0)];
        assert!(edges.map(edge_key).is_sorted());
        assert!(edges.iter().all(|edge| edge_of(&edge_key(*edge)).unwrap() == *edge));
        assert!(edge_of(&[1]).is_err());
    }

    #[test]
    fn edges_become_lists() {
        let mut seen = Vec::new();
        let mut visit = |source: u32, targets: &[u32]| seen.push((source, targets.to_vec()));
        let mut lists = Lists::new(&mut visit);
        [(0, 3), (0, 4), (7, 1)].into_iter().for_each(|edge| lists.push(edge));
        lists.finish();
        assert_eq!(seen, [(0, vec![3, 4]), (7, vec![1])]);
    }
}
