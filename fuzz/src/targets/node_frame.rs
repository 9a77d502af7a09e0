//! Node frame: a stream of frames from another node of a cluster. A frame that is read is written in the same bytes, however the
//! stream is cut; an error names its place.

use crate::target::{Memory, Target};
use evergraph_cluster::copy::message::{CopyId, CopyMessage, CopyPiece, CopyRefusal, CopySubject};
use evergraph_cluster::digest::{LogDigest, SeenLog};
use evergraph_cluster::log_position::LogPosition;
use evergraph_cluster::record_id::{Author, NodeId};
use evergraph_cluster::remote::question::{Answer, Question, QuestionId, QuestionRefusal, RefusalReason};
use evergraph_cluster::transport::frame::{Frame, FrameReader, Heartbeat};
use evergraph_cluster::travel::message::{BeginTravel, TravelFailure, TravelId, TravelMessage, TravelRows};
use evergraph_graph::error::ErrorKind;
use evergraph_graph::id::PartitionId;
use evergraph_graph::partition::PartitionCount;
use evergraph_graph::travel::{Routes, StageMeasure, TravelStart};
use std::sync::Arc;
use std::time::Duration;

/// The target. Checksums are corrected first: no fuzzer guesses them.
pub const TARGET: Target = Target { seeds, promise, memory: Memory { fixed: 1 << 20, per_byte: 64 } };

const LENGTH_BYTES: usize = 4;
const CHECKSUM_BYTES: usize = 4;

fn seeds() -> Vec<Vec<u8>> {
    let id = QuestionId { asker: Author { node: NodeId(3), incarnation: 2 }, number: 300 };
    let at = SeenLog { position: LogPosition(7), digest: LogDigest([5; 16]) };
    let patience = Duration::from_millis(1500);
    let question = Question { id, partition: PartitionId(5), at, patience, asked: vec![1, 2, 3] };
    let refusal = |reason| Frame::Refusal(QuestionRefusal { id, reason });
    let travel = TravelId { asker: id.asker, number: 9 };
    let routes = PartitionCount::new(3).and_then(|partitions| Routes::new(partitions, 2, vec![0, 1, 0]));
    let begin = BeginTravel {
        id: travel,
        at,
        patience,
        memory_bytes: 1 << 30,
        start: TravelStart::Everywhere,
        stages: 2,
        places: vec![id.asker, Author { node: NodeId(4), incarnation: 0 }],
        routes: Arc::new(routes.expect("two places read three partitions")),
        program: vec![1, 1, 1, 3],
    };
    let measures = vec![StageMeasure { rows: 5, ..StageMeasure::default() }; 2];
    let rows = vec![0, 1, 7, 0];
    let (stage, number, is_last, count) = (2, 0, true, 1);
    let rows = TravelRows { id: travel, incarnation: 2, stage, number, is_last, count, measures, rows };
    let failure = TravelFailure { kind: ErrorKind::Limit, text: "disk".to_owned() };
    let frames = [
        Frame::Question(question.clone()),
        Frame::Answer(Answer { id, answered: vec![4; 20] }),
        Frame::Batch(similar(&question)),
        refusal(RefusalReason::TooOld),
        refusal(RefusalReason::Failed { reason: "disk".to_owned() }),
        Frame::Heartbeat(Heartbeat { applied: at, oldest: LogPosition(6), needed_from: LogPosition(5) }),
        Frame::Forget(id),
        Frame::Travel(TravelMessage::Want { id: travel, stage: 1, from: 2 }),
        Frame::Travel(TravelMessage::Begin(Arc::new(begin))),
        Frame::Travel(TravelMessage::Rows(Arc::new(rows))),
        Frame::Travel(TravelMessage::More { id: travel, stage: 1, from: 2 }),
        Frame::Travel(TravelMessage::Failed { id: travel, incarnation: 3, failure }),
        Frame::Travel(TravelMessage::End(travel)),
    ];
    let copies = [
        CopyMessage::NeedsLog(LogPosition(5)),
        CopyMessage::Begin { copy: CopyId(9), subject: CopySubject::State },
        CopyMessage::More { copy: CopyId(9), have: 3, up_to: 19, is_again: true },
        CopyMessage::Piece(CopyPiece {
            copy: CopyId(9),
            number: 3,
            bytes_done: 30,
            bytes_total: 40,
            is_last: false,
            changes: vec![7; 9],
        }),
        CopyMessage::Refused { copy: CopyId(9), reason: CopyRefusal::failed("disk") },
    ];
    let batched = frames.iter().filter(|frame| frame.is_batchable()).cloned();
    let batch = Frame::Batch(batched.collect());
    let mut seeds: Vec<_> = frames.iter().map(Frame::encode).collect();
    seeds.push(seeds.concat());
    seeds.push(batch.encode());
    seeds.extend(copies.map(|message| Frame::Copy(message).encode()));
    // One that is refused would hide whatever is behind it.
    assert!(seeds.iter().all(|seed| Frame::decode(seed).is_ok_and(|read| read.is_some())), "frames are read");
    seeds
}

/// The stream with the checksums that its frames have, as far as their lengths lead.
fn corrected(stream: &[u8]) -> Vec<u8> {
    let mut stream = stream.to_vec();
    let mut at = 0;
    while let Some((length, _)) = stream[at..].split_first_chunk::<LENGTH_BYTES>() {
        let end = at + LENGTH_BYTES + u32::from_le_bytes(*length) as usize;
        if end > stream.len() || end < at + LENGTH_BYTES + CHECKSUM_BYTES {
            break;
        }
        let checksum = crc32c::crc32c(&stream[at..end - CHECKSUM_BYTES]);
        stream[end - CHECKSUM_BYTES..end].copy_from_slice(&checksum.to_le_bytes());
        at = end;
    }
    stream
}

/// Questions and answers of a batch, which are like the ones before.
fn similar(question: &Question) -> Vec<Frame> {
    let id = |more| QuestionId { number: question.id.number + more, ..question.id };
    let next = Question { id: id(1), partition: PartitionId(6), ..question.clone() };
    let last = Question { id: id(300), asked: vec![7; 9], ..next.clone() };
    let answer = |more, answered: &[u8]| Frame::Answer(Answer { id: id(more), answered: answered.to_vec() });
    let questions = [question.clone(), next, last].map(Frame::Question);
    questions.into_iter().chain([answer(0, &[4; 20]), answer(1, &[4; 20]), answer(2, &[])]).collect()
}

fn promise(input: &[u8]) {
    let stream = corrected(input);
    let (mut reader, mut written) = (FrameReader::default(), Vec::new());
    for piece in stream.chunks(1 + input.len() % 13) {
        reader.push(piece);
        loop {
            match reader.next_frame() {
                Ok(Some(frame)) => written.extend(frame.encode()),
                Ok(None) => break,
                Err(error) => {
                    assert!(error.offset <= stream.len() && !error.expected.is_empty(), "{error}");
                    return;
                }
            }
        }
    }
    assert_eq!(written, stream[..written.len()]);
    assert_eq!(reader.is_between_frames(), written.len() == stream.len());
}
