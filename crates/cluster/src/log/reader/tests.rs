//! What a reader makes of logs in memory: whole, cut, made anew, damaged, and read in pieces.

use super::*;
use crate::digest::LogDigest;
use crate::log::memory::{LogFaults, MemoryLog, MemoryLogClient, OpenStreams};
use crate::log::packer::{Packer, PackerLimits};
use crate::log::shared_log::{AppendId, EndId, LogAnswer};
use crate::planted::assert_found;
use crate::record::body::{Record, RecordBody};
use crate::record::message::MessageBuilder;
use crate::record_id::NodeId;
use crate::seeded::OneIn;

const SALT: GraphSalt = GraphSalt([7; 16]);
const AUTHOR: Author = Author { node: NodeId(3), incarnation: 2 };

/// A message of one record, by an author who saw `seen`.
fn message(number: u64, seen: SeenLog) -> Arc<[u8]> {
    let mut builder = MessageBuilder::new(AUTHOR);
    assert!(builder.push(&Record { number, body: RecordBody::Barrier }));
    builder.finish(&seen).into()
}

/// A log of messages with these numbers, by an author who saw nothing.
fn log_of(numbers: impl IntoIterator<Item = u64>) -> MemoryLog {
    let log = MemoryLog::new(1, LogFaults::default());
    append(&log, numbers);
    log
}

fn append(log: &MemoryLog, numbers: impl IntoIterator<Item = u64>) {
    let mut client = log.connect();
    for number in numbers {
        client.append(AppendId(number), message(number, SeenLog::START));
    }
}

/// A log that says what a test wants it to.
#[derive(Default)]
struct ScriptedLog {
    says: VecDeque<Result<Option<LogMessage>, LogError>>,
    reads: Vec<(u64, u64)>,
}

impl ScriptedLog {
    fn says(messages: &[(u64, u64)]) -> Self {
        let says = messages.iter().map(|(position, number)| {
            let bytes = message(*number, SeenLog::START);
            Ok(Some(LogMessage { position: LogPosition(*position), bytes }))
        });
        Self { says: says.collect(), reads: Vec::new() }
    }

    fn add(&mut self, messages: &[LogMessage]) {
        self.says.extend(messages.iter().cloned().map(|message| Ok(Some(message))));
    }
}

impl SharedLog for ScriptedLog {
    fn append(&mut self, _: AppendId, _: Arc<[u8]>) {
        unreachable!("a reader appends nothing");
    }
    fn end(&mut self, _: EndId) {
        unreachable!("a reader asks for no end");
    }
    fn trim(&mut self, _: LogPosition) {
        unreachable!("a reader trims nothing");
    }
    fn next_answer(&mut self) -> Option<LogAnswer> {
        None
    }
    fn read_from(&mut self, first: LogPosition, seen: LogPosition) {
        self.reads.push((first.0, seen.0));
    }
    fn next_message(&mut self) -> Result<Option<LogMessage>, LogError> {
        self.says.pop_front().unwrap_or(Ok(None))
    }
}

fn broken() -> Result<Option<LogMessage>, LogError> {
    Err(LogError::Unavailable { reason: "the connection broke".into() })
}

/// A node that applies what it reads.
#[derive(Debug)]
struct Node {
    reader: LogReader,
    applied: DigestWindow,
    numbers: Vec<u64>,
    alarms: Vec<LogAlarm>,
}

impl Node {
    fn new() -> Self {
        let applied = DigestWindow::new(SeenLog::START);
        Self { reader: LogReader::new(SALT), applied, numbers: Vec::new(), alarms: Vec::new() }
    }

    /// One that has applied all of `log`.
    fn of(log: &MemoryLog) -> Self {
        let mut node = Self::new();
        node.read(0, &mut log.connect()).unwrap();
        node
    }

    /// Applies everything that is there, at a time in milliseconds.
    fn read(&mut self, now: u64, log: &mut impl SharedLog) -> Result<(), ReadError> {
        while let Some(event) = self.reader.read(ms(now), &self.applied, log)? {
            match event {
                ReadEvent::Message(read) => {
                    self.numbers.extend(read.message.records.iter().map(|record| record.number));
                    self.applied.push(SALT, read.position, &read.bytes);
                }
                ReadEvent::Alarm(alarm) => self.alarms.push(alarm),
            }
        }
        Ok(())
    }

    /// The same state, read again by a process that starts.
    fn restarted(&self) -> Self {
        Self { applied: self.applied.clone(), ..Self::new() }
    }
}

fn ms(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

fn changed(position: u64, change: LogChange) -> Result<(), ReadError> {
    Err(ReadError::LogChanged { position: LogPosition(position), change })
}

fn connected(log: &MemoryLog) -> (Node, MemoryLogClient) {
    let (mut node, mut client) = (Node::new(), log.connect());
    node.read(0, &mut client).unwrap();
    (node, client)
}

#[test]
fn every_message_is_given_once_however_often_the_stream_breaks_off() {
    let log = log_of(1..=20);
    log.set_faults(LogFaults { lag: OneIn(3), cut: OneIn(9), ..LogFaults::default() });
    let (mut node, mut client) = (Node::new(), log.connect());
    for now in 0..60 {
        append(&log, [21 + now]);
        node.read(now * 100, &mut client).unwrap();
    }
    log.set_faults(LogFaults::default());
    node.read(9_000, &mut client).unwrap();
    node.read(9_100, &mut client).unwrap();
    assert_eq!(node.numbers, (1..=80).collect::<Vec<_>>());
    assert!(node.alarms.is_empty());
}

/// Reads until `has_all`, every 50 milliseconds from a time on; how often.
fn rounds(from: u64, node: &mut Node, log: &mut MemoryLogClient, has_all: impl Fn(&Node) -> bool) -> u64 {
    for round in 1..=200 {
        node.read(from + 50 * round, log).unwrap();
        if has_all(node) {
            return round;
        }
    }
    panic!("{} messages and {:?} after ten seconds", node.numbers.len(), node.alarms);
}

#[test]
fn reading_comes_to_an_end_though_a_stream_breaks_off_every_twelve_messages() {
    let log = log_of(1..=1000);
    log.set_faults(LogFaults { cut: OneIn(12), ..LogFaults::default() });
    let (mut node, mut client) = (Node::new(), log.connect());
    let needed = rounds(0, &mut node, &mut client, |node| node.numbers.len() == 1000);
    assert!(needed < 60, "{needed} rounds");
    assert_eq!(node.numbers, (1..=1000).collect::<Vec<_>>());
    // All of them once more.
    node.reader.doubt(NodeId(1), LogPosition(500), ms(60_000));
    let needed = rounds(60_000, &mut node, &mut client, |node| !node.alarms.is_empty());
    assert!(needed < 60, "{needed} rounds");
    let alarm = LogAlarm::OtherNode { node: NodeId(1), position: LogPosition(500) };
    assert_eq!((&node.alarms[..], node.numbers.len()), (&[alarm][..], 1000));
}

#[test]
fn a_stream_goes_on_behind_what_came_in_the_one_before_and_reads_the_newest_again() {
    let mut node = Node::of(&log_of(1..=20)).restarted();
    let of = |range: std::ops::RangeInclusive<u64>| range.map(|number| (number, number)).collect::<Vec<_>>();
    let mut log = ScriptedLog::says(&of(5..=9));
    log.says.push_back(broken());
    log.says.extend(ScriptedLog::says(&of(10..=18)).says);
    log.says.push_back(broken());
    log.says.extend(ScriptedLog::says(&of(17..=17)).says);
    log.says.push_back(broken());
    node.read(100, &mut log).unwrap();
    assert_eq!(log.reads, [(5, 20), (10, 20), (17, 20)], "the newest four come in one stream");
    // The last one gave nothing that had not come.
    assert_eq!((node.reader.next_step_at(), node.numbers.len()), (Some(ms(150)), 0));
    log.says.extend(ScriptedLog::says(&of(17..=21)).says);
    log.says.push_back(broken());
    node.read(150, &mut log).unwrap();
    assert_eq!((&log.reads[3..], &node.numbers[..]), (&[(17, 20), (6, 21)][..], &[21][..]));
}

#[test]
fn a_loss_between_two_streams_is_found_by_what_comes_in_the_second() {
    for lost in 1..=16 {
        let log = log_of(1..=20);
        let (mut node, mut client) = (Node::of(&log).restarted(), log.connect());
        // Eight of the newest sixteen come, then it breaks off.
        let mut first = ScriptedLog::says(&[]);
        first.add(&log.messages()[4..12]);
        // Begun again at once, and broken off at once.
        first.says.extend([(); 2].map(|()| broken()));
        node.read(0, &mut first).unwrap();
        log.lose_suffix(lost, OpenStreams::BreakOff);
        append(&log, 101..=100 + lost as u64);
        let found = node.read(60, &mut client);
        assert!(matches!(found, Err(ReadError::LogChanged { .. })), "{lost} lost: {found:?}");
    }
}

#[test]
fn reading_begins_with_the_newest_messages_and_begins_anew_every_second() {
    let mut node = Node::of(&log_of(1..=20)).restarted();
    let again: Vec<(u64, u64)> = (5..=20).map(|number| (number, number)).collect();
    let mut log = ScriptedLog::says(&again);
    node.read(100, &mut log).unwrap();
    assert_eq!(log.reads, [(5, 20)]);
    assert_eq!(node.reader.next_step_at(), Some(ms(1100)));
    node.read(1099, &mut log).unwrap();
    assert_eq!(log.reads.len(), 1);
    node.read(1100, &mut log).unwrap();
    assert_eq!(log.reads, [(5, 20), (5, 20)]);
    // No other one begins until these have come.
    node.read(9000, &mut log).unwrap();
    assert_eq!(log.reads.len(), 2);
    assert!(node.numbers.is_empty());
}

#[test]
fn what_has_come_is_read_before_the_newest_messages_are_read_again() {
    let mut node = Node::of(&log_of(1..=20)).restarted();
    let all: Vec<(u64, u64)> = (5..=40).map(|number| (number, number)).collect();
    let mut log = ScriptedLog::says(&all);
    for now in (0..5).map(|second| 1000 * second) {
        let read = node.reader.read(ms(now), &node.applied, &mut log).unwrap();
        let Some(ReadEvent::Message(read)) = read else { panic!("a message has come") };
        node.numbers.extend(read.message.records.iter().map(|record| record.number));
        node.applied.push(SALT, read.position, &read.bytes);
    }
    assert_eq!((node.numbers.last(), &log.reads[..]), (Some(&25), &[(5, 20)][..]), "the stream was not cut");
    node.read(5000, &mut log).unwrap();
    assert_eq!(node.numbers, (21..=40).collect::<Vec<_>>());
    assert_eq!(log.reads, [(5, 20), (25, 40)], "then it was");
}

#[test]
fn a_log_restored_from_an_older_copy_is_named() {
    let log = log_of(1..=3);
    let copy = log.copy();
    append(&log, 4..=5);
    let (mut node, mut client) = connected(&log);
    log.restore(&copy);
    let shorter = changed(5, LogChange::Shorter { end: LogPosition(3) });
    assert_eq!(node.read(10, &mut client), shorter, "it is shorter");
    assert_eq!(node.read(60, &mut client), shorter, "it stays so");
    append(&log, 6..=9);
    assert_eq!(node.read(70, &mut client), changed(4, LogChange::Replaced));
    assert_eq!(node.numbers, [1, 2, 3, 4, 5]);
}

#[test]
fn a_loss_that_no_connection_notices_is_found_within_a_second() {
    let log = log_of(1..=5);
    let (mut node, mut client) = connected(&log);
    log.lose_suffix(2, OpenStreams::GoOn);
    append(&log, 6..=7);
    node.read(999, &mut client).unwrap();
    assert_eq!(node.read(1000, &mut client), changed(4, LogChange::Replaced));
}

#[test]
fn what_is_read_again_is_all_that_was_applied_and_nothing_else() {
    let applied = Node::of(&log_of(1..=3));
    let says = |messages: &[(u64, u64)]| {
        let mut node = applied.restarted();
        (node.read(0, &mut ScriptedLog::says(messages)), node.numbers)
    };
    assert_eq!(says(&[(1, 1), (2, 2), (3, 3), (7, 4)]), (Ok(()), vec![4]));
    assert_eq!(says(&[(1, 1), (1, 1), (2, 2), (1, 1), (3, 3), (2, 2), (4, 4)]), (Ok(()), vec![4]));
    assert_eq!(says(&[(1, 1), (3, 3)]).0, changed(2, LogChange::Missing));
    assert_eq!(says(&[(1, 1), (2, 2), (4, 4)]).0, changed(3, LogChange::Missing));
    assert_eq!(says(&[(1, 1), (2, 9)]).0, changed(2, LogChange::Replaced));
    assert_eq!(says(&[(1, 1), (2, 2), (3, 3), (2, 9)]).0, changed(2, LogChange::Replaced));
    for position in [0, LogPosition::MAX.0 + 1] {
        let invalid = ReadError::InvalidPosition { position: LogPosition(position) };
        assert_eq!(says(&[(1, 1), (position, 2)]).0, Err(invalid));
    }

    // Positions 2 and 4, as in a log with gaps.
    let mut gaps = Node::new();
    gaps.read(0, &mut ScriptedLog::says(&[(2, 1), (4, 2)])).unwrap();
    let mut node = gaps.restarted();
    let mut log = ScriptedLog::says(&[(2, 1), (3, 9)]);
    assert_eq!(node.read(0, &mut log), changed(3, LogChange::Inserted));
    // Who reads on begins anew.
    assert_eq!(node.read(0, &mut ScriptedLog::says(&[(3, 9)])), changed(2, LogChange::Missing));
    node.read(0, &mut ScriptedLog::says(&[(2, 1), (4, 2), (5, 3)])).unwrap();
    assert_eq!(node.numbers, [3]);
}

#[test]
fn what_is_no_message_is_named_with_its_position() {
    let (mut node, mut log) = (Node::new(), ScriptedLog::default());
    let bytes: Arc<[u8]> = Arc::from(*b"EGML");
    log.says.push_back(Ok(Some(LogMessage { position: LogPosition(4), bytes })));
    match node.read(0, &mut log) {
        Err(ReadError::Corrupt { position, cause }) => {
            assert_eq!((position, cause.offset), (LogPosition(4), 4));
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_trimmed_log_is_read_from_where_it_begins_unless_something_is_missing() {
    let log = log_of(1..=10);
    let behind = Node::of(&log);
    append(&log, 11..=20);
    let mut node = Node::of(&log).restarted();
    log.connect().trim(LogPosition(15));
    append(&log, [21]);
    let first = LogPosition(15);
    let missing = Err(ReadError::Behind { next: LogPosition(11), first });
    assert_eq!(behind.restarted().read(0, &mut log.connect()), missing);
    node.read(0, &mut log.connect()).unwrap();
    assert_eq!(node.numbers, [21]);

    // To be read, it may begin right behind what was applied; what is left is compared.
    log.connect().trim(LogPosition(22));
    append(&log, [22]);
    let mut next = node.restarted();
    next.read(0, &mut log.connect()).unwrap();
    assert_eq!(next.numbers, [22]);
    let mut log = ScriptedLog::says(&[(20, 20), (21, 9)]);
    log.says.push_front(Err(LogError::Trimmed { first: LogPosition(20) }));
    assert_eq!(node.restarted().read(0, &mut log), changed(21, LogChange::Replaced));
    assert_eq!(log.reads, [(6, 21), (20, 21)]);
}

#[test]
fn a_checkpoint_needs_the_log_from_what_is_read_again() {
    let log = log_of(1..=20);
    let saved = Node::of(&log);
    let needed = LogReader::needed_from(&saved.applied);
    assert_eq!(needed, LogPosition(5));
    log.connect().trim(needed);
    log.lose_suffix(1, OpenStreams::BreakOff);
    append(&log, [99]);
    assert_eq!(saved.restarted().read(0, &mut log.connect()), changed(20, LogChange::Replaced));
}

#[test]
fn an_author_of_another_log_is_told_from_a_log_that_changed() {
    // They differ before what is read again in any case.
    let ours = log_of((1..=20).chain([30]));
    let theirs = log_of([1, 9].into_iter().chain(3..=20).chain([30]));
    let seen = Node::of(&theirs).applied.last();
    let (mut node, mut client) = connected(&ours);
    let mut misled = node.restarted();

    ours.connect().append(AppendId(1), message(31, seen));
    append(&ours, [32]);
    node.read(10, &mut client).unwrap();
    let claim = LogAlarm::OtherAuthor { position: LogPosition(22), author: AUTHOR, seen };
    assert_eq!((&node.alarms[..], node.numbers.last()), (&[claim][..], Some(&32)));

    let mut client = theirs.connect();
    assert_eq!(misled.read(0, &mut client), Ok(()), "the newest are the same");
    theirs.connect().append(AppendId(1), message(31, seen));
    assert_eq!(misled.read(10, &mut client), changed(2, LogChange::Replaced));
    assert_eq!(misled.read(10, &mut client), changed(2, LogChange::Replaced), "it stays so");
    assert!(misled.numbers.is_empty() && misled.alarms.is_empty());
}

#[test]
fn an_author_of_another_log_costs_one_pass_however_much_it_writes() {
    let at = |number, seen| LogMessage { position: LogPosition(number), bytes: message(number, seen) };
    let other = |position| SeenLog { position: LogPosition(position), digest: LogDigest([9; 16]) };
    let applied: Vec<_> = (1..=20).map(|position| at(position, SeenLog::START)).collect();
    let claims: Vec<_> = (21..=25).map(|position| at(position, other(position - 1))).collect();
    let mut node = Node::of(&log_of(1..=20)).restarted();
    let mut log = ScriptedLog::default();
    // What is read again, and a claim; then the window, and what its author writes.
    for messages in [&applied[4..], &claims[..1], &applied[..], &claims[..]] {
        log.add(messages);
    }
    node.read(0, &mut log).unwrap();
    assert_eq!(log.reads, [(5, 20), (1, 20)]);
    assert_eq!((node.alarms.len(), &node.numbers[..]), (1, &[21, 22, 23, 24, 25][..]));

    // It saw this log after all: what it claims next counts again.
    let same = at(26, node.applied.last());
    let claim = [at(27, other(26))];
    let window = [&applied[..], &claims[..], &[same][..]].concat();
    for messages in [&window[25..], &claim[..], &window[..], &claim[..]] {
        log.add(messages);
    }
    node.read(0, &mut log).unwrap();
    assert_eq!(log.reads[2..], [(1, 26)]);
    assert_eq!((node.alarms.len(), node.numbers.last()), (2, Some(&27)));
}

#[test]
fn a_loss_that_many_messages_follow_is_found_by_the_first_author_who_read_them() {
    let log = log_of(1..=25);
    let (mut node, mut client) = connected(&log);
    log.lose_suffix(2, OpenStreams::GoOn);
    append(&log, 26..=50);
    node.read(10, &mut client).unwrap();
    assert_eq!(node.read(1000, &mut client), Ok(()), "the newest 16 are the same");
    assert_eq!(node.numbers.last(), Some(&50));
    let author = Node::of(&log);
    log.connect().append(AppendId(1), message(51, author.applied.last()));
    assert_eq!(node.read(1001, &mut client), changed(24, LogChange::Replaced));
    let read = node.reader.changed_log().unwrap();
    assert_eq!((read.position, Some(read.digest)), (LogPosition(24), author.applied.at(read.position)));
}

#[test]
fn a_node_that_finds_a_loss_by_an_answer_tells_those_who_had_applied_the_same() {
    let log = log_of(1..=25);
    let (mut node, mut client) = connected(&log);
    let (mut other, mut client_of_other) = connected(&log);
    log.lose_suffix(1, OpenStreams::GoOn);
    append(&log, 26..=50);
    node.read(10, &mut client).unwrap();
    other.read(10, &mut client_of_other).unwrap();
    assert_eq!(other.read(1000, &mut client_of_other), Ok(()), "nobody claims another log");
    let answered = message(26, SeenLog::START);
    node.reader.check_answer(LogPosition(25), &answered, &node.applied, ms(11));
    assert_eq!(node.read(11, &mut client), changed(25, LogChange::Replaced));
    let read = node.reader.changed_log().unwrap();
    let last = Packer::new(AUTHOR, PackerLimits::default()).last_append(51, &read);
    log.connect().append(last.id, last.message);
    assert_eq!(other.read(1001, &mut client_of_other), changed(25, LogChange::Replaced));
    assert!(Node::of(&log).alarms.is_empty(), "it is the log as it is");
}

#[test]
fn a_log_that_an_author_saw_further_than_it_is_other() {
    let log = log_of([1]);
    let (mut node, mut client) = connected(&log);
    let seen = SeenLog { position: LogPosition(9), digest: LogDigest([1; 16]) };
    log.connect().append(AppendId(1), message(2, seen));
    node.read(10, &mut client).unwrap();
    assert_eq!((node.alarms.len(), &node.numbers[..]), (1, &[1, 2][..]));
}

#[test]
fn an_answer_is_compared_with_what_was_applied_there() {
    let log = log_of(1..=20);
    let (mut node, mut client) = connected(&log);
    let check = |node: &mut Node, position, number| {
        let bytes = message(number, SeenLog::START);
        node.reader.check_answer(LogPosition(position), &bytes, &node.applied, ms(10));
    };
    check(&mut node, 7, 7);
    check(&mut node, 21, 7);
    assert_ne!(node.reader.next_step_at(), Some(ms(10)), "nothing is wrong");
    check(&mut node, 7, 8);
    check(&mut node, 7, 8);
    assert_eq!(node.reader.next_step_at(), Some(ms(10)), "another message is there");
    node.read(10, &mut client).unwrap();
    assert_eq!(node.alarms, [LogAlarm::LostAppend { position: LogPosition(7) }]);

    // Now the log is the one that changed.
    log.lose_suffix(1, OpenStreams::GoOn);
    append(&log, [99]);
    check(&mut node, 20, 99);
    assert_eq!(node.read(11, &mut client), changed(20, LogChange::Replaced));
}

#[test]
fn what_another_node_says_of_its_log_has_the_window_read_again() {
    let log = log_of(1..=25);
    let (mut node, mut client) = connected(&log);
    node.reader.doubt(NodeId(3), LogPosition(9), ms(5));
    assert_eq!(node.reader.next_step_at(), Some(ms(5)));
    node.read(5, &mut client).unwrap();
    assert_eq!(node.alarms, [LogAlarm::OtherNode { node: NodeId(3), position: LogPosition(9) }]);
    // Now this node is the one that is wrong, and nothing else tells it.
    log.lose_suffix(2, OpenStreams::GoOn);
    append(&log, 26..=50);
    node.read(10, &mut client).unwrap();
    assert_eq!(node.read(1010, &mut client), Ok(()), "the newest 16 are the same");
    node.reader.doubt(NodeId(3), LogPosition(24), ms(1011));
    assert_eq!(node.read(1011, &mut client), changed(24, LogChange::Replaced));
}

#[test]
fn an_answer_says_nothing_once_its_position_is_forgotten() {
    let mut node = Node::of(&log_of(1..=40));
    node.applied.forget_before(LogPosition::MAX);
    let other = message(99, SeenLog::START);
    for (position, step_at) in [(1, 1000), (23, 1000), (24, 1000), (25, 10)] {
        node.reader.check_answer(LogPosition(position), &other, &node.applied, ms(10));
        assert_eq!(node.reader.next_step_at(), Some(ms(step_at)), "{position}");
    }
}

#[test]
fn planted_bugs_are_found() {
    let within_a_second = a_loss_that_no_connection_notices_is_found_within_a_second;
    let all_again = what_is_read_again_is_all_that_was_applied_and_nothing_else;
    let answer = an_answer_is_compared_with_what_was_applied_there;
    let author = an_author_of_another_log_is_told_from_a_log_that_changed;
    let restored = a_log_restored_from_an_older_copy_is_named;
    let checkpoint = a_checkpoint_needs_the_log_from_what_is_read_again;
    assert_found(Bug::NothingReadAgain, within_a_second, "Replaced");
    assert_found(Bug::MissingUnnoticed, all_again, "Missing");
    assert_found(Bug::AnswerUncompared, answer, "another message is there");
    assert_found(Bug::ClaimUncompared, author, "OtherAuthor");
    assert_found(Bug::LostSuffixIgnored, restored, "Shorter");
    assert_found(Bug::NeededFromTooHigh, checkpoint, "LogPosition(5)");
}

#[test]
fn a_node_that_starts_before_what_its_partitions_saw_finds_that_the_log_was_restored() {
    let seen = Node::of(&log_of(1..=40)).applied.last();
    let start = |log: &MemoryLog| {
        let mut node = Node::new();
        node.reader.expect(seen);
        node.read(0, &mut log.connect()).map(|()| node.numbers.len())
    };
    assert_eq!(start(&log_of(1..=40)), Ok(40));
    assert_eq!(start(&log_of(1..=90)), Ok(90));
    let changed = |change| Err(ReadError::LogChanged { position: seen.position, change });
    assert_eq!(start(&log_of(1..=30)), changed(LogChange::Shorter { end: LogPosition(30) }));
    // Others have taken the positions of those that were lost.
    assert_eq!(start(&log_of((1..=30).chain(100..200))), changed(LogChange::Replaced));
}

#[test]
fn a_log_that_fails_is_asked_again_a_little_later() {
    let (mut node, mut log) = (Node::new(), ScriptedLog::default());
    let unavailable = LogError::Unavailable { reason: "no leader".to_owned() };
    log.says.push_back(Err(unavailable.clone()));
    node.read(10, &mut log).unwrap();
    assert_eq!(node.reader.failure(), Some(&unavailable));
    assert_eq!(node.reader.next_step_at(), Some(ms(60)));
    node.read(59, &mut log).unwrap();
    assert_eq!(log.reads.len(), 1);
    node.read(60, &mut log).unwrap();
    assert_eq!((log.reads.len(), node.reader.failure()), (2, None));

    // Nor does a log that was always trimmed keep anybody busy.
    let mut node = Node::of(&log_of(1..=3)).restarted();
    let mut log = ScriptedLog::default();
    log.says.push_back(Err(LogError::Trimmed { first: LogPosition(1) }));
    node.read(10, &mut log).unwrap();
    assert_eq!((log.reads.len(), node.reader.next_step_at()), (1, Some(ms(60))));
}
