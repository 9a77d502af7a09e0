//! Log: a log file, scanned and recovered. The checksums that the fuzzer breaks are mended, or nothing
//! behind them would be reached. Recovering twice is the same, and what was visited can be written and
//! read again.
//!
//! Input: a byte of choices (the unit among them), then, if it says so, the fields of the file's header; the batches.

use crate::target::{Memory, Target};
use crc32c::{crc32c, crc32c_append};
use evergraph_storage::io::directory::Directory;
use evergraph_storage::io::memory::MemoryDirectory;
use evergraph_storage::io::write_unit::WriteUnit;
use evergraph_storage::log::error::LogError;
use evergraph_storage::log::file::{FileHeader, LogEnd, file_name};
use evergraph_storage::log::frame::{
    FRAME_HEADER_BYTES, FrameSeed, PAGE_BYTES, finish_batch, payload_crc, push_frame,
};
use evergraph_storage::log::recovery::{Recovered, Replay, recover};

// A window of 1 MiB, and what the directory in memory adds to a file.
/// The target.
pub const TARGET: Target = Target { seeds, promise, memory: Memory { fixed: 4 << 20, per_byte: 64 } };

const NUMBER: u64 = 7;
const SALT: u64 = 99;
/// The choice to mend the checksums of frames.
const MENDS: u8 = 1;
/// The choice to read the header's fields from the input.
const BRINGS_HEADER: u8 = 2;
/// The choice of batches in units of lines.
const HAS_LINES: u8 = 4;
/// Where the fields of a file's header lie behind its checksum.
const FIELDS: std::ops::Range<usize> = 16..76;

type Visited = Vec<(u64, Vec<u8>)>;

fn seeds() -> Vec<Vec<u8>> {
    let visited: Visited = vec![(1, b"first".to_vec()), (4, Vec::new()), (5, vec![7; 5000])];
    let batches = batches(&visited, WriteUnit::PAGE);
    let fields = header(PAGE_BYTES as u64 * 3, WriteUnit::PAGE).encode()[FIELDS].to_vec();
    let mut sealed = batches.clone();
    let mut seal = Vec::new();
    push_frame(&mut seal, 5, 5, b"", payload_crc(b""));
    finish_batch(&mut seal, FrameSeed::new(SALT), batches.len() as u64, WriteUnit::PAGE);
    sealed.extend(seal);
    vec![
        [vec![0], batches.clone()].concat(),
        [vec![MENDS], sealed].concat(),
        [vec![HAS_LINES], self::batches(&visited, WriteUnit::LINE)].concat(),
        [vec![BRINGS_HEADER], fields.clone(), batches.clone()].concat(),
        [vec![MENDS | BRINGS_HEADER], fields, batches[..PAGE_BYTES].to_vec()].concat(),
    ]
}

fn header(file_bytes: u64, unit: WriteUnit) -> FileHeader {
    let predecessor = LogEnd::default();
    FileHeader { number: NUMBER, salt: SALT, file_bytes, first_position: 0, unit, predecessor }
}

/// A batch a commit.
fn batches(visited: &Visited, unit: WriteUnit) -> Vec<u8> {
    let (mut bytes, mut prev_ts) = (Vec::new(), 0);
    for (ts, payload) in visited {
        let (mut batch, synced_through) = (Vec::new(), bytes.len() as u64);
        push_frame(&mut batch, *ts, prev_ts, payload, payload_crc(payload));
        finish_batch(&mut batch, FrameSeed::new(SALT), synced_through, unit);
        bytes.extend(batch);
        prev_ts = *ts;
    }
    bytes
}

fn promise(input: &[u8]) {
    let Some((choice, mut rest)) = input.split_first() else { return };
    let unit = if choice & HAS_LINES == 0 { WriteUnit::PAGE } else { WriteUnit::LINE };
    let mut page = header(0, unit).encode();
    if choice & BRINGS_HEADER != 0 {
        let Some((fields, batches)) = rest.split_at_checked(FIELDS.len()) else { return };
        page[FIELDS].copy_from_slice(fields);
        rest = batches;
    }
    let mut file = page;
    file.extend_from_slice(rest);
    file.resize(file.len().max(2 * PAGE_BYTES).next_multiple_of(PAGE_BYTES), 0);
    if choice & BRINGS_HEADER == 0 {
        let length = file.len() as u64;
        file[32..40].copy_from_slice(&length.to_le_bytes());
    }
    let crc = crc32c_append(crc32c_append(crc32c(&file[..12]), &[0; 4]), &file[16..PAGE_BYTES]);
    file[12..16].copy_from_slice(&crc.to_le_bytes());
    if choice & MENDS != 0 {
        mend(&mut file);
    }
    let Some((_, visited)) = recovered(&file) else { return };
    if choice & BRINGS_HEADER == 0 {
        let batches = batches(&visited, unit);
        let length = (PAGE_BYTES + batches.len()).max(2 * PAGE_BYTES);
        let mut written = header(length as u64, unit).encode();
        written.extend(batches);
        written.resize(length, 0);
        let (again, visited_again) = recovered(&written).expect("a log that is written can be read");
        assert_eq!((again.torn, visited_again), (None, visited));
    }
}

/// Gives each frame that is found one behind the other the checksums that it should have. The file has at
/// least a header.
pub(super) fn mend(file: &mut [u8]) {
    let salt: [u8; 8] = file[24..32].try_into().expect("the range has eight bytes");
    let unit = if file[8] == 2 { WriteUnit::LINE } else { WriteUnit::PAGE };
    let mut start = PAGE_BYTES;
    while let Some(frame) = file.get_mut(start..).filter(|rest| rest.len() >= FRAME_HEADER_BYTES) {
        let length = u32::from_le_bytes(frame[4..8].try_into().expect("the range has four bytes"));
        let (is_last, length) = (length >> 31 == 1, (length & !(1 << 31)) as usize);
        let Some(payload) = frame.get(FRAME_HEADER_BYTES..FRAME_HEADER_BYTES + length) else { return };
        let payload_crc = payload_crc(payload);
        frame[36..40].copy_from_slice(&payload_crc.to_le_bytes());
        let crc = crc32c_append(crc32c_append(crc32c(&salt), &frame[..32]), &frame[36..40]);
        frame[32..36].copy_from_slice(&crc.to_le_bytes());
        start += FRAME_HEADER_BYTES + length;
        if is_last {
            start = unit.round_up(start as u64) as usize;
        }
    }
}

/// What recovery finds and visits, the same twice; `None` if it refuses the file.
fn recovered(file: &[u8]) -> Option<(Recovered, Visited)> {
    let directory = MemoryDirectory::new("db");
    directory.write_all_new(&file_name(NUMBER), file).expect("a new name");
    let run = || {
        let mut visited = Visited::new();
        let recovered = recover::<LogError>(&directory, Replay::default(), |ts, payload| {
            visited.push((ts, payload.to_vec()));
            Ok(())
        });
        (recovered, visited)
    };
    let ((first, visited), (second, visited_again)) = (run(), run());
    assert_eq!((format!("{first:?}"), &visited), (format!("{second:?}"), &visited_again));
    assert!(visited.is_sorted_by(|a, b| a.0 < b.0), "commits are in order");
    match first {
        Ok(recovered) => {
            assert_eq!(recovered.frames_count, visited.len() as u64);
            assert!(recovered.last_ts >= visited.last().map_or(0, |last| last.0));
            assert!(recovered.torn.as_ref().is_none_or(|torn| torn.offset < file.len() as u64));
            Some((recovered, visited))
        }
        Err(error) => {
            if let LogError::Corrupt { offset, .. } = &error {
                assert!(*offset <= file.len() as u64, "{error}");
            }
            None
        }
    }
}
