//! Bodies' file: its header, its end and the checksum of each block. What is read is what is there.
//!
//! Input: what follows the header; the last 8 bytes are where it says that the bodies end. Header and
//! end are made around them, with the checksums that they should have.

use crate::target::{Memory, Target};
use crc32c::{crc32c, crc32c_append};
use evergraph_memory_engine::checkpoint::body_file::{BodyFile, FIRST_BODY_OFFSET, file_name};
use evergraph_storage::checkpoint::error::CheckpointError;
use evergraph_storage::io::directory::Directory;
use evergraph_storage::io::memory::MemoryDirectory;

/// The target.
pub const TARGET: Target = Target { seeds, promise, memory: Memory { fixed: 1 << 20, per_byte: 64 } };

const NUMBER: u64 = 7;

fn seeds() -> Vec<Vec<u8>> {
    [0, 8, 5000, 70_000].map(seed).to_vec()
}

/// The input that stands for a sound file with so many bytes of bodies.
fn seed(length: usize) -> Vec<u8> {
    let bodies: Vec<u8> = (0..length).map(|at| at as u8).collect();
    let file = [header(), bodies.clone()].concat();
    let checksums = file.chunks(64 << 10).flat_map(|block| crc32c(block).to_le_bytes()).collect();
    [bodies, checksums, (file.len() as u64).to_le_bytes().to_vec()].concat()
}

fn header() -> Vec<u8> {
    let mut page = vec![0; FIRST_BODY_OFFSET as usize];
    page[..8].copy_from_slice(b"EVGRBODY");
    page[8] = 1;
    page[16..24].copy_from_slice(&NUMBER.to_le_bytes());
    let crc = crc32c_append(crc32c_append(crc32c(&page[..12]), &[0; 4]), &page[16..]);
    page[12..16].copy_from_slice(&crc.to_le_bytes());
    page
}

fn promise(input: &[u8]) {
    let Some((content, stated)) = input.split_last_chunk::<8>() else { return };
    let mut file = [header(), content.to_vec()].concat();
    let bodies_end = usize::try_from(u64::from_le_bytes(*stated)).unwrap_or(usize::MAX);
    let checksums = file.get(bodies_end..).unwrap_or_default();
    let mut end = [b"EVGRBEND".as_slice(), stated, &NUMBER.to_le_bytes()].concat();
    end.extend_from_slice(&crc32c(checksums).to_le_bytes());
    end.extend_from_slice(&crc32c(&end).to_le_bytes());
    file.extend(end);

    let directory = MemoryDirectory::new("db");
    directory.write_all_new(&file_name(NUMBER), &file).expect("a new name");
    let bodies = match BodyFile::open(&directory, NUMBER) {
        Ok(bodies) => bodies,
        Err(error) => return assert_inside(&error, &file),
    };
    assert_eq!(bodies.bodies_end(), bodies_end as u64);
    let middle = bodies.bodies_end() / 2;
    for range in [0..bodies.bodies_end(), middle..middle + 1, middle..middle, middle..u64::MAX] {
        match bodies.read(range.clone()) {
            Ok(window) => {
                assert_eq!(window.bytes(range.clone()), &file[range.start as usize..range.end as usize])
            }
            Err(error) => assert_inside(&error, &file),
        }
    }
}

fn assert_inside(error: &CheckpointError, file: &[u8]) {
    if let CheckpointError::Corrupt { offset, problem, .. } = error {
        assert!(*offset <= file.len() as u64 && !problem.is_empty(), "{error}");
    }
}
