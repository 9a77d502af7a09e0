//! Flipped bits and missing pieces: what was synced is given back as it was, or reported.

use evergraph_storage::io::directory::{Directory, OpenMode};
use evergraph_storage::io::memory::MemoryDirectory;
use evergraph_storage::log::error::LogError;
use evergraph_storage::log::file::file_name;
use evergraph_storage::log::frame::payload_crc;
use evergraph_storage::log::options::{Durability, LogOptions};
use evergraph_storage::log::recovery::{Replay, recover};

use crate::support::{commit, log_files, open, read, small_files, stepped, timestamps};

fn overwrite(directory: &MemoryDirectory, name: &str, offset: u64, bytes: &[u8]) {
    directory.open(name, OpenMode::ReadWrite).unwrap().write_at(bytes, offset).unwrap();
}

/// Commits 1 to `last`, one batch each, and closes.
fn closed_log(last: u64, options: LogOptions) -> MemoryDirectory {
    let directory = MemoryDirectory::new("db");
    let log = open(&directory, stepped(options)).unwrap();
    (1..=last).for_each(|ts| commit(&log, ts).unwrap());
    log.close().unwrap();
    directory
}

#[test]
fn every_flipped_bit_before_the_seal_is_reported_and_none_gives_false_data() {
    let directory = closed_log(7, small_files(Durability::Sync));
    let expected = timestamps(&directory);
    let names = log_files(&directory);
    assert!(names.len() >= 2, "the log went over to a second file");
    let (mut reported, mut harmless) = (0, 0);
    for (index, name) in names.iter().enumerate() {
        let bytes = directory.read_all(name, 1 << 20).unwrap();
        // The pages that hold something; the last one of the last file is the seal.
        let last_page = bytes.rchunks(4096).position(|page| page.iter().any(|&byte| byte != 0)).unwrap();
        let written = bytes.len() - last_page * 4096;
        let is_newest = index + 1 == names.len();
        let end = if is_newest { written - 4096 } else { written };
        for offset in 0..bytes.len() {
            // Every bit of the first bytes of each page, where the headers are; else one a byte.
            let bits = if offset % 4096 < 128 { 0..8 } else { offset % 8..offset % 8 + 1 };
            for bit in bits {
                overwrite(&directory, name, offset as u64, &[bytes[offset] ^ (1 << bit)]);
                match read(&directory, Replay::default()) {
                    Err(LogError::Corrupt { file, offset: found, .. }) => {
                        assert!(file.ends_with(name) && found as usize <= offset);
                        reported += 1;
                    }
                    Err(error) => panic!("{name}, byte {offset}, bit {bit}: {error}"),
                    Ok((_, found)) => {
                        assert_eq!(found, expected, "{name}, byte {offset}, bit {bit}");
                        // What lies behind a cut, padding included, is never read.
                        let is_behind = if is_newest { offset >= end } else { offset >= end - 4096 };
                        assert!(is_behind && !(offset < end && bytes[offset] != 0), "{name}, byte {offset}");
                        harmless += 1;
                    }
                }
                overwrite(&directory, name, offset as u64, &bytes[offset..=offset]);
            }
        }
    }
    assert!(reported > 20_000 && harmless > 1_000, "{reported} reported, {harmless} harmless");
}

#[test]
fn a_lost_page_of_a_synced_batch_is_reported() {
    let directory = MemoryDirectory::new("db");
    let log = open(&directory, stepped(LogOptions::default())).unwrap();
    (1..=5).for_each(|ts| commit(&log, ts).unwrap());
    // Not closed, so that nothing but later batches says that the first one was synced.
    let directory = directory.power_cut();
    let name = &log_files(&directory)[0];
    overwrite(&directory, name, 4096, &[0; 4096]);
    let error = read(&directory, Replay::default()).unwrap_err();
    assert!(matches!(error, LogError::Corrupt { offset: 4096, .. }), "{error}");
}

/// Without a seal the last batch cannot be told from a torn one, except by the manifest.
#[test]
fn a_log_that_ends_before_a_commit_known_to_be_synced_is_reported() {
    let directory = MemoryDirectory::new("db");
    let log = open(&directory, stepped(LogOptions::default())).unwrap();
    (1..=3).for_each(|ts| commit(&log, ts).unwrap());
    let image = directory.power_cut();
    let name = &log_files(&image)[0];
    let (recovered, _) = read(&image, Replay::default()).unwrap();
    assert_eq!((recovered.last_ts, recovered.torn), (3, None));
    let third = image.read_all(name, 1 << 20).unwrap();
    let offset = third.rchunks(4096).position(|page| page.iter().any(|&byte| byte != 0)).unwrap();
    let offset = (third.len() - (offset + 1) * 4096) as u64;
    overwrite(&image, name, offset + 8, &[99]);

    let (recovered, found) = read(&image, Replay::default()).unwrap();
    assert_eq!(found, [1, 2]);
    assert_eq!(recovered.torn.unwrap().offset, offset);
    assert!(read(&image, Replay { after_ts: 1, need_ts: 2, ..Replay::default() }).is_ok());
    let error = read(&image, Replay { after_ts: 1, need_ts: 3, ..Replay::default() }).unwrap_err();
    assert!(matches!(error, LogError::EndsBefore { last_ts: 2, need_ts: 3, .. }), "{error}");
    assert!(error.to_string().contains("header crc"), "{error}");
}

/// What `log_end` says of the newest file: each of these used to open with fewer commits, without a word.
#[test]
fn a_newest_file_that_lost_its_head_its_end_or_its_name_is_reported() {
    for is_closed in [true, false] {
        let directory = MemoryDirectory::new("db");
        let log = open(&directory, stepped(small_files(Durability::Sync))).unwrap();
        (1..=7).for_each(|ts| commit(&log, ts).unwrap());
        if is_closed {
            log.close().unwrap();
        }
        let whole = directory.power_cut();
        let expected = timestamps(&whole);
        let name = log_files(&whole).pop().unwrap();
        let bytes = whole.read_all(&name, 1 << 20).unwrap();
        let written = bytes.iter().rposition(|&byte| byte != 0).unwrap().next_multiple_of(4096);
        let damaged = |what: &str, damage: &dyn Fn(&MemoryDirectory)| {
            let image = whole.power_cut();
            damage(&image);
            let error = read(&image, Replay::default()).expect_err(what);
            let is_named = match &error {
                LogError::Corrupt { file, .. } | LogError::Lost { missing: file, .. } => {
                    file.ends_with(&name)
                }
                _ => false,
            };
            assert!(is_named, "{what}, closed: {is_closed}: {error}");
            // Nor is it removed by who opens the log.
            assert!(open(&image, LogOptions::default()).is_err());
            assert_eq!(image.exists(&name).unwrap(), what != "removed");
        };
        damaged("removed", &|image| image.remove(&name).unwrap());
        for length in (0..bytes.len()).step_by(2048) {
            let cut = |image: &MemoryDirectory| {
                image.open(&name, OpenMode::ReadWrite).unwrap().set_len(length as u64).unwrap();
            };
            damaged(&format!("{length} bytes"), &cut);
        }
        for end in (4096..=bytes.len()).step_by(4096) {
            damaged(&format!("zeros up to {end}"), &|image| overwrite(image, &name, 0, &vec![0; end]));
        }
        for from in (4096..written).step_by(4096) {
            let zeros = vec![0; bytes.len() - from];
            if is_closed {
                let damage = |image: &MemoryDirectory| overwrite(image, &name, from as u64, &zeros);
                damaged(&format!("zeros from {from}"), &damage);
            }
        }
        assert_eq!(timestamps(&whole), expected);
    }
}

#[test]
fn a_missing_file_in_the_middle_is_named() {
    let directory = closed_log(40, small_files(Durability::Sync));
    let names = log_files(&directory);
    assert!(names.len() > 5);
    directory.remove(&names[2]).unwrap();
    let error = read(&directory, Replay::default()).unwrap_err();
    assert!(
        matches!(&error, LogError::Missing { missing, successor, .. }
            if missing.ends_with(&names[2]) && successor.ends_with(&names[3])),
        "{error}"
    );
    // Nobody misses it who has a checkpoint behind it.
    let (_, found) = read(&directory, Replay { after_ts: 39, need_ts: 40, ..Replay::default() }).unwrap();
    assert_eq!(found, [40]);
    let zeros = vec![0; directory.read_all(&names[4], 1 << 20).unwrap().len()];
    overwrite(&directory, &names[4], 0, &zeros);
    assert!(matches!(read(&directory, Replay::default()), Err(LogError::Missing { .. })), "a file of zeros");
}

#[test]
fn a_file_of_another_log_does_not_pass_for_the_next_one() {
    let directory = closed_log(40, small_files(Durability::Sync));
    let names = log_files(&directory);
    let other = directory.read_all(&names[1], 1 << 20).unwrap();
    directory.remove(&names[2]).unwrap();
    directory.write_all_new(&names[2], &other).unwrap();
    assert!(matches!(read(&directory, Replay::default()), Err(LogError::Corrupt { offset: 16, .. })));
}

/// Same salt, lengths and timestamps: only the chain of crcs between files tells the two apart.
#[test]
fn a_file_of_another_history_does_not_fit_its_successor() {
    let history = |bytes: u8| {
        let directory = MemoryDirectory::new("db");
        let log = open(&directory, stepped(small_files(Durability::Sync))).unwrap();
        for ts in 1..=3 {
            let payload = [bytes; 5000];
            let space = log.reserve(payload.len()).unwrap();
            log.append(space, ts, &payload, payload_crc(&payload));
            log.acknowledge(ts).unwrap();
        }
        directory
    };
    let (one, other) = (history(1), history(2));
    let name = file_name(1);
    let bytes = other.read_all(&name, 1 << 20).unwrap();
    overwrite(&one, &name, 0, &bytes);
    let error = recover(&one, Replay::default(), |_, _| Ok::<_, LogError>(())).unwrap_err();
    assert!(matches!(&error, LogError::Corrupt { file, .. } if file.ends_with(&name)), "{error}");
    assert!(error.to_string().contains("commit 1 with crc"), "{error}");
}

#[test]
fn an_empty_directory_and_a_file_of_zeros_are_an_empty_log() {
    let directory = MemoryDirectory::new("db");
    directory.write_all_new("manifest", b"none of ours").unwrap();
    let (recovered, found) = read(&directory, Replay::default()).unwrap();
    assert_eq!((recovered.last_ts, found.len()), (0, 0));
    let error = read(&directory, Replay { after_ts: 0, need_ts: 1, ..Replay::default() }).unwrap_err();
    assert!(error.to_string().contains("no log file"), "{error}");

    directory.write_all_new(&file_name(1), &[0; 8192]).unwrap();
    directory.write_all_new(&file_name(2), b"").unwrap();
    assert_eq!(timestamps(&directory), [0; 0]);
    let log = open(&directory, LogOptions::default()).unwrap();
    commit(&log, 1).unwrap();
    assert_eq!(timestamps(&directory.power_cut()), [1]);
    assert!(!directory.exists(&file_name(1)).unwrap() && !directory.exists(&file_name(2)).unwrap());
}
