//! Frames as bytes: golden ones, random ones, and what is none.

use super::*;
use crate::copy::message::tests::messages;
use crate::copy::message::{CopyId, CopySubject};
use crate::digest::LogDigest;
use crate::planted::assert_found;
use crate::record::strategy::{any_author, any_seen};
use crate::record_id::{Author, NodeId};
use crate::remote::question::RefusalReason;
use crate::travel::message::{BeginTravel, TravelFailure, TravelId, TravelRows};
use evergraph_graph::bytes::put_varint;
use evergraph_graph::id::PartitionId;
use evergraph_graph::partition::PartitionCount;
use evergraph_graph::travel::{Routes, StageMeasure, TravelStart};
use proptest::collection::vec;
use proptest::prelude::*;
use std::sync::Arc;
use std::time::Duration;

fn any_id() -> impl Strategy<Value = QuestionId> {
    (any_author(), any::<u64>()).prop_map(|(asker, number)| QuestionId { asker, number })
}

fn any_reason() -> impl Strategy<Value = RefusalReason> {
    prop_oneof![
        Just(RefusalReason::NotKept),
        Just(RefusalReason::OtherLog),
        Just(RefusalReason::TooOld),
        Just(RefusalReason::Busy),
        Just(RefusalReason::TooLate),
        "[a-zå]{0,9}".prop_map(|reason| RefusalReason::Failed { reason }),
    ]
}

fn any_frame() -> impl Strategy<Value = Frame> {
    let content = || vec(any::<u8>(), 0..40);
    let question = (any_id(), 0..4096_u16, any_seen(), any::<u32>(), content());
    let question = question.prop_map(|(id, partition, at, patience, asked)| {
        let patience = Duration::from_millis(u64::from(patience));
        Frame::Question(Question { id, partition: PartitionId(partition), at, patience, asked })
    });
    let heartbeat = (any_seen(), any::<u64>(), any::<u64>()).prop_map(|(applied, oldest, needed)| {
        let oldest = LogPosition(oldest % (applied.position.0 + 1));
        let needed_from = LogPosition(needed % (applied.position.0 + 2));
        Frame::Heartbeat(Heartbeat { applied, oldest, needed_from })
    });
    let batchable = prop_oneof![
        question,
        (any_id(), content()).prop_map(|(id, answered)| Frame::Answer(Answer { id, answered })),
        (any_id(), any_reason()).prop_map(|(id, reason)| Frame::Refusal(QuestionRefusal { id, reason })),
        any_id().prop_map(Frame::Forget),
        (any_id(), any::<u16>(), any::<u32>(), any::<bool>()).prop_map(|(id, stage, from, is_more)| {
            let id = TravelId { asker: id.asker, number: id.number };
            Frame::Travel(match is_more {
                true => TravelMessage::More { id, stage, from },
                false => TravelMessage::Want { id, stage, from },
            })
        }),
    ];
    let batchable = batchable.boxed();
    let batch = prop_oneof![vec(batchable.clone(), 2..6), any_similar()].prop_map(Frame::Batch);
    let copy = messages().prop_map(Frame::Copy);
    prop_oneof![4 => batchable, 1 => heartbeat, 2 => batch, 2 => copy]
}

/// Questions and answers that differ from the one before in some things, or in nothing but their numbers.
fn any_similar() -> impl Strategy<Value = Vec<Frame>> {
    let changes = vec((0..3_u64, 0..6_u8, 0..3_u8), 1..8);
    (any_author(), 0..99_u64, any_seen(), changes).prop_map(|(asker, number, at, changes)| {
        let mut question = Question {
            id: QuestionId { asker, number },
            partition: PartitionId(7),
            at,
            patience: Duration::from_millis(9),
            asked: Vec::new(),
        };
        let frame = |question: &Question, is_answer| match is_answer {
            true => Frame::Answer(Answer { id: question.id, answered: question.asked.clone() }),
            false => Frame::Question(question.clone()),
        };
        let mut frames = vec![frame(&question, false)];
        for (more, change, kind) in changes {
            question.id.number += more;
            match change {
                0 => question.partition.0 += 1,
                1 => question.asked.push(change),
                2 => question.patience += Duration::from_millis(1),
                3 => question.at.position.0 ^= 1,
                4 => question.id.asker.incarnation ^= 1,
                _ => {}
            }
            frames.push(frame(&question, kind == 0));
        }
        frames
    })
}

/// The frame with the checksum of its bytes, whatever they are.
fn with_checksum(mut bytes: Vec<u8>) -> Vec<u8> {
    bytes.truncate(bytes.len() - CHECKSUM_BYTES);
    put_checksum(&mut bytes);
    bytes
}

proptest! {
    #[test]
    fn frames_read_back_however_their_stream_is_cut(
        frames in vec(any_frame(), 1..5), pieces in vec(1..60_usize, 1..9),
    ) {
        let stream: Vec<u8> = frames.iter().flat_map(Frame::encode).collect();
        let (mut reader, mut read, mut rest) = (FrameReader::default(), Vec::new(), &stream[..]);
        for length in pieces.iter().cycle() {
            let (piece, after) = rest.split_at((*length).min(rest.len()));
            reader.push(piece);
            while let Some(frame) = reader.next_frame().unwrap() {
                read.push(frame);
            }
            rest = after;
            if rest.is_empty() {
                break;
            }
        }
        prop_assert!(reader.is_between_frames());
        prop_assert_eq!(read, frames);
    }

    #[test]
    fn a_cut_frame_is_not_whole_and_random_edits_are_another_frame_or_an_error(
        frame in any_frame(), edits in vec((any::<proptest::sample::Index>(), any::<u8>()), 1..6),
    ) {
        let mut bytes = frame.encode();
        for cut in 0..bytes.len() {
            prop_assert_eq!(Frame::decode(&bytes[..cut]), Ok(None));
        }
        for (at, byte) in &edits {
            // Not the length: a frame that announces more has not come whole.
            let at = LENGTH_BYTES + at.index(bytes.len() - LENGTH_BYTES - CHECKSUM_BYTES);
            bytes[at] = *byte;
        }
        let bytes = with_checksum(bytes);
        match Frame::decode(&bytes) {
            Ok(Some((length, frame))) => prop_assert_eq!((length, frame.encode()), (bytes.len(), bytes)),
            Ok(None) => return Err(TestCaseError::fail("it came whole")),
            Err(error) => prop_assert!(error.offset <= bytes.len() && !error.expected.is_empty()),
        }
    }

    #[test]
    fn any_bytes_are_frames_or_an_error(bytes in vec(any::<u8>(), 0..99)) {
        let mut reader = FrameReader::default();
        reader.push(&bytes);
        while let Ok(Some(_)) = reader.next_frame() {}
        let mut announced = (bytes.len() as u32).to_le_bytes().to_vec();
        announced.extend_from_slice(&bytes);
        let _ = Frame::decode(&announced);
    }
}

fn sample() -> Frame {
    let id = QuestionId { asker: Author { node: NodeId(3), incarnation: 2 }, number: 300 };
    let at = SeenLog { position: LogPosition(7), digest: LogDigest(std::array::from_fn(|at| at as u8)) };
    let (partition, patience) = (PartitionId(5), Duration::from_millis(1500));
    Frame::Question(Question { id, partition, at, patience, asked: b"ask".to_vec() })
}

/// Two questions, the second of which has most of the first, and two answers, of which the second says the same.
fn similar() -> Vec<Frame> {
    let Frame::Question(question) = sample() else { panic!("a question") };
    let later = |more: u64| QuestionId { number: question.id.number + more, ..question.id };
    let second = Question { id: later(2), partition: PartitionId(9), ..question.clone() };
    let answer = |more| Frame::Answer(Answer { id: later(more), answered: b"answer".to_vec() });
    vec![Frame::Question(question.clone()), Frame::Question(second), answer(0), answer(200)]
}

#[test]
fn the_bytes_are_those_of_version_1() {
    let Frame::Question(question) = sample() else { panic!("a question") };
    let (id, applied) = (question.id, question.at);
    let failed = RefusalReason::Failed { reason: "disk".to_owned() };
    let frames = [
        sample(),
        Frame::Answer(Answer { id, answered: b"answer".to_vec() }),
        Frame::Refusal(QuestionRefusal { id, reason: RefusalReason::TooOld }),
        Frame::Refusal(QuestionRefusal { id, reason: failed }),
        Frame::Heartbeat(Heartbeat { applied, oldest: LogPosition(6), needed_from: LogPosition(5) }),
        Frame::Forget(id),
        Frame::Batch(vec![sample(), Frame::Forget(id)]),
        Frame::Batch(similar()),
        Frame::Copy(CopyMessage::Begin { copy: CopyId(0x0102), subject: CopySubject::State }),
    ];
    // Written by an independent program.
    let golden = [
        "300000000101030002000000ac0205000700000000000000000102030405060708090a0b0c0d0e0fdc05\
         00000361736b43936f35",
        "150000000102030002000000ac0206616e7377657293fc3c18",
        "0f0000000103030002000000ac02020a2c555e",
        "140000000103030002000000ac0205046469736bf4127427",
        "2e00000001040700000000000000000102030405060708090a0b0c0d0e0f06000000000000000500000000000000\
         7d1e8dad",
        "0e0000000105030002000000ac025a7af477",
        "3b00000001060201030002000000ac0205000700000000000000000102030405060708090a0b0c0d0e0fdc050000\
         0361736b05030002000000ac02e15912ba",
        "4b00000001060401030002000000ac0205000700000000000000000102030405060708090a0b0c0d0e0fdc05000003\
         61736b100209000002030002000000ac0206616e7377657211c801003e22d09a",
        "10000000010702020100000000000000cc1cabb8",
    ];
    for (frame, golden) in frames.iter().zip(golden) {
        let bytes = frame.encode();
        let written: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(written, golden);
        assert_eq!(Frame::decode(&bytes), Ok(Some((bytes.len(), frame.clone()))));
    }
}

#[test]
fn what_nodes_say_of_queries_has_the_bytes_of_version_2_of_the_protocol() {
    let Frame::Question(question) = sample() else { panic!("a question") };
    let (asker, at) = (question.id.asker, question.at);
    let id = TravelId { asker, number: 300 };
    let begin = BeginTravel {
        id,
        at,
        patience: Duration::from_millis(1500),
        memory_bytes: 1 << 20,
        start: TravelStart::Rows,
        stages: 3,
        places: vec![asker, Author { node: NodeId(4), incarnation: 0 }],
        routes: Arc::new(Routes::new(PartitionCount::new(3).unwrap(), 2, vec![0, 1, 0]).unwrap()),
        program: vec![1, 2, 3],
    };
    let measure = StageMeasure {
        rows: 5,
        edges: 600,
        sent_rows: 4,
        sent_bytes: 300,
        sent_messages: 2,
        time: Duration::from_nanos(77_000),
    };
    let rows = TravelRows {
        id,
        incarnation: 9,
        stage: 2,
        number: 200,
        is_last: true,
        count: 5,
        measures: vec![measure],
        rows: b"rows".to_vec(),
    };
    // Each written by an independent program.
    let golden = [
        (
            TravelMessage::Begin(Arc::new(begin)),
            "45000000010801030002000000ac020700000000000000000102030405060708090a0b0c0d0e0fdc0500008080400103\
             020300020000000400000000000300010003010203474c3ebe",
        ),
        (
            TravelMessage::Rows(Arc::new(rows)),
            "28000000010802030002000000ac020900000002c80101050105d80404ac0202c8d90404726f7773de71f155",
        ),
        (TravelMessage::Want { id, stage: 2, from: 4 }, "11000000010803030002000000ac020204d8ecea06"),
        (
            TravelMessage::Failed { id, incarnation: 9, failure: TravelFailure::busy("disk") },
            "19000000010804030002000000ac020900000006046469736bb137be52",
        ),
        (TravelMessage::End(id), "0f000000010805030002000000ac028bc6761f"),
        (TravelMessage::More { id, stage: 2, from: 5 }, "11000000010806030002000000ac020205fcaaef35"),
    ];
    for (message, golden) in golden {
        let frame = Frame::Travel(message);
        let bytes = frame.encode();
        let written: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(written, golden);
        assert_eq!(Frame::decode(&bytes), Ok(Some((bytes.len(), frame))));
    }
}

#[test]
fn an_error_names_its_place() {
    let bytes = sample().encode();
    let edited = |at: usize, byte: u8| {
        let mut bytes = bytes.clone();
        bytes[at] = byte;
        let error = Frame::decode(&with_checksum(bytes)).unwrap_err();
        (error.offset, error.expected)
    };
    assert_eq!(edited(4, 2), (4, "version 1 expected, found 2".into()));
    assert_eq!(edited(5, 9), (5, "a kind of frame expected, found 9".into()));
    let mut flipped = bytes.clone();
    flipped[20] ^= 1;
    let found = Frame::decode(&flipped).map_err(|error| error.offset);
    assert_eq!(found, Err(bytes.len() - CHECKSUM_BYTES), "the checksum");
}

/// The stream of a batch with this count and these frames, whatever they are.
fn batch_of(count: u64, frames: &[Frame]) -> Vec<u8> {
    let mut bytes = vec![0; LENGTH_BYTES];
    bytes.extend([VERSION, kind::BATCH]);
    put_varint(&mut bytes, count);
    frames.iter().for_each(|frame| frame.encode_content(&mut bytes));
    let follow = (bytes.len() - LENGTH_BYTES + CHECKSUM_BYTES) as u32;
    bytes[..LENGTH_BYTES].copy_from_slice(&follow.to_le_bytes());
    put_checksum(&mut bytes);
    bytes
}

#[test]
fn a_batch_has_as_many_frames_as_it_says_and_no_more_than_have_room() {
    let Frame::Question(question) = sample() else { panic!("a question") };
    let forget = Frame::Forget(question.id);
    let error_of = |count: u64, frames: &[Frame]| {
        let error = Frame::decode(&batch_of(count, frames)).unwrap_err();
        (error.offset, error.expected)
    };
    let two = [forget.clone(), sample()];
    assert_eq!(Frame::decode(&batch_of(2, &two)).unwrap().unwrap().1, Frame::Batch(two.to_vec()));
    for count in [0, 1, 18, u64::MAX] {
        let expected = format!("2 to 17 frames expected, found {count}");
        assert_eq!(error_of(count, &two), (6, expected), "the count is not checked");
    }
    let many = vec![forget.clone(); BATCH_FRAMES_MAX + 1];
    assert_eq!(error_of(257, &many).1, "2 to 256 frames expected, found 257");
    // Neither a heartbeat nor a batch is in it.
    let (applied, oldest) = (SeenLog::START, LogPosition(0));
    let heartbeat = Frame::Heartbeat(Heartbeat { applied, oldest, needed_from: LogPosition(0) });
    let copy = Frame::Copy(CopyMessage::NeedsLog(LogPosition(1)));
    for stranger in [heartbeat, Frame::Batch(two.to_vec()), copy] {
        let (offset, expected) = error_of(2, &[forget.clone(), stranger]);
        assert!(offset == 16 && expected.starts_with("a frame of a batch"), "{offset}: {expected}");
    }
    let large = |bytes| Frame::Answer(Answer { id: question.id, answered: vec![7; bytes] });
    let half = large(BATCH_BYTES_MAX / 2);
    assert!(Frame::decode(&batch_of(2, &[half.clone(), half.clone()])).is_ok());
    assert!(error_of(3, &[half.clone(), half, large(1)]).1.contains("at most 262144 bytes"));
}

#[test]
fn what_differs_from_the_frame_before_is_said() {
    let Frame::Question(question) = sample() else { panic!("a question") };
    let id = |more| QuestionId { number: question.id.number + more, ..question.id };
    let next = Question { id: id(1), ..question.clone() };
    let later = SeenLog { position: LogPosition(8), ..question.at };
    let other = QuestionId { asker: Author { node: NodeId(4), incarnation: 2 }, number: 301 };
    for different in [
        Question { at: later, ..next.clone() },
        Question { patience: Duration::from_millis(1501), ..next.clone() },
        Question { id: other, ..next.clone() },
        Question { asked: Vec::new(), ..next.clone() },
        question.clone(),
        Question { id: QuestionId { number: 1, ..question.id }, ..question.clone() },
    ] {
        let frames = vec![sample(), Frame::Question(different), sample()];
        let bytes = Frame::Batch(frames.clone()).encode();
        let read = Frame::decode(&bytes).unwrap().unwrap().1;
        assert_eq!(read.apart(), frames, "another question arrives");
    }
    // Two ways to say the same are none.
    let whole = batch_of(2, &[sample(), Frame::Question(next)]);
    assert!(Frame::decode(&whole).unwrap_err().expected.contains("the short form expected"));
}

/// The patience of a question that is sent late has parts of a millisecond, which are not sent: the receiver closed its connection for
/// a form that was not the shortest.
#[test]
fn what_is_written_decides_whether_a_question_is_like_the_one_before() {
    let Frame::Question(question) = sample() else { panic!("a question") };
    let second = QuestionId { number: 301, ..question.id };
    let longest = Duration::from_millis(u64::from(u32::MAX));
    for (patience, other, read) in [
        (Duration::from_micros(1_500_100), Duration::from_micros(1_500_900), Duration::from_millis(1500)),
        (longest + Duration::from_secs(1), Duration::MAX, longest),
    ] {
        let first = Question { patience, ..question.clone() };
        let second = Question { id: second, patience: other, ..question.clone() };
        let batch = Frame::Batch(vec![Frame::Question(first), Frame::Question(second)]);
        let (_, frame) = Frame::decode(&batch.encode()).unwrap().unwrap();
        for frame in frame.apart() {
            let Frame::Question(question) = frame else { panic!("a question") };
            assert_eq!(question.patience, read);
        }
    }
}

/// A batch of one frame and what follows, whatever it is.
fn behind_sample(second: &[u8]) -> Vec<u8> {
    let mut bytes = batch_of(2, &[sample()]);
    bytes.truncate(bytes.len() - CHECKSUM_BYTES);
    bytes.extend_from_slice(second);
    let follow = (bytes.len() - LENGTH_BYTES + CHECKSUM_BYTES) as u32;
    bytes[..LENGTH_BYTES].copy_from_slice(&follow.to_le_bytes());
    put_checksum(&mut bytes);
    bytes
}

#[test]
fn a_frame_that_is_like_another_is_checked() {
    let error_of = |second: &[u8]| Frame::decode(&behind_sample(second)).unwrap_err().expected;
    assert!(Frame::decode(&behind_sample(&[16, 1, 9, 0, 0])).is_ok());
    assert_eq!(error_of(&[16, 0, 9, 0, 0]), "a number behind 300 expected, found 0 more");
    let most = [16, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1, 9, 0, 0];
    assert!(error_of(&most).starts_with("a number behind 300 expected"));
    assert!(error_of(&[16, 1, 255, 255, 0]).starts_with("a partition below"));
    assert_eq!(error_of(&[16, 1, 9, 0, 9, 1]), "at most 1 bytes expected, found 8");
    assert_eq!(error_of(&[16, 1, 9, 0, 4, b'a', b's', b'k']), "0 expected, for what the one before has");
    assert!(error_of(&[17, 1, 0]).contains("expected before this frame"), "an answer behind a question");
    let first = batch_of(2, &[]);
    let alone = [&first[..first.len() - CHECKSUM_BYTES], &[16, 1, 9, 0, 0, 0, 0, 0][..], &[0; 4]].concat();
    let mut alone = with_checksum(alone);
    let follow = (alone.len() - LENGTH_BYTES) as u32;
    alone[..LENGTH_BYTES].copy_from_slice(&follow.to_le_bytes());
    let alone = with_checksum(alone);
    assert!(Frame::decode(&alone).unwrap_err().expected.contains("expected before this frame"));
}

#[test]
fn frames_go_together_and_come_apart() {
    let Frame::Question(question) = sample() else { panic!("a question") };
    let frames = vec![sample(), Frame::Forget(question.id), sample()];
    assert_eq!(Frame::together(Vec::new()), None);
    assert_eq!(Frame::together(vec![sample()]), Some(sample()), "one travels as it is");
    let batch = Frame::together(frames.clone()).unwrap();
    assert_eq!((batch.count(), batch.content_bytes(), sample().count()), (3, 6, 1));
    assert_eq!((batch.apart(), sample().apart()), (frames, vec![sample()]));
}

#[test]
fn a_heartbeat_needs_no_more_of_the_log_than_what_comes_next() {
    let applied = SeenLog { position: LogPosition(7), ..SeenLog::START };
    let frame = |needed_from| {
        let (oldest, needed_from) = (LogPosition(7), LogPosition(needed_from));
        Frame::Heartbeat(Heartbeat { applied, oldest, needed_from })
    };
    assert!(matches!(Frame::decode(&frame(8).encode()), Ok(Some(_))));
    let error = Frame::decode(&frame(9).encode()).unwrap_err();
    assert_eq!((error.offset, &*error.expected), (38, "at most the message behind 7 expected, found 9"));
}

#[test]
fn a_length_beyond_the_limit_is_an_error_before_its_bytes_come() {
    for length in [0, FRAME_BYTES_MIN - 1, FRAME_BYTES_MAX + 1, u32::MAX as usize] {
        let stream = (length as u32).to_le_bytes();
        let found = Frame::decode(&stream).map_err(|error| error.offset);
        assert_eq!(found, Err(0), "{length} bytes are announced");
    }
    assert_eq!(Frame::decode(&(FRAME_BYTES_MAX as u32).to_le_bytes()), Ok(None));
}

#[test]
fn a_reader_takes_memory_for_what_came_and_gives_that_of_a_large_frame_back() {
    let Frame::Question(question) = sample() else { panic!("a question") };
    let large = Frame::Answer(Answer { id: question.id, answered: vec![7; 3 << 20] });
    let stream = [large.encode(), sample().encode()].concat();
    let (most, mut reader) = (large.encode().len() + (16 << 10), FrameReader::default());
    // The beginning of one that never comes.
    reader.push(&stream[..9]);
    assert!(reader.bytes.capacity() <= KEPT_BYTES_MAX, "the announced length takes memory");
    let mut read = Vec::new();
    for piece in stream[9..].chunks(16 << 10) {
        reader.push(piece);
        assert!(reader.bytes.capacity() <= most, "more than the frame and a piece");
        while let Some(frame) = reader.next_frame().unwrap() {
            assert!(reader.bytes.capacity() <= KEPT_BYTES_MAX, "the memory is kept");
            read.push(frame);
        }
    }
    assert!(reader.is_between_frames());
    assert!(read == [large, sample()], "both frames");
}

#[test]
fn planted_bugs_are_found() {
    let memory = a_reader_takes_memory_for_what_came_and_gives_that_of_a_large_frame_back;
    assert_found(Bug::FrameMemoryKept, memory, "the memory is kept");
    assert_found(Bug::FrameUnchecked, an_error_names_its_place, "the checksum");
    let length = a_length_beyond_the_limit_is_an_error_before_its_bytes_come;
    assert_found(Bug::FrameLengthUnchecked, length, "bytes are announced");
    let count = a_batch_has_as_many_frames_as_it_says_and_no_more_than_have_room;
    assert_found(Bug::BatchCountUnchecked, count, "the count is not checked");
    assert_found(
        Bug::SnapshotTakenFromBefore,
        what_differs_from_the_frame_before_is_said,
        "another question",
    );
}
