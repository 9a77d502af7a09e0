//! Catch-up: the messages of many revisions, read forwards.
//!
//! ```text
//! revision    40 | 41 42 43 ... 56 | 57 ... 72 | 73 ...... 104 | 105 ...      newest
//! version      7 |  8  9 10 ... 23 |        23 |            23 |
//!                  16 at once        nothing: twice as many revisions are looked at next
//! ```
//!
//! A watch that begins far back is none of etcd's strengths: ten times a second the member reads everything from there to its
//! newest revision into memory, sends 1,000 revisions of it, and takes no put meanwhile (`syncWatchers`, in all versions). Reads
//! of single revisions hold nobody up, and never fetch more than 16 messages ahead.
//!
//! A key that is deleted and written again within the revisions begins a new life, with another revision of creation. One that is
//! there neither before some revisions nor behind them is taken for one that was not there in between.
//!
//! Source: etcd 3.4, `mvcc/watchable_store.go`.

use crate::log::etcd::failure::{CallFailure, FailureKind};
use crate::log::etcd::key_version::{Content, revision_of};
use crate::log::etcd::wire::KeyValue;
use crate::log_position::LogPosition;
use futures_util::future::try_join_all;

/// Revisions that are read at once: 1 MiB of messages at most, which must come within the time limit of a request.
const REVISIONS_AT_ONCE: i64 = 16;

/// Revisions that are looked at together, at most, to find out whether one of them wrote the key.
const REVISIONS_SKIPPED_MAX: i64 = 1 << 40;

/// How far a reader has come that is far behind.
#[derive(Debug)]
pub(super) struct CatchUp {
    /// The next revision.
    next: i64,
    /// The last one that is read.
    last: i64,
    /// The key as of the revision before the next one; `None` if it was not there, or nobody knows.
    before: Option<KeyState>,
    versions_before: Option<i64>,
    /// Revisions that are looked at next.
    step: i64,
}

/// Which version of which life of the key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct KeyState {
    create_revision: i64,
    version: i64,
}

impl KeyState {
    fn of(found: &KeyValue) -> Self {
        Self { create_revision: found.create_revision, version: found.version }
    }
}

impl CatchUp {
    /// Reads `first..=last` by `version`, which gives the version as of a revision.
    ///
    /// # Errors
    /// Those of `version`, but not that what lies before `first` was forgotten.
    pub(super) async fn begin<F, A>(
        first: LogPosition,
        last: LogPosition,
        version: &F,
    ) -> Result<Self, CallFailure>
    where
        F: Fn(i64, Content) -> A,
        A: Future<Output = Result<Option<KeyValue>, CallFailure>>,
    {
        let (next, last) = (revision_of(first).max(1), revision_of(last));
        // Revision 0 is none: etcd takes it for the newest one.
        let before = match (next - 1).min(last) {
            0 => Ok(None),
            before => version(before, Content::Number).await,
        };
        let (before, versions_before) = match before {
            Ok(before) => {
                let before = before.as_ref().map(KeyState::of);
                (before, Some(before.map_or(0, |before| before.version)))
            }
            Err(failure) if failure.kind == FailureKind::Compacted => (None, None),
            Err(failure) => return Err(failure),
        };
        Ok(Self { next, last, before, versions_before, step: REVISIONS_AT_ONCE })
    }

    /// How many versions the key had before what is read; `None` if that was forgotten.
    pub(super) fn versions_before(&self) -> Option<i64> {
        self.versions_before
    }

    /// What was not read yet begins here.
    pub(super) fn next(&self) -> LogPosition {
        LogPosition(u64::try_from(self.next).unwrap_or(0))
    }

    /// The messages of the next revisions, in order, perhaps none; `None` behind the last one.
    ///
    /// # Errors
    /// Those of `version`. Nothing is skipped: the same comes again.
    pub(super) async fn read<F, A>(&mut self, version: &F) -> Result<Option<Vec<KeyValue>>, CallFailure>
    where
        F: Fn(i64, Content) -> A,
        A: Future<Output = Result<Option<KeyValue>, CallFailure>>,
    {
        if self.next > self.last {
            return Ok(None);
        }
        let end = self.next.saturating_add(self.step - 1).min(self.last);
        let count = end - self.next + 1;
        let behind = version(end, Content::Number).await?.as_ref().map(KeyState::of);
        if behind == self.before {
            self.step = (2 * self.step).min(REVISIONS_SKIPPED_MAX);
            self.next = end + 1;
            return Ok(Some(Vec::new()));
        }
        if count > REVISIONS_AT_ONCE {
            // One of them wrote the key: the first half is looked at.
            self.step = (count / 2).max(REVISIONS_AT_ONCE);
            return Ok(Some(Vec::new()));
        }
        let mut revisions: Vec<i64> = (self.next..=end).collect();
        if !self.all_wrote_the_key(behind, count) {
            let asked: Vec<A> =
                revisions.iter().map(|revision| version(*revision, Content::Number)).collect();
            let found = try_join_all(asked).await?;
            let written = revisions.into_iter().zip(found);
            let written = written.filter(|(revision, found)| is_written_at(*revision, found.as_ref()));
            revisions = written.map(|(revision, _)| revision).collect();
        }
        let asked: Vec<A> = revisions.iter().map(|revision| version(*revision, Content::Whole)).collect();
        let mut messages = Vec::with_capacity(revisions.len());
        for (revision, found) in revisions.into_iter().zip(try_join_all(asked).await?) {
            match found {
                Some(message) if message.mod_revision == revision => messages.push(message),
                _ => return Err(CallFailure::unknown(format!("etcd forgot the message at {revision}"))),
            }
        }
        (self.next, self.before, self.step) = (end + 1, behind, REVISIONS_AT_ONCE);
        Ok(Some(messages))
    }

    /// Whether each of the next `count` revisions wrote the key, by how many versions there are `behind` them.
    fn all_wrote_the_key(&self, behind: Option<KeyState>, count: i64) -> bool {
        match (self.before, behind) {
            (Some(before), Some(behind)) if before.create_revision == behind.create_revision => {
                behind.version - before.version == count
            }
            (None, Some(behind)) => behind.create_revision >= self.next && behind.version == count,
            _ => false,
        }
    }
}

fn is_written_at(revision: i64, found: Option<&KeyValue>) -> bool {
    found.is_some_and(|found| found.mod_revision == revision)
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;
    use futures_util::FutureExt as _;
    use proptest::prelude::*;
    use std::cell::{Cell, RefCell};
    use std::future::{Ready, ready};

    /// A member whose revisions wrote the key, deleted it, or wrote something else.
    struct Member {
        /// The version as of each revision from 1 on.
        versions: Vec<Option<KeyValue>>,
        /// What lies before it is forgotten.
        compacted: i64,
        questions: Cell<usize>,
        /// Revisions whose messages were asked for.
        whole: RefCell<Vec<i64>>,
    }

    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    enum Change {
        Put,
        Delete,
        Other,
    }

    impl Member {
        fn new(changes: &[Change]) -> Self {
            let (mut versions, mut now): (Vec<Option<KeyValue>>, Option<KeyValue>) = (Vec::new(), None);
            for (change, mod_revision) in changes.iter().zip(1i64..) {
                now = match (change, now.take()) {
                    (Change::Put, before) => {
                        let create_revision = before.as_ref().map_or(mod_revision, |kv| kv.create_revision);
                        let version = before.map_or(1, |kv| kv.version + 1);
                        let value = Bytes::from(format!("m{mod_revision}"));
                        Some(KeyValue { create_revision, mod_revision, version, value })
                    }
                    (Change::Delete, _) => None,
                    (Change::Other, before) => before,
                };
                versions.push(now.clone());
            }
            Self { versions, compacted: 0, questions: Cell::new(0), whole: RefCell::default() }
        }

        fn version(&self, revision: i64, content: Content) -> Ready<Result<Option<KeyValue>, CallFailure>> {
            self.questions.set(self.questions.get() + 1);
            if revision < self.compacted {
                let reason = "compacted".to_owned();
                return ready(Err(CallFailure { kind: FailureKind::Compacted, reason }));
            }
            if content == Content::Whole {
                self.whole.borrow_mut().push(revision);
            }
            let at = usize::try_from(revision - 1).expect("0 is the newest one, and none is below");
            ready(Ok(self.versions[at].clone()))
        }

        fn begin(&self, first: u64) -> CatchUp {
            let last = LogPosition(self.versions.len() as u64);
            let version = |revision, content| self.version(revision, content);
            let begun = CatchUp::begin(LogPosition(first), last, &version).now_or_never();
            begun.expect("it waits for nobody").expect("the member answers")
        }

        fn read(&self, catch_up: &mut CatchUp) -> Result<Option<Vec<KeyValue>>, CallFailure> {
            let version = |revision, content| self.version(revision, content);
            catch_up.read(&version).now_or_never().expect("it waits for nobody")
        }

        /// The revisions of everything from `first` on.
        fn read_all(&self, first: u64) -> Vec<i64> {
            let (mut catch_up, mut found) = (self.begin(first), Vec::new());
            while let Some(messages) = self.read(&mut catch_up).expect("the member answers") {
                assert!(messages.len() as i64 <= REVISIONS_AT_ONCE, "{} at once", messages.len());
                found.extend(messages.iter().map(|message| message.mod_revision));
            }
            found
        }
    }

    fn puts(count: usize) -> Vec<Change> {
        vec![Change::Put; count]
    }

    fn any_change() -> impl Strategy<Value = Change> {
        prop_oneof![5 => Just(Change::Put), 1 => Just(Change::Delete), 3 => Just(Change::Other)]
    }

    proptest! {
        #[test]
        fn every_message_is_read_once_in_order_whatever_else_is_written(
            parts in proptest::collection::vec((any_change(), 1usize..40), 1..9), first in 0u64..60,
        ) {
            // Without a deletion the key is never there and gone again unseen.
            let mut changes: Vec<Change> =
                parts.iter().flat_map(|(change, count)| vec![*change; *count]).collect();
            changes.push(Change::Put);
            let member = Member::new(&changes);
            let wanted: Vec<i64> = (1i64..)
                .zip(&changes)
                .filter(|(revision, change)| **change == Change::Put && *revision >= first as i64)
                .map(|(revision, _)| revision)
                .collect();
            let deleted = changes.contains(&Change::Delete);
            let found = member.read_all(first);
            if deleted {
                prop_assert!(found.iter().all(|revision| wanted.contains(revision)), "{:?}", found);
                prop_assert!(found.is_sorted_by(|one, next| one < next), "{:?}", found);
            } else {
                prop_assert_eq!(found, wanted);
            }
        }
    }

    #[test]
    fn a_log_of_its_own_is_read_with_one_question_a_message_and_one_for_sixteen() {
        let member = Member::new(&puts(1600));
        assert_eq!(member.read_all(1), (1..=1600).collect::<Vec<_>>());
        assert_eq!(member.questions.get(), 1600 + 100);
        let member = Member::new(&puts(1600));
        assert_eq!(member.read_all(101).len(), 1500);
        assert_eq!(member.begin(101).versions_before(), Some(100));
    }

    #[test]
    fn revisions_of_other_keys_are_skipped_in_growing_steps() {
        let changes = [puts(3), vec![Change::Other; 100_000], puts(2), vec![Change::Other; 5000]].concat();
        let member = Member::new(&changes);
        assert_eq!(member.read_all(1), [1, 2, 3, 100_004, 100_005]);
        assert!(member.questions.get() < 200, "{} questions", member.questions.get());
        assert_eq!(member.whole.borrow().len(), 5, "no message is fetched twice");
    }

    #[test]
    fn a_key_that_was_deleted_and_written_again_is_read_on() {
        let changes = [puts(5), vec![Change::Delete], puts(7)].concat();
        let member = Member::new(&changes);
        assert_eq!(member.read_all(3), [3, 4, 5, 7, 8, 9, 10, 11, 12, 13]);
    }

    #[test]
    fn what_was_forgotten_is_an_error_from_where_it_was_not_read() {
        let mut member = Member::new(&puts(100));
        member.compacted = 40;
        // The oldest one that is still there may be read, though nobody knows what was before it.
        assert_eq!(member.begin(40).versions_before(), None);
        assert_eq!(member.read_all(40), (40..=100).collect::<Vec<_>>());
        for first in [1, 20, 39] {
            let mut catch_up = member.begin(first);
            let failure = member.read(&mut catch_up).expect_err("it was forgotten");
            assert_eq!((failure.kind, catch_up.next()), (FailureKind::Compacted, LogPosition(first)));
        }
        // Somebody trims while it is read.
        member.compacted = 0;
        let mut catch_up = member.begin(1);
        assert_eq!(member.read(&mut catch_up).expect("it is there").map(|all| all.len()), Some(16));
        member.compacted = 40;
        assert!(member.read(&mut catch_up).is_err());
        assert_eq!(catch_up.next(), LogPosition(17));
    }
}
