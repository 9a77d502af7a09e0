//! Fuse: the power of a machine, which fails at a chosen step.

use evergraph_graph::error::{Error, ErrorKind, Result};
use std::cell::Cell;
use std::rc::Rc;

/// The power of one machine, from one start to the next.
#[derive(Clone, Debug)]
pub struct Fuse {
    /// Steps that were taken.
    taken: Rc<Cell<u64>>,
    /// The power fails before the step with this number, from 0.
    blows_at: Rc<Cell<Option<u64>>>,
}

impl Fuse {
    /// Power that fails before a step; or never.
    pub fn new(blows_at: Option<u64>) -> Self {
        Self { taken: Rc::default(), blows_at: Rc::new(Cell::new(blows_at)) }
    }

    /// Takes a step.
    ///
    /// # Errors
    /// If the power has failed.
    pub fn step(&self) -> Result<()> {
        if self.has_blown() {
            return Err(Error::new(ErrorKind::Io, "the power failed"));
        }
        self.taken.set(self.taken.get() + 1);
        Ok(())
    }

    /// Whether no further step can be taken.
    pub fn has_blown(&self) -> bool {
        self.blows_at.get().is_some_and(|at| self.taken.get() >= at)
    }

    /// The power does not fail any more.
    pub fn mend(&self) {
        self.blows_at.set(None);
    }

    /// Steps that were taken.
    pub fn taken(&self) -> u64 {
        self.taken.get()
    }
}
