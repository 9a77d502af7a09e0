//! What the tests of the log share: small log files, payloads that tell their commit, recovery.

use std::sync::Arc;

use evergraph_storage::io::directory::Directory;
use evergraph_storage::io::environment::Background;
use evergraph_storage::io::random::{Random, SplitMix64};
use evergraph_storage::log::error::LogError;
use evergraph_storage::log::frame::payload_crc;
use evergraph_storage::log::options::{Durability, LogOptions};
use evergraph_storage::log::recovery::{Recovered, Replay, recover};
use evergraph_storage::log::writer::Log;

/// Log files of a few pages, so that every trace goes over to new ones.
pub fn small_files(durability: Durability) -> LogOptions {
    LogOptions { durability, first_file_bytes: 3 * 4096, log_file_bytes: 6 * 4096, ..LogOptions::default() }
}

/// Nothing goes on beside the caller: a planned failure meets what the test does next.
pub fn stepped(options: LogOptions) -> LogOptions {
    LogOptions { background: Background::Stepped, ..options }
}

/// What commit `ts` writes: its length and bytes follow from `ts`.
pub fn payload(ts: u64) -> Vec<u8> {
    let mut random = SplitMix64::new(ts);
    let length = match random.next_u64() % 4 {
        0 => 0,
        1 => random.next_u64() % 30,
        2 => random.next_u64() % 700,
        _ => random.next_u64() % 6000,
    };
    let mut bytes = vec![0; length as usize];
    random.fill(&mut bytes);
    bytes
}

pub fn open(directory: &dyn CloneDirectory, options: LogOptions) -> Result<Log, LogError> {
    let (recovered, _) = read(&*directory.shared(), Replay::default())?;
    Log::open(directory.shared(), recovered, options, Box::new(SplitMix64::new(1)))
}

/// Appends commit `ts`; not yet acknowledged.
pub fn append(log: &Log, ts: u64) -> Result<(), LogError> {
    let payload = payload(ts);
    let crc = payload_crc(&payload);
    let space = log.reserve(payload.len())?;
    log.append(space, ts, &payload, crc);
    Ok(())
}

pub fn commit(log: &Log, ts: u64) -> Result<(), LogError> {
    append(log, ts)?;
    log.acknowledge(ts)
}

/// Recovers, checks every payload, and gives the timestamps in order.
pub fn read(directory: &dyn Directory, replay: Replay) -> Result<(Recovered, Vec<u64>), LogError> {
    let mut found = Vec::new();
    let recovered = recover(directory, replay, |ts, bytes| {
        assert!(bytes == payload(ts), "the payload of commit {ts}");
        found.push(ts);
        Ok::<_, LogError>(())
    })?;
    assert_eq!(recovered.frames_count, found.len() as u64);
    Ok((recovered, found))
}

pub fn timestamps(directory: &dyn Directory) -> Vec<u64> {
    read(directory, Replay::default()).unwrap().1
}

/// The names of the log files, oldest first.
pub fn log_files(directory: &dyn Directory) -> Vec<String> {
    directory.list().unwrap().into_iter().filter(|name| name.starts_with("log-")).collect()
}

/// A directory of which a test keeps a handle.
pub trait CloneDirectory {
    fn shared(&self) -> Arc<dyn Directory>;
}

impl<D: Directory + Clone + 'static> CloneDirectory for D {
    fn shared(&self) -> Arc<dyn Directory> {
        Arc::new(self.clone())
    }
}
