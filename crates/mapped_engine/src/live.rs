//! Live: the head of the file that processes share while a database is open, and the time in it.
//!
//! ```text
//! LINE      HOLDS
//!    0      who made it and how it is laid out                            live_head.rs
//!    1      W: last published commit
//!    2      R: newest commit that snapshots of other processes see
//!    3      era: how often a version was replaced
//!    4      groups: one more than the highest
//!    5      catalogue: the line of its block:32 | how often it changed:32   shared_catalogue.rs
//!    8..16  claims: for each the process that has its slots here, or 0   claimed_slots.rs
//!   16..24  retained: bytes that wait for the snapshots of each claim       live_writer.rs
//!   24..64  zero
//!   64..    slots, two a line                                            slots.rs
//!   then    directory of groups: 1,024 words, 128 lines                  group.rs
//!   then    blocks                                                       arena.rs
//! ```
//!
//! The writer makes `live` anew whenever it opens the database; nothing in it is ever durable. Only the writer stores in
//! it, but for the slots and claims of readers; one that claims also clears the retained bytes of that claim. W, R and the era only
//! grow, and each has a line of its own, since all readers look at them.
//!
//! State and head: the writer stores everything else, then the state (Release); who joins loads the state (Acquire)
//! first.

use crate::live_head::{
    CLAIMS_LINE, CLOSED, GROUP_PAGES, LiveHead, RETAINED_LINE, SLOTS_LINE, SLOTS_PER_PROCESS, STATE_WORD,
    made_anew,
};
use crate::words::{LINE_WORDS, LineNumber, SharedWords};
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::id::GroupId;
use evergraph_graph::timestamp::Timestamp;
use evergraph_storage::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;

const BUILDING: u64 = 1;
const OPEN: u64 = 2;

/// Whether a process has the database open to write: who joins finds out by the database's lock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WriterPresence {
    /// The lock is held, by this process if it left its id.
    Present(Option<u32>),
    /// Nobody holds the lock.
    Gone,
}

/// What processes share while a database is open.
///
/// Concurrency: W, R and the era are stored by the writer alone and loaded by anybody, see each; the rest of the head
/// doesn't change.
#[derive(Debug)]
pub struct Live {
    words: Arc<SharedWords>,
    head: LiveHead,
}

impl Live {
    /// Makes `words`, which are zero, a `live` of `head`, in which W and R are `published`. Nobody can join before
    /// [`Live::open`].
    ///
    /// # Errors
    /// `invalid` if the head says what cannot be; what allocating the first region fails with.
    pub fn create(words: Arc<SharedWords>, head: LiveHead, published: Timestamp) -> Result<Self> {
        let encoded = head.encode(BUILDING);
        let same = LiveHead::decode(encoded, words.path())?;
        debug_assert!(same == head && words.sizes() == head.sizes);
        // The first word is what others look at first, while the rest is being stored.
        for (word, value) in words.line(LineNumber(0))?.iter().zip(encoded).rev() {
            word.store(value, Ordering::Release);
        }
        let live = Self { words, head };
        live.published_word().store(published.0, Ordering::Relaxed);
        live.readable_word().store(published.0, Ordering::Relaxed);
        live.era_word().store(1, Ordering::Relaxed);
        Ok(live)
    }

    /// Lets others join; nothing if they may already, or not any more.
    pub fn open(&self) {
        let state = self.state_word();
        if state.load(Ordering::Relaxed) == BUILDING {
            // Closed meanwhile: it stays so.
            let _ = state.compare_exchange(BUILDING, OPEN, Ordering::Release, Ordering::Relaxed);
        }
    }

    /// Says that nothing more will be written here: snapshots go on, nobody begins another one.
    pub fn close(&self) {
        self.state_word().store(CLOSED, Ordering::Release);
    }

    /// Joins the `live` of `opening` that another process made. Whoever goes on to claim slots learns there whether it is still the
    /// newest.
    ///
    /// # Errors
    /// Those of [`LiveHead::decode`]; `busy` if it is another opening's by now, if it isn't ready yet, if it was closed, or if its
    /// writer is gone, or has been followed by another one, and so left it by a crash.
    pub fn join(words: Arc<SharedWords>, opening: u128, writer: WriterPresence) -> Result<Self> {
        let line = words.line(LineNumber(0))?;
        // Before the rest.
        let state = line[STATE_WORD].load(Ordering::Acquire);
        let head =
            LiveHead::decode(std::array::from_fn(|at| line[at].load(Ordering::Relaxed)), words.path())?;
        if head.sizes != words.sizes() {
            return Err(
                words.damaged(LineNumber(0), "the sizes of regions changed since the file was opened")
            );
        }
        if head.opening != opening {
            return Err(made_anew(words.path()));
        }
        let live = Self { words, head };
        live.check_open(state)?;
        let (path, process) = (live.words.path().display(), head.process);
        let left = format!("{path} was left by process {process}, which ended without closing the database");
        let text = match writer {
            WriterPresence::Gone => format!("{left}: open it for writing"),
            WriterPresence::Present(Some(other)) if other != process => {
                format!("{left}: process {other} is opening it; try again")
            }
            WriterPresence::Present(_) => return Ok(live),
        };
        Err(Error::new(ErrorKind::Busy, text))
    }

    /// Whether it is written: nobody closed it, and no other opening followed. A writer that was killed leaves it so.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.state_word().load(Ordering::Acquire) == OPEN
    }

    /// Refuses unless snapshots can begin.
    ///
    /// # Errors
    /// `busy`, naming the writer's process.
    pub fn check(&self) -> Result<()> {
        self.check_open(self.state_word().load(Ordering::Acquire))
    }

    fn check_open(&self, state: u64) -> Result<()> {
        let does = match state {
            OPEN => return Ok(()),
            CLOSED => "closed the database",
            BUILDING => "is opening the database",
            _ => return Err(self.words.damaged(LineNumber(0), format_args!("there is no state {state}"))),
        };
        let text =
            format!("{}: process {} {does}; try again", self.words.path().display(), self.head.process);
        Err(Error::new(ErrorKind::Busy, text))
    }

    /// The memory that it lies in.
    #[must_use]
    pub fn words(&self) -> &Arc<SharedWords> {
        &self.words
    }

    /// What line 0 says.
    #[must_use]
    pub fn head(&self) -> &LiveHead {
        &self.head
    }

    /// W: the newest published commit.
    #[must_use]
    pub fn published(&self) -> Timestamp {
        Timestamp(self.published_word().load(Ordering::Acquire))
    }

    /// Publishes a commit of which everything is installed. Under the latch.
    pub fn publish(&self, timestamp: Timestamp) {
        raise(self.published_word(), timestamp);
    }

    /// R: the newest commit that snapshots of other processes see.
    #[must_use]
    pub fn readable(&self) -> Timestamp {
        Timestamp(self.readable_word().load(Ordering::Acquire))
    }

    /// Lets snapshots see commits up to `timestamp`, which are published, and durable if that is promised.
    pub fn make_readable(&self, timestamp: Timestamp) {
        debug_assert!(timestamp <= self.published(), "R grows up to W");
        raise(self.readable_word(), timestamp);
    }

    /// One more than the highest group. Acquire: the group can be found.
    #[must_use]
    pub fn group_end(&self) -> u32 {
        u32::try_from(self.word(4).load(Ordering::Acquire)).unwrap_or(u32::MAX).min(GroupId::END)
    }

    /// There are groups up to `end`, which can be found.
    pub fn raise_group_end(&self, end: u32) {
        self.word(4).fetch_max(end.into(), Ordering::AcqRel);
    }

    /// The era: versions that are replaced from now on are needed by nobody who begins from now on.
    #[must_use]
    pub fn era(&self) -> u64 {
        self.era_word().load(Ordering::Acquire)
    }

    /// Begins the next era, after a version was replaced; the one that ended.
    pub fn end_era(&self) -> u64 {
        self.era_word().fetch_add(1, Ordering::AcqRel)
    }

    /// Where R lies. Release after the commit is installed; Acquire by a slot's begin.
    #[must_use]
    pub fn readable_word(&self) -> &AtomicU64 {
        self.word(2)
    }

    /// Where the era lies. AcqRel after a version was replaced; Acquire by a slot's begin.
    #[must_use]
    pub fn era_word(&self) -> &AtomicU64 {
        self.word(3)
    }

    /// Where it stands which block has the catalogue. Release after the block is stored, and before R reaches the commit that
    /// made it; Acquire behind a slot's begin.
    #[must_use]
    pub fn catalogue_word(&self) -> &AtomicU64 {
        self.word(5)
    }

    fn published_word(&self) -> &AtomicU64 {
        self.word(1)
    }

    fn state_word(&self) -> &AtomicU64 {
        &self.line(0)[STATE_WORD]
    }

    fn word(&self, line: u32) -> &AtomicU64 {
        &self.line(line)[0]
    }

    fn line(&self, line: u32) -> &[AtomicU64; LINE_WORDS] {
        self.words.line(LineNumber(line)).expect("the first region has the head: `decode` looked")
    }

    /// The words of all slots, four each.
    #[must_use]
    pub fn slot_words(&self) -> &[AtomicU64] {
        let count = self.head.slots as usize * 4;
        self.words
            .slice(LineNumber(SLOTS_LINE), count)
            .expect("the first region has the slots: `decode` looked")
    }

    /// Where it stands which process has the slots of `claim`: zero if none has. Release by that process, which has the
    /// claim's lock, after it joined; Acquire by the writer, which found the lock held.
    ///
    /// # Panics
    /// If there are fewer claims.
    #[must_use]
    pub fn claim_word(&self, claim: u32) -> &AtomicU64 {
        self.word_of_claim(CLAIMS_LINE, claim)
    }

    /// Where it stands how many bytes waited for the snapshots of `claim` when the writer looked last. Relaxed: for people.
    ///
    /// # Panics
    /// As [`Live::claim_word`].
    #[must_use]
    pub fn retained_word(&self, claim: u32) -> &AtomicU64 {
        self.word_of_claim(RETAINED_LINE, claim)
    }

    /// The word of `claim` in the lines from `first` on, a word for each.
    fn word_of_claim(&self, first: u32, claim: u32) -> &AtomicU64 {
        assert!(
            claim < self.head.slots / SLOTS_PER_PROCESS,
            "whoever has a claim has one of those that there are"
        );
        let at = claim as usize;
        &self.line(first + (at / LINE_WORDS) as u32)[at % LINE_WORDS]
    }

    /// The words of the directory of groups.
    #[must_use]
    pub fn group_directory(&self) -> &[AtomicU64] {
        let words = self.words.slice(self.head.group_directory(), GROUP_PAGES);
        words.expect("the first region has the directory: `decode` looked")
    }
}

/// Stores a timestamp if the word has an older one. Mostly nothing changed: all processes look at the line, and a load leaves it
/// with them.
fn raise(word: &AtomicU64, timestamp: Timestamp) {
    if word.load(Ordering::Acquire) < timestamp.0 {
        word.fetch_max(timestamp.0, Ordering::AcqRel);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::live_head::SLOTS;
    use crate::words::RegionSizes;
    use evergraph_graph::timestamp::Timestamp as T;
    use std::path::Path;

    fn head() -> LiveHead {
        let sizes = RegionSizes::new(11, 12).unwrap();
        LiveHead { opening: 0xfeed << 64 | 7, process: 42, sizes, slots: 16 }
    }

    const PRESENT: WriterPresence = WriterPresence::Present(Some(42));

    fn created() -> Live {
        Live::create(Arc::new(SharedWords::on_heap(head().sizes)), head(), T(5)).unwrap()
    }

    fn refused(live: &Live, writer: WriterPresence) -> (ErrorKind, String) {
        let error = Live::join(Arc::clone(live.words()), head().opening, writer).unwrap_err();
        (error.kind(), error.to_string())
    }

    #[test]
    fn who_joins_sees_the_time_and_what_the_head_says() {
        let live = created();
        live.open();
        let joined = Live::join(Arc::clone(live.words()), head().opening, PRESENT).unwrap();
        assert_eq!(*joined.head(), head());
        assert_eq!((joined.published(), joined.readable(), joined.era()), (T(5), T(5), 1));
        live.publish(T(7));
        live.make_readable(T(6));
        assert_eq!(live.end_era(), 1);
        assert_eq!((joined.published(), joined.readable(), joined.era()), (T(7), T(6), 2));
        assert_eq!(head().group_directory().byte_offset(), 4096 + 16 * 32);
        let standard = LiveHead { sizes: RegionSizes::STANDARD, slots: SLOTS, ..head() };
        assert_eq!(standard.group_directory().byte_offset(), 36_864);
    }

    #[test]
    fn what_is_not_open_is_refused_by_the_name_of_its_process() {
        let live = created();
        let (kind, text) = refused(&live, PRESENT);
        assert!(kind == ErrorKind::Busy && text.contains("process 42 is opening"), "{text}");
        live.open();
        let (kind, text) = refused(&live, WriterPresence::Gone);
        assert!(kind == ErrorKind::Busy && text.contains("was left by process 42"), "{text}");
        let (kind, text) = refused(&live, WriterPresence::Present(Some(43)));
        assert!(kind == ErrorKind::Busy && text.contains("process 43 is opening it"), "{text}");
        assert!(
            Live::join(Arc::clone(live.words()), head().opening, WriterPresence::Present(None)).is_ok(),
            "a process that left no id"
        );
        assert!(live.check().is_ok());
        live.close();
        live.open();
        let (kind, text) = refused(&live, PRESENT);
        assert!(kind == ErrorKind::Busy && text.contains("process 42 closed"), "{text}");
        assert_eq!(live.check().unwrap_err().kind(), ErrorKind::Busy);
    }

    #[test]
    fn a_live_of_another_database_or_format_and_a_damaged_one_are_refused_by_name() {
        let cases: [(usize, u64, ErrorKind, &str); 8] = [
            (0, 17, ErrorKind::Corrupt, "no file that processes share"),
            (1, 5, ErrorKind::Invalid, "has format 5"),
            (2, 8, ErrorKind::Busy, "another process opened the database meanwhile"),
            (4, 42 | u64::MAX << 32, ErrorKind::Busy, "by process 42 before this machine was started again"),
            (5, 99, ErrorKind::Corrupt, "there is no state 99"),
            (6, u64::MAX, ErrorKind::Corrupt, "no regions"),
            (7, 17, ErrorKind::Corrupt, "17 slots"),
            (7, 1024, ErrorKind::Corrupt, "do not fit"),
        ];
        for (word, value, kind, says) in cases {
            let live = created();
            live.open();
            live.words().line(LineNumber(0)).unwrap()[word].store(value, Ordering::Relaxed);
            let (found, text) = refused(&live, PRESENT);
            assert!(found == kind && text.contains(says), "word {word}: {text}");
        }
        // What the bytes of a database that doesn't exist say.
        let error = LiveHead::decode([0; 8], Path::new("db/live")).unwrap_err();
        assert!(error.to_string().starts_with("db/live: "), "{error}");
    }
}
