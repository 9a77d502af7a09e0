//! Packer: records of one author into messages, and messages into the log until it has them.
//!
//! ```text
//! push ──> open message ──full──> full messages ──┐                     ┌─ position: done
//!               └──none under way, or old enough──┴─next_append─> log ──┤
//!                                                        ▲              └─ no answer: the same bytes again, a little later
//!                                                        └──────────────────────┘
//! ```
//!
//! A message goes out when it has no room for the next record, or when none is under way: the first one at once, the next one, with all
//! that came meanwhile, when the log has it. A message costs the log and every node the same, whatever it has, so fewer are better:
//! this is a disk's group commit, with the log for a disk. If the log takes long for one message, the next one waits no longer than
//! [`PackerLimits::record_wait`]. At most so many are full or under way at once; then the open message waits and fills, and after
//! that [`Packer::push`] takes nothing: the coordinators feel that the log is slow.
//!
//! A message without an answer is sent again, in the same bytes, until the log answers with a position or the message is
//! read from the log. That is safe however late it arrives: its records keep their ids, and certification refuses what is
//! too old. Of a node that dies nobody sends anything again; clients cancel elsewhere. While the log is unavailable, messages
//! under way are sent again for ever, each every 640 ms, and the packer stays full: deadlines are those of the coordinators.
//!
//! Messages that are under way at once reach the log in any order. Whoever needs one before another, as of a large
//! transaction, pushes the second when the first was answered or has arrived.

use crate::digest::SeenLog;
use crate::log::shared_log::{AppendId, LogError};
use crate::log_position::LogPosition;
use crate::planted::{Bug, planted};
use crate::record::body::{Record, RecordBody};
use crate::record::message::{Message, MessageBuilder, RECORD_BYTES_MAX};
use crate::record_id::Author;
use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// How long a message waits after the first time that the log did not take it; each further time twice as long.
const RESEND_WAIT: Duration = Duration::from_millis(10);

/// Times after which the wait no longer grows: 640 ms.
const RESEND_DOUBLINGS_MAX: u32 = 6;

/// How long records wait, and how many messages are under way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PackerLimits {
    /// The longest time that a record waits while earlier messages are under way.
    pub record_wait: Duration,
    /// Messages that are full or under way at once.
    pub messages_max: usize,
}

impl Default for PackerLimits {
    fn default() -> Self {
        Self { record_wait: Duration::from_millis(20), messages_max: 32 }
    }
}

/// Why a record was not taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum PushError {
    /// As many messages as may be are under way, and the open one is full. It has room once the log answers.
    Full,
    /// The record has no room in a message of its own: it must be sent in parts
    /// ([`crate::record::large_transaction`]).
    TooLarge,
}

/// A message that goes to the log now.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DueAppend {
    /// The number of this attempt.
    pub id: AppendId,
    /// The message.
    pub message: Arc<[u8]>,
}

/// A message that the log took.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AppendedMessage {
    /// Where it lies. What the log says is compared with what was applied: see
    /// [`LogReader::check_answer`](crate::log::reader::LogReader::check_answer).
    pub position: LogPosition,
    /// The message.
    pub message: Arc<[u8]>,
    /// The numbers of its records.
    pub records: Vec<u64>,
}

/// Packs records of one author, and keeps their messages until the log has them.
#[derive(Debug)]
pub struct Packer {
    author: Author,
    limits: PackerLimits,
    open: Option<OpenMessage>,
    /// Each has its place among the messages under way already.
    full: VecDeque<OpenMessage>,
    /// Oldest first.
    sent: Vec<SentMessage>,
    attempts: u64,
    /// Why the log did not take the last message that it answered for.
    failure: Option<LogError>,
}

/// A message whose head is not written yet: what its author has applied is known when it is sent.
#[derive(Debug)]
struct OpenMessage {
    builder: MessageBuilder,
    records: Vec<u64>,
    begun_at: Duration,
}

#[derive(Debug)]
struct SentMessage {
    message: Arc<[u8]>,
    records: Vec<u64>,
    attempt: Attempt,
    failures: u32,
    /// It was read from the log: it need not be sent again.
    has_arrived: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Attempt {
    UnderWay(AppendId),
    /// The next one is at this time.
    Waiting(Duration),
}

impl Packer {
    /// Packs what `author` writes.
    ///
    /// # Panics
    /// If no message may be under way.
    #[must_use]
    pub fn new(author: Author, limits: PackerLimits) -> Self {
        assert!(limits.messages_max > 0, "a message must be allowed under way");
        Self {
            author,
            limits,
            open: None,
            full: VecDeque::new(),
            sent: Vec::new(),
            attempts: 0,
            failure: None,
        }
    }

    /// Takes a record, which goes out at once if nothing is under way, else after [`PackerLimits::record_wait`] at most.
    ///
    /// # Errors
    /// [`PushError`]. The record was not taken; those before it were.
    pub fn push(&mut self, record: &Record, now: Duration) -> Result<(), PushError> {
        if let Some(open) = &mut self.open
            && open.builder.push(record)
        {
            open.records.push(record.number);
            return Ok(());
        }
        let mut builder = MessageBuilder::new(self.author);
        if !builder.push(record) {
            return Err(PushError::TooLarge);
        }
        if self.open.is_some() && !self.has_place() {
            return Err(PushError::Full);
        }
        let next = OpenMessage { builder, records: vec![record.number], begun_at: now };
        self.full.extend(self.open.replace(next));
        Ok(())
    }

    /// The next message that goes to the log at `now`: to be asked until there is none. `seen` is what the author has applied;
    /// no record that was pushed reads at a later snapshot.
    pub fn next_append(&mut self, now: Duration, seen: &SeenLog) -> Option<DueAppend> {
        let is_due = |sent: &SentMessage| matches!(sent.attempt, Attempt::Waiting(at) if at <= now);
        if let Some(at) = self.sent.iter().position(is_due) {
            let id = self.new_attempt();
            let sent = &mut self.sent[at];
            sent.attempt = Attempt::UnderWay(id);
            if planted(Bug::ResealedOnResend) {
                sent.message = resealed(&sent.message, seen);
            }
            return Some(DueAppend { id, message: Arc::clone(&sent.message) });
        }
        let OpenMessage { builder, records, .. } = self.next_message(now)?;
        let message: Arc<[u8]> = builder.finish(seen).into();
        let id = self.new_attempt();
        self.sent.push(SentMessage {
            message: Arc::clone(&message),
            records,
            attempt: Attempt::UnderWay(id),
            failures: 0,
            has_arrived: false,
        });
        Some(DueAppend { id, message })
    }

    /// The last message of a node that stops because its log has changed: a barrier with the number `record`, by an author
    /// who saw `changed` ([`LogReader::changed_log`](crate::log::reader::LogReader::changed_log)). It goes to the log at once
    /// and alone, since what was pushed was read in the log that is gone, and it is not sent again.
    #[must_use]
    pub fn last_append(&mut self, record: u64, changed: &SeenLog) -> DueAppend {
        let mut builder = MessageBuilder::new(self.author);
        let has_room = builder.push(&Record { number: record, body: RecordBody::Barrier });
        assert!(has_room, "a barrier takes a few bytes of an empty message");
        DueAppend { id: self.new_attempt(), message: builder.finish(changed).into() }
    }

    /// The log answered an append. Returns the message if it is in the log now; one that is not, or of which nobody can say,
    /// goes out again. An answer to an append of somebody else is ignored.
    pub fn answered(
        &mut self,
        now: Duration,
        id: AppendId,
        result: Result<LogPosition, LogError>,
    ) -> Option<AppendedMessage> {
        let at = self.sent.iter().position(|sent| sent.attempt == Attempt::UnderWay(id))?;
        match result {
            Ok(position) => {
                self.failure = None;
                let SentMessage { message, records, .. } = self.sent.remove(at);
                Some(AppendedMessage { position, message, records })
            }
            Err(error) => {
                self.failure = Some(error);
                let is_refused = matches!(self.failure, Some(LogError::Unavailable { .. }));
                let sent = &mut self.sent[at];
                if sent.has_arrived || (is_refused && planted(Bug::RefusedAppendDropped)) {
                    self.sent.remove(at);
                } else {
                    let doublings = sent.failures.min(RESEND_DOUBLINGS_MAX);
                    sent.failures += 1;
                    sent.attempt = Attempt::Waiting(now + RESEND_WAIT * (1_u32 << doublings));
                }
                None
            }
        }
    }

    /// A message was read from the log. If it is one of those that were sent, it need not be sent again.
    pub fn arrived(&mut self, message: &Message) {
        if message.author != self.author || planted(Bug::ArrivalIgnored) {
            return;
        }
        let first = message.records.first().map(|record| record.number);
        let Some(at) = self.sent.iter().position(|sent| sent.records.first().copied() == first) else {
            return;
        };
        self.failure = None;
        match self.sent[at].attempt {
            // It keeps its place until it is answered: the log still works on it.
            Attempt::UnderWay(_) => self.sent[at].has_arrived = true,
            Attempt::Waiting(_) => drop(self.sent.remove(at)),
        }
    }

    /// When [`Packer::next_append`] has something next, if no answer and no record comes before.
    #[must_use]
    pub fn next_step_at(&self) -> Option<Duration> {
        let again = self.sent.iter().filter_map(|sent| match sent.attempt {
            Attempt::UnderWay(_) => None,
            Attempt::Waiting(at) => Some(at),
        });
        let full = self.full.front().map(|_| Duration::ZERO);
        let open = self.open.as_ref().filter(|_| self.has_place()).map(|open| self.due_at(open));
        again.chain(full).chain(open).min()
    }

    /// Why the log did not take a message, since it last took one.
    #[must_use]
    pub fn failure(&self) -> Option<&LogError> {
        self.failure.as_ref()
    }

    /// The numbers of records that were pushed and of which the log has not said that it has them.
    pub fn unanswered(&self) -> impl Iterator<Item = u64> {
        let unsent = self.full.iter().chain(&self.open).map(|open| &open.records);
        self.sent.iter().map(|sent| &sent.records).chain(unsent).flatten().copied()
    }

    /// Messages that the log has not answered for, and those that only wait to be sent.
    fn ahead_count(&self) -> usize {
        self.sent.len() + self.full.len()
    }

    fn has_place(&self) -> bool {
        self.ahead_count() < self.limits.messages_max || planted(Bug::InFlightUnlimited)
    }

    /// When the open message goes out, unless an answer comes before, or it is full.
    fn due_at(&self, open: &OpenMessage) -> Duration {
        match self.full.is_empty() && self.sent.iter().all(|sent| sent.has_arrived) {
            true => open.begun_at,
            false => open.begun_at + self.limits.record_wait,
        }
    }

    fn new_attempt(&mut self) -> AppendId {
        self.attempts += 1;
        AppendId(self.attempts)
    }

    fn next_message(&mut self, now: Duration) -> Option<OpenMessage> {
        if let Some(full) = self.full.pop_front() {
            return Some(full);
        }
        let is_due = self.open.as_ref().is_some_and(|open| self.has_place() && self.due_at(open) <= now);
        if is_due { self.open.take() } else { None }
    }
}

/// The records of a message in one whose author saw `seen`: what a packer must not send.
fn resealed(message: &[u8], seen: &SeenLog) -> Arc<[u8]> {
    let Message { author, records, .. } = Message::decode(message).expect("a packer's own message");
    let mut builder = MessageBuilder::new(author);
    records.iter().for_each(|record| assert!(builder.push(record), "they had room before"));
    builder.finish(seen).into()
}

impl fmt::Display for PushError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Full => f.write_str("the log does not keep up: too many messages wait for its answers"),
            Self::TooLarge => write!(f, "the record has more than {RECORD_BYTES_MAX} bytes"),
        }
    }
}

impl std::error::Error for PushError {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::digest::LogDigest;
    use crate::planted::assert_found;
    use crate::record::payload::{Destination, Payload};
    use crate::record::transaction_part::TransactionPart;
    use crate::record_id::NodeId;
    use evergraph_graph::timestamp::Timestamp;

    const AUTHOR: Author = Author { node: NodeId(3), incarnation: 2 };
    const WAIT: Duration = Duration::from_millis(20);

    fn packer(messages_max: usize) -> Packer {
        Packer::new(AUTHOR, PackerLimits { messages_max, ..PackerLimits::default() })
    }

    fn barrier(number: u64) -> Record {
        Record { number, body: RecordBody::Barrier }
    }

    /// A record of about so many bytes.
    fn large(number: u64, bytes: usize) -> Record {
        let payload = Payload { destination: Destination::EveryNode, mutations: vec![7; bytes] };
        let last = TransactionPart { payloads: vec![payload], ..TransactionPart::default() };
        Record { number, body: RecordBody::Transaction { since: Timestamp(5), parts: 0, last } }
    }

    fn ms(milliseconds: u64) -> Duration {
        Duration::from_millis(milliseconds)
    }

    fn numbers(message: &[u8]) -> Vec<u64> {
        Message::decode(message).unwrap().records.iter().map(|record| record.number).collect()
    }

    /// The messages that go out now: attempt and numbers of records.
    fn due(packer: &mut Packer, now: Duration) -> Vec<(u64, Vec<u64>)> {
        std::iter::from_fn(|| packer.next_append(now, &SeenLog::START))
            .map(|due| (due.id.0, numbers(&due.message)))
            .collect()
    }

    #[test]
    fn records_wait_while_a_message_is_under_way() {
        let mut packer = packer(32);
        assert_eq!(packer.next_step_at(), None);
        (1..=2).for_each(|number| packer.push(&barrier(number), ms(9)).unwrap());
        assert_eq!(packer.next_step_at(), Some(ms(9)));
        assert_eq!(due(&mut packer, ms(9)), [(1, vec![1, 2])], "at once, with what was there");
        assert_eq!((packer.next_step_at(), packer.unanswered().collect::<Vec<_>>()), (None, vec![1, 2]));
        packer.push(&barrier(3), ms(10)).unwrap();
        packer.push(&barrier(4), ms(11)).unwrap();
        assert_eq!(packer.next_step_at(), Some(ms(10) + WAIT), "the first of them waits as long at most");
        assert!(due(&mut packer, ms(10) + WAIT - Duration::from_nanos(1)).is_empty());
        assert_eq!(due(&mut packer, ms(10) + WAIT), [(2, vec![3, 4])]);
        packer.push(&barrier(5), ms(31)).unwrap();
        let answered = packer.answered(ms(32), AppendId(1), Ok(LogPosition(4))).unwrap();
        assert_eq!((answered.position, answered.records), (LogPosition(4), vec![1, 2]));
        assert_eq!(packer.unanswered().collect::<Vec<_>>(), [3, 4, 5]);
        assert_eq!(packer.answered(ms(32), AppendId(1), Ok(LogPosition(4))), None, "answered before");
        assert_eq!(packer.next_step_at(), Some(ms(31) + WAIT), "one is under way still");
        packer.answered(ms(33), AppendId(2), Ok(LogPosition(5))).unwrap();
        assert_eq!(due(&mut packer, ms(33)), [(3, vec![5])], "none is");
    }

    #[test]
    fn a_message_that_was_read_from_the_log_holds_no_other_up() {
        let mut packer = packer(32);
        packer.push(&barrier(1), ms(0)).unwrap();
        let first = packer.next_append(ms(0), &SeenLog::START).unwrap();
        packer.push(&barrier(2), ms(1)).unwrap();
        assert!(due(&mut packer, ms(2)).is_empty());
        packer.arrived(&Message::decode(&first.message).unwrap());
        assert_eq!(due(&mut packer, ms(2)), [(2, vec![2])], "its answer is on its way");
    }

    #[test]
    fn a_message_says_what_its_author_has_applied_when_it_goes_out() {
        let mut packer = packer(32);
        packer.push(&barrier(1), ms(0)).unwrap();
        let seen = SeenLog { position: LogPosition(9), digest: LogDigest([3; 16]) };
        let sent = packer.next_append(WAIT, &seen).unwrap();
        let message = Message::decode(&sent.message).unwrap();
        assert_eq!((message.author, message.seen), (AUTHOR, seen));
    }

    #[test]
    fn a_full_message_does_not_wait() {
        let mut packer = packer(32);
        packer.push(&barrier(1), ms(0)).unwrap();
        assert_eq!(due(&mut packer, ms(0)), [(1, vec![1])]);
        packer.push(&large(2, 40_000), ms(0)).unwrap();
        packer.push(&barrier(3), ms(0)).unwrap();
        assert!(due(&mut packer, ms(0)).is_empty());
        packer.push(&large(4, 40_000), ms(0)).unwrap();
        assert_eq!(packer.next_step_at(), Some(Duration::ZERO));
        assert_eq!(due(&mut packer, ms(0)), [(2, vec![2, 3])]);
        assert_eq!(due(&mut packer, WAIT), [(3, vec![4])]);
    }

    #[test]
    fn messages_under_way_are_limited_and_an_answer_makes_room() {
        let mut packer = packer(2);
        (1..=3).for_each(|number| packer.push(&large(number, 40_000), ms(0)).unwrap());
        assert_eq!(packer.push(&large(4, 40_000), ms(0)), Err(PushError::Full), "two are full, one is open");
        assert_eq!(due(&mut packer, ms(50)), [(1, vec![1]), (2, vec![2])]);
        assert_eq!(packer.push(&large(4, 40_000), ms(50)), Err(PushError::Full));
        packer.push(&barrier(5), ms(50)).unwrap();
        assert_eq!(packer.next_step_at(), None, "an answer comes first");
        assert!(packer.answered(ms(51), AppendId(2), Ok(LogPosition(1))).is_some());
        assert_eq!(packer.next_step_at(), Some(WAIT), "the open message is overdue: one is under way");
        packer.push(&large(6, 40_000), ms(51)).unwrap();
        assert_eq!(due(&mut packer, ms(51)), [(3, vec![3, 5])]);
        assert_eq!(packer.unanswered().collect::<Vec<_>>(), [1, 3, 5, 6]);
    }

    #[test]
    fn without_an_answer_the_same_bytes_go_out_again_later_and_later() {
        let mut packer = packer(32);
        packer.push(&barrier(1), ms(0)).unwrap();
        let first = packer.next_append(WAIT, &SeenLog::START).unwrap();
        let other = SeenLog { position: LogPosition(9), digest: LogDigest([3; 16]) };
        let (mut now, mut id) = (WAIT, first.id);
        for wait in [10, 20, 40, 80, 160, 320, 640, 640] {
            assert_eq!(packer.answered(now, id, Err(LogError::UnknownOutcome)), None);
            assert_eq!(packer.failure(), Some(&LogError::UnknownOutcome));
            now += ms(wait);
            assert_eq!(packer.next_step_at(), Some(now));
            assert_eq!(packer.next_append(now - ms(1), &other), None);
            let again = packer.next_append(now, &other).unwrap();
            assert_eq!(again.message, first.message, "the bytes of the first attempt");
            assert!(again.id > id, "an attempt has a number of its own");
            id = again.id;
        }
        assert_eq!(packer.answered(now, first.id, Ok(LogPosition(4))), None, "answered before");
        assert!(packer.answered(now, id, Ok(LogPosition(5))).is_some());
        assert_eq!(packer.failure(), None);
    }

    #[test]
    fn what_was_read_from_the_log_is_not_sent_again() {
        let mut packer = packer(32);
        packer.push(&barrier(1), ms(0)).unwrap();
        let first = packer.next_append(WAIT, &SeenLog::START).unwrap();
        let mut of_another = Message::decode(&first.message).unwrap();
        of_another.author.incarnation += 1;
        packer.answered(WAIT, first.id, Err(LogError::UnknownOutcome));
        packer.arrived(&of_another);
        assert_eq!(packer.unanswered().count(), 1);
        packer.arrived(&Message::decode(&first.message).unwrap());
        assert_eq!((packer.unanswered().count(), due(&mut packer, ms(99))), (0, vec![]), "it was read");

        // One that is under way takes its place until it is answered, whatever the answer is.
        packer.push(&barrier(2), ms(100)).unwrap();
        let second = packer.next_append(ms(101), &SeenLog::START).unwrap();
        packer.arrived(&Message::decode(&second.message).unwrap());
        assert_eq!(packer.unanswered().collect::<Vec<_>>(), [2]);
        packer.answered(ms(102), second.id, Err(LogError::UnknownOutcome));
        assert_eq!((packer.unanswered().count(), due(&mut packer, ms(999))), (0, vec![]));
    }

    #[test]
    fn what_the_log_refuses_goes_out_again() {
        let mut packer = packer(32);
        packer.push(&barrier(1), ms(0)).unwrap();
        assert_eq!(due(&mut packer, WAIT), [(1, vec![1])]);
        let refused = LogError::Unavailable { reason: "no leader".to_owned() };
        assert_eq!(packer.answered(ms(5), AppendId(1), Err(refused.clone())), None);
        assert_eq!(packer.failure(), Some(&refused));
        assert_eq!(due(&mut packer, ms(15)), [(2, vec![1])], "refused, and sent again");
    }

    #[test]
    fn a_record_that_has_no_room_in_a_message_is_refused() {
        let mut packer = packer(1);
        packer.push(&barrier(1), ms(0)).unwrap();
        assert_eq!(packer.push(&large(2, RECORD_BYTES_MAX), ms(0)), Err(PushError::TooLarge));
        assert_eq!(due(&mut packer, WAIT), [(1, vec![1])], "what was taken before goes out");
        // Nor would it have room later.
        packer.push(&large(3, 40_000), ms(2)).unwrap();
        assert_eq!(packer.push(&large(4, 40_000), ms(2)), Err(PushError::Full));
        assert_eq!(packer.push(&large(4, RECORD_BYTES_MAX), ms(2)), Err(PushError::TooLarge));
    }

    #[test]
    fn the_last_message_says_which_log_was_read_and_goes_alone() {
        let mut packer = packer(1);
        packer.push(&barrier(1), ms(0)).unwrap();
        let changed = SeenLog { position: LogPosition(9), digest: LogDigest([3; 16]) };
        let last = packer.last_append(7, &changed);
        let message = Message::decode(&last.message).unwrap();
        assert_eq!(
            (message.author, message.seen, &message.records[..]),
            (AUTHOR, changed, &[barrier(7)][..])
        );
        assert_eq!(
            packer.answered(WAIT, last.id, Err(LogError::UnknownOutcome)),
            None,
            "nobody waits for it"
        );
        assert_eq!(due(&mut packer, WAIT), [(2, vec![1])], "an attempt has a number of its own");
    }

    #[test]
    fn planted_bugs_are_found() {
        let same_bytes = without_an_answer_the_same_bytes_go_out_again_later_and_later;
        let limit = messages_under_way_are_limited_and_an_answer_makes_room;
        assert_found(
            Bug::RefusedAppendDropped,
            what_the_log_refuses_goes_out_again,
            "refused, and sent again",
        );
        assert_found(Bug::ResealedOnResend, same_bytes, "the bytes of the first attempt");
        assert_found(Bug::InFlightUnlimited, limit, "two are full, one is open");
        assert_found(Bug::ArrivalIgnored, what_was_read_from_the_log_is_not_sent_again, "it was read");
    }
}
