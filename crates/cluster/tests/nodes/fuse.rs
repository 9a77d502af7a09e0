//! Fuse: the power and the disks of a machine, which fail at a chosen step.

use evergraph_graph::error::{Error, ErrorKind, Result};
use std::cell::Cell;
use std::rc::Rc;

/// The power of one machine, from one start to the next; or what one partition needs of it.
#[derive(Clone, Debug)]
pub struct Fuse {
    /// Steps that were taken.
    taken: Rc<Cell<u64>>,
    /// The power fails before the step with this number, from 0.
    blows_at: Rc<Cell<Option<u64>>>,
    /// The step that finds no room, and how often yet; how often it found none.
    full: Rc<Cell<(u64, u32)>>,
    /// Whether that may be a step in place, too.
    is_full_in_place: bool,
    refused: Rc<Cell<u32>>,
}

impl Fuse {
    /// Power that fails before a step; or never.
    pub fn new(blows_at: Option<u64>) -> Self {
        let blows_at = Rc::new(Cell::new(blows_at));
        let (taken, full, refused) = (Rc::default(), Rc::default(), Rc::default());
        Self { taken, blows_at, full, is_full_in_place: false, refused }
    }

    /// Power that does not fail; but there is no room for the step with this number, so many times.
    pub fn full(at: u64, times: u32) -> Self {
        Self { full: Rc::new(Cell::new((at, times))), ..Self::new(None) }
    }

    /// The same, whether the step needs room or not.
    pub fn full_in_place(at: u64, times: u32) -> Self {
        Self { is_full_in_place: true, ..Self::full(at, times) }
    }

    /// Takes a step that needs room.
    ///
    /// # Errors
    /// If the power has failed, or there is no room: then nothing was done.
    pub fn step(&self) -> Result<()> {
        let (at, times) = self.full.get();
        if times > 0 && at == self.taken.get() {
            self.full.set((at, times - 1));
            self.refused.set(self.refused.get() + 1);
            return Err(Error::new(ErrorKind::Limit, "the log's disk is full"));
        }
        self.take()
    }

    /// Takes a step that needs no room.
    ///
    /// # Errors
    /// As [`Fuse::step`], if steps in place fail by that.
    pub fn step_in_place(&self) -> Result<()> {
        if self.is_full_in_place { self.step() } else { self.take() }
    }

    fn take(&self) -> Result<()> {
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

    /// Nothing fails any more.
    pub fn mend(&self) {
        self.blows_at.set(None);
        self.full.set((0, 0));
    }

    /// Steps that were taken.
    pub fn taken(&self) -> u64 {
        self.taken.get()
    }

    /// Steps that found no room.
    pub fn refused(&self) -> u32 {
        self.refused.get()
    }
}
