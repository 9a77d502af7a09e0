//! A log in memory: what each fault looks like, and whom it wakes.

use super::*;
use crate::seeded::CountingBell;

const DELAYED: LogFaults = LogFaults {
    delay_max: Duration::from_millis(20),
    refused: OneIn(0),
    lost: OneIn(0),
    unanswered: OneIn(0),
    late: OneIn(0),
    doubled: OneIn(0),
    gap: OneIn(0),
    lag: OneIn(0),
    cut: OneIn(0),
};

fn bytes(text: &str) -> Arc<[u8]> {
    text.as_bytes().into()
}

fn texts(log: &MemoryLog) -> Vec<String> {
    let messages = log.messages();
    messages.iter().map(|message| String::from_utf8_lossy(&message.bytes).into_owned()).collect()
}

/// The answers to appends that have come, by number; `None`: nobody can say.
fn positions(client: &mut MemoryLogClient) -> Vec<(u64, Option<u64>)> {
    let mut positions = Vec::new();
    while let Some(answer) = client.next_answer() {
        match answer {
            LogAnswer::Append { id, result: Ok(position) } => positions.push((id.0, Some(position.0))),
            LogAnswer::Append { id, result: Err(LogError::UnknownOutcome) } => {
                positions.push((id.0, None));
            }
            other => panic!("{other:?}"),
        }
    }
    positions
}

fn read(client: &mut MemoryLogClient) -> Vec<(u64, String)> {
    let mut read = Vec::new();
    while let Some(message) = client.next_message().unwrap() {
        read.push((message.position.0, String::from_utf8_lossy(&message.bytes).into_owned()));
    }
    read
}

#[test]
fn without_faults_everything_happens_at_once() {
    let log = MemoryLog::new(1, LogFaults::default());
    let (mut writer, mut reader) = (log.connect(), log.connect());
    writer.append(AppendId(5), bytes("a"));
    writer.append(AppendId(6), bytes("b"));
    assert_eq!(positions(&mut writer), [(5, Some(1)), (6, Some(2))]);
    assert_eq!(reader.next_message(), Ok(None), "nothing was asked for");
    reader.read_from(LogPosition(2), LogPosition::START);
    assert_eq!(read(&mut reader), [(2, "b".to_owned())]);
    writer.append(AppendId(7), bytes("c"));
    assert_eq!(read(&mut reader), [(3, "c".to_owned())], "a stream goes on");
    reader.end(EndId(1));
    let end = LogAnswer::End { id: EndId(1), result: Ok(LogPosition(3)) };
    assert_eq!((reader.next_answer(), reader.next_answer()), (Some(end), None));
}

#[test]
fn what_was_trimmed_is_named_to_new_streams_and_to_old_ones() {
    let log = MemoryLog::new(1, LogFaults::default());
    let (mut client, mut slow) = (log.connect(), log.connect());
    slow.read_from(LogPosition(1), LogPosition::START);
    (1..=3).for_each(|id| client.append(AppendId(id), bytes("m")));
    assert_eq!(positions(&mut client).len(), 3);
    client.trim(LogPosition(3));
    let trimmed = LogAnswer::Trim { first: LogPosition(3), result: Ok(()) };
    assert_eq!(client.next_answer(), Some(trimmed));
    let begins_later = Err(LogError::Trimmed { first: LogPosition(3) });
    client.read_from(LogPosition(2), LogPosition(3));
    assert_eq!(client.next_message(), begins_later);
    assert_eq!(client.next_message(), Ok(None), "the stream has ended");
    assert_eq!(slow.next_message(), begins_later);
    client.read_from(LogPosition(3), LogPosition(3));
    assert_eq!(read(&mut client), [(3, "m".to_owned())]);
    // Behind the end is the place behind the end.
    client.trim(LogPosition(9));
    client.append(AppendId(4), bytes("n"));
    client.read_from(LogPosition(4), LogPosition(3));
    assert_eq!(read(&mut client), [(4, "n".to_owned())]);
}

#[test]
fn an_append_may_be_refused_or_its_outcome_unknown_whether_it_happens_or_not() {
    let one = OneIn(1);
    let refused = LogFaults { refused: one, ..LogFaults::default() };
    let lost = LogFaults { lost: one, ..LogFaults::default() };
    let unanswered = LogFaults { unanswered: one, ..LogFaults::default() };
    let late = LogFaults { late: one, ..LogFaults::default() };
    let (answers_itself, much_later) = (ANSWER_WAIT, ANSWER_WAIT + LATENESS_MAX);

    let log = MemoryLog::new(1, refused);
    let mut client = log.connect();
    client.append(AppendId(1), bytes("a"));
    let answer = client.next_answer();
    assert!(
        matches!(answer, Some(LogAnswer::Append { result: Err(LogError::Unavailable { .. }), .. })),
        "{answer:?}"
    );
    log.advance_to(much_later);
    assert_eq!(texts(&log), [""; 0]);

    // What the log has before the client answers itself, then, and in the end.
    for (faults, expected) in [(lost, [0, 0, 0]), (unanswered, [1, 1, 1]), (late, [0, 0, 1])] {
        let log = MemoryLog::new(2, faults);
        let mut client = log.connect();
        client.append(AppendId(1), bytes("a"));
        let mut counts = [log.messages().len(), 0, 0];
        assert_eq!(client.next_answer(), None);
        log.advance_to(answers_itself);
        assert_eq!(positions(&mut client), [(1, None)]);
        counts[1] = log.messages().len();
        log.advance_to(much_later);
        counts[2] = log.messages().len();
        assert_eq!(counts, expected, "{faults:?}");
        assert_eq!(client.next_answer(), None, "every request is answered once");
    }
}

#[test]
fn an_append_may_happen_twice_and_positions_may_stay_empty() {
    let log = MemoryLog::new(3, LogFaults { doubled: OneIn(1), ..LogFaults::default() });
    let mut client = log.connect();
    client.append(AppendId(1), bytes("a"));
    assert_eq!(positions(&mut client), [(1, Some(1))]);
    assert_eq!(texts(&log), ["a", "a"]);

    let log = MemoryLog::new(3, LogFaults { gap: OneIn(1), ..LogFaults::default() });
    let mut client = log.connect();
    client.append(AppendId(1), bytes("a"));
    let position = log.messages()[0].position;
    assert!(position > LogPosition(1));
    client.read_from(LogPosition(1), LogPosition::START);
    assert_eq!(read(&mut client), [(position.0, "a".to_owned())]);
}

#[test]
fn a_stream_may_show_a_prefix_or_break_off() {
    let log = MemoryLog::new(4, LogFaults { lag: OneIn(2), ..LogFaults::default() });
    let mut client = log.connect();
    (1..=20).for_each(|id| client.append(AppendId(id), bytes("m")));
    client.read_from(LogPosition(1), LogPosition::START);
    let prefix = read(&mut client).len();
    assert!(prefix < 20, "{prefix}");
    let rest: usize = (0..99).map(|_| read(&mut client).len()).sum();
    assert_eq!(prefix + rest, 20);

    log.set_faults(LogFaults { cut: OneIn(1), ..LogFaults::default() });
    assert!(matches!(client.next_message(), Err(LogError::Unavailable { .. })));
    assert_eq!(client.next_message(), Ok(None));
}

#[test]
fn one_seed_gives_one_history_and_appends_under_way_at_once_change_their_order() {
    let history = |seed| {
        let log = MemoryLog::new(seed, DELAYED);
        let mut client = log.connect();
        (0..30).for_each(|id| client.append(AppendId(id), Arc::from([id as u8])));
        let mut answers = Vec::new();
        for at in 0..=40 {
            log.advance_to(Duration::from_millis(at));
            answers.push(positions(&mut client));
        }
        (log.messages(), answers)
    };
    assert_eq!(history(7), history(7));
    assert_ne!(history(7), history(8));
    let order: Vec<u8> = history(7).0.iter().map(|message| message.bytes[0]).collect();
    assert!(!order.is_sorted(), "{order:?}");
    assert_eq!(history(7).1.concat().len(), 30);
}

#[test]
fn an_append_after_an_answer_lies_behind_it() {
    let log = MemoryLog::new(5, DELAYED);
    let mut client = log.connect();
    let (mut now, mut last) = (Duration::ZERO, 0);
    for id in 0..50 {
        client.append(AppendId(id), bytes("m"));
        let position = loop {
            now += Duration::from_millis(1);
            log.advance_to(now);
            if let [(_, Some(position))] = positions(&mut client)[..] {
                break position;
            }
        };
        assert!(position > last);
        last = position;
    }
}

#[test]
fn a_log_may_lose_what_it_acknowledged_and_a_new_stream_says_so() {
    let log = MemoryLog::new(6, LogFaults::default());
    let (mut client, mut other) = (log.connect(), log.connect());
    (1..=3).for_each(|id| client.append(AppendId(id), bytes("m")));
    client.read_from(LogPosition(1), LogPosition::START);
    other.read_from(LogPosition(1), LogPosition::START);
    assert_eq!((read(&mut client).len(), read(&mut other).len()), (3, 3));
    log.lose_suffix(2, OpenStreams::GoOn);
    client.append(AppendId(4), bytes("x"));
    assert!(read(&mut client).is_empty(), "position 2 was read before");
    client.read_from(LogPosition(2), LogPosition(3));
    let shorter = LogError::LostSuffix { position: LogPosition(3), end: LogPosition(2) };
    assert_eq!(client.next_message(), Err(shorter));
    log.lose_suffix(9, OpenStreams::BreakOff);
    assert!(matches!(other.next_message(), Err(LogError::Unavailable { .. })));
    client.append(AppendId(5), bytes("y"));
    assert_eq!(log.messages()[0].position, LogPosition(1));
}

#[test]
fn a_restored_log_goes_on_from_its_copy() {
    let log = MemoryLog::new(6, LogFaults::default());
    let mut client = log.connect();
    client.append(AppendId(1), bytes("a"));
    let copy = log.copy();
    client.append(AppendId(2), bytes("b"));
    client.read_from(LogPosition(3), LogPosition(2));
    log.restore(&copy);
    assert!(matches!(client.next_message(), Err(LogError::Unavailable { .. })));
    client.append(AppendId(3), bytes("c"));
    assert_eq!(texts(&log), ["a", "c"]);
    assert_eq!(positions(&mut client), [(1, Some(1)), (2, Some(2)), (3, Some(2))]);
}

#[test]
fn a_node_that_sleeps_is_woken_for_everything_that_comes() {
    let faults = LogFaults { lag: OneIn(1), ..DELAYED };
    let log = MemoryLog::new(6, faults);
    let bell = Arc::new(CountingBell::default());
    let mut client = log.connect_waking(Waker::from(Arc::clone(&bell)));
    client.read_from(LogPosition(1), LogPosition::START);
    assert_eq!((client.next_message(), log.next_event_at()), (Ok(None), None), "nothing is hidden");
    log.connect().append(AppendId(1), bytes("a"));
    log.advance_to(Duration::from_millis(40));
    assert_eq!(bell.rung(), 1, "a message of somebody else");
    assert_eq!(client.next_message(), Ok(None), "it is not shown yet");
    log.advance_to(Duration::from_millis(60));
    assert_eq!(bell.rung(), 1, "it is now");
    log.set_faults(LogFaults::default());
    assert_eq!(read(&mut client).len(), 1);
    client.append(AppendId(2), bytes("b"));
    assert_eq!(bell.rung(), 2, "a message and an answer");
    log.cut();
    assert_eq!(bell.rung(), 1, "the stream has ended");
}

#[test]
fn what_a_dropped_client_asked_for_happens() {
    let log = MemoryLog::new(6, DELAYED);
    let mut client = log.connect();
    client.append(AppendId(1), bytes("a"));
    drop(client);
    assert!(log.next_event_at().is_some() || !log.messages().is_empty());
    log.advance_to(Duration::from_millis(50));
    assert_eq!(texts(&log), ["a"]);
    assert_eq!(log.next_event_at(), None);
}
