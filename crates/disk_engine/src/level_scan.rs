//! Level scan: the files of a level in key order, one after the other, as a merge reads them.
//!
//! ```text
//! level   [ csr-8 ][ csr-3 ][ csr-9 ]      opened   csr-8, read to its end; then csr-3, ...
//! slices   7 1..40   7 41..989  7 990..    a list that goes on in the next file comes in several slices
//! ```
//!
//! One file is read at a time, so a level takes the memory of one scan, whatever it has. At the end of a file
//! the scan waits for the first read of the next one.
//!
//! Ranks are those of the file that is read. A merge that copies properties needs to know the file too: see
//! the chains of
//! `compact`.

use crate::format::entries::entry::EntryRecord;
use crate::format::subject::Subject;
use crate::level::Level;
use crate::merge::entry_merge::EntrySource;
use crate::merge::list_source::{ListSlice, ListSource};
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

/// Opens the scan of a file, unless it is left out.
type OpenScan<F, S, E> = Box<dyn FnMut(&Arc<F>) -> Result<Option<S>, E> + Send>;

/// A scan through files of a level; `S` is the scan of one of them.
///
/// # Concurrency
/// One thread. It holds the level, and so the files.
pub struct LevelScan<F, S, E> {
    level: Arc<Level<F>>,
    /// The files that come behind the one in hand.
    rest: Range<usize>,
    open: OpenScan<F, S, E>,
    /// The file in hand; it has something in front.
    scan: Option<S>,
}

impl<F, S: fmt::Debug, E> fmt::Debug for LevelScan<F, S, E> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (rest, scan) = (&self.rest, &self.scan);
        formatter.debug_struct("LevelScan").field("rest", rest).field("scan", scan).finish_non_exhaustive()
    }
}

/// What scans of lists and of entries have in common.
pub trait Scan<E> {
    /// Whether nothing is in front.
    fn is_done(&self) -> bool;
    /// Goes on behind what is in front.
    ///
    /// # Errors
    /// If what follows cannot be read.
    fn go_on(&mut self) -> Result<(), E>;
}

/// A scan of lists.
#[derive(Debug)]
pub struct Lists<S>(S);

/// A scan of entries.
#[derive(Debug)]
pub struct Entries<S>(S);

impl<S: ListSource<Error: Into<E>>, E> Scan<E> for Lists<S> {
    fn is_done(&self) -> bool {
        self.0.slice().is_none()
    }

    fn go_on(&mut self) -> Result<(), E> {
        self.0.advance().map_err(Into::into)
    }
}

impl<S: EntrySource<Error: Into<E>>, E> Scan<E> for Entries<S> {
    fn is_done(&self) -> bool {
        self.0.entry().is_none()
    }

    fn go_on(&mut self) -> Result<(), E> {
        self.0.advance().map_err(Into::into)
    }
}

impl<F, S: ListSource<Error: Into<E>>, E> LevelScan<F, Lists<S>, E> {
    /// Reads the lists of the files at `places`, each by the scan that `open` gives; a file is left
    /// out if it gives none. Cost: opens the first one.
    ///
    /// # Errors
    /// As `open`.
    ///
    /// # Panics
    /// If the level has no such places.
    pub fn lists(
        level: &Arc<Level<F>>,
        places: Range<usize>,
        mut open: impl FnMut(&Arc<F>) -> Result<Option<S>, E> + Send + 'static,
    ) -> Result<Self, E> {
        Self::new(level, places, Box::new(move |file| Ok(open(file)?.map(Lists))))
    }
}

impl<F, S: EntrySource<Error: Into<E>>, E> LevelScan<F, Entries<S>, E> {
    /// As [`LevelScan::lists`], of entries of indexes.
    ///
    /// # Errors
    /// As `open`.
    ///
    /// # Panics
    /// If the level has no such places.
    pub fn entries(
        level: &Arc<Level<F>>,
        places: Range<usize>,
        mut open: impl FnMut(&Arc<F>) -> Result<Option<S>, E> + Send + 'static,
    ) -> Result<Self, E> {
        Self::new(level, places, Box::new(move |file| Ok(open(file)?.map(Entries))))
    }
}

impl<F, S: Scan<E>, E> LevelScan<F, S, E> {
    fn new(level: &Arc<Level<F>>, places: Range<usize>, open: OpenScan<F, S, E>) -> Result<Self, E> {
        assert!(places.end <= level.files().len(), "places of the level");
        let mut scan = Self { level: Arc::clone(level), rest: places, open, scan: None };
        scan.settle()?;
        Ok(scan)
    }

    /// The file in hand.
    #[must_use]
    pub fn file(&self) -> Option<&Arc<F>> {
        let place = self.scan.as_ref().map(|_| self.rest.start)?.checked_sub(1)?;
        self.level.files().get(place)
    }

    /// Goes on to the next file as long as the one in hand has nothing in front.
    fn settle(&mut self) -> Result<(), E> {
        while self.scan.as_ref().is_none_or(Scan::is_done) {
            // Its windows go before the next one takes its own.
            self.scan = None;
            let Some(place) = self.rest.next() else { break };
            self.scan = (self.open)(&self.level.files()[place])?;
        }
        Ok(())
    }

    /// A failure ends the scan: nothing stays in front.
    fn go_on(&mut self) -> Result<(), E> {
        let Some(scan) = &mut self.scan else { return Ok(()) };
        let went = scan.go_on().and_then(|()| self.settle());
        if went.is_err() {
            self.scan = None;
            self.rest = 0..0;
        }
        went
    }
}

impl<F, S: ListSource<Error: Into<E>>, E> ListSource for LevelScan<F, Lists<S>, E> {
    type Error = E;

    #[inline]
    fn slice(&self) -> Option<ListSlice<'_>> {
        self.scan.as_ref()?.0.slice()
    }

    #[inline]
    fn advance(&mut self) -> Result<(), E> {
        self.go_on()
    }
}

impl<F, S: EntrySource<Error: Into<E>>, E> EntrySource for LevelScan<F, Entries<S>, E> {
    type Error = E;

    #[inline]
    fn entry(&self) -> Option<(Subject, EntryRecord<'_>)> {
        self.scan.as_ref()?.0.entry()
    }

    #[inline]
    fn advance(&mut self) -> Result<(), E> {
        self.go_on()
    }
}
