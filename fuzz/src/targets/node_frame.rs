//! Node frame: a stream of frames from another node of a cluster. A frame that is read is written in the same bytes, however the
//! stream is cut; an error names its place.

use crate::target::{Memory, Target};
use evergraph_cluster::digest::{LogDigest, SeenLog};
use evergraph_cluster::log_position::LogPosition;
use evergraph_cluster::record_id::{Author, NodeId};
use evergraph_cluster::remote::question::{Answer, Question, QuestionId, QuestionRefusal, RefusalReason};
use evergraph_cluster::transport::frame::{Frame, FrameReader, Heartbeat};
use evergraph_graph::id::PartitionId;
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
    let frames = [
        Frame::Question(question),
        Frame::Answer(Answer { id, answered: vec![4; 20] }),
        refusal(RefusalReason::TooOld),
        refusal(RefusalReason::Failed { reason: "disk".to_owned() }),
        Frame::Heartbeat(Heartbeat { applied: at, oldest: LogPosition(6), needed_from: LogPosition(5) }),
        Frame::Forget(id),
    ];
    let batched = frames.iter().filter(|frame| frame.is_batchable()).cloned();
    let batch = Frame::Batch(batched.collect());
    let mut seeds: Vec<_> = frames.iter().map(Frame::encode).collect();
    seeds.push(seeds.concat());
    seeds.push(batch.encode());
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
