//! Own append: what an append costs a client of the log's servers, without any cluster: messages of one size, at a given rate.

use crate::workload::cluster::running::log_servers::LogServers;
use evergraph_cluster::log::shared_log::{AppendId, LogAnswer, LogError, SharedLog as _};
use evergraph_cluster::log_position::LogPosition;
use evergraph_cluster::running::log_access::{AnyLog, LogAccess};
use evergraph_graph::error::{Error, ErrorKind, Result};
use std::collections::HashMap;
use std::sync::Arc;
use std::task::{Wake, Waker};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

/// The log's key: not that of any cluster.
const KEY: &str = "evergraph/bench-append";
/// Messages of one connection that are under way at once, as of a node.
const UNDER_WAY_MAX: usize = 32;
/// How long it may take until the log takes the first message.
const CONNECT_TIME: Duration = Duration::from_secs(20);
/// Of a request to the log: long enough that a slow append is measured, and does not end the part. Etcd has an eighth of it, 5 s, for
/// an append, which only a node sends again.
const TIME_LIMIT: Duration = Duration::from_secs(40);
/// The longest sleep.
const NAP: Duration = Duration::from_millis(5);

/// What is appended by one connection.
#[derive(Clone, Copy, Debug)]
pub struct AppendLoad {
    /// Bytes of a message.
    pub bytes: usize,
    /// Messages a second.
    pub rate: f64,
}

/// The thread that waits for news.
struct Sleeper(Thread);

impl Wake for Sleeper {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Appends for `time`, each load by a connection of its own. How long each append took, in seconds.
///
/// # Errors
/// `io` if an append fails.
pub fn measure(servers: &LogServers, loads: &[AppendLoad], time: Duration) -> Result<Vec<f64>> {
    let times = thread::scope(|scope| {
        let running: Vec<_> = loads
            .iter()
            .enumerate()
            .map(|(at, load)| {
                scope.spawn(move || append(&servers.access(at, Some(TIME_LIMIT))?, *load, time))
            })
            .collect();
        let joined =
            running.into_iter().map(|thread| thread.join().expect("a panic was printed by its thread"));
        joined.collect::<Result<Vec<_>>>()
    })?;
    Ok(times.concat())
}

fn append(access: &LogAccess, load: AppendLoad, time: Duration) -> Result<Vec<f64>> {
    let waker: Waker = Arc::new(Sleeper(thread::current())).into();
    let mut log = access.open(KEY.to_owned(), waker)?;
    let message: Arc<[u8]> = vec![0x5a; load.bytes.max(1)].into();
    let interval = Duration::from_secs_f64(1.0 / load.rate.max(1.0));
    let first = connect(&mut *log, &message).map_err(|error| failed(access, &error))?;
    let (mut times, mut sent, mut under_way) = (Vec::new(), 0_u64, HashMap::new());
    let began = Instant::now();
    loop {
        let now = began.elapsed();
        let is_over = now >= time && sent > 0;
        if is_over && under_way.is_empty() {
            return Ok(times);
        }
        let due = interval.mul_f64(sent as f64);
        if !is_over && due <= now && under_way.len() < UNDER_WAY_MAX {
            let id = AppendId(first.0 + sent);
            log.append(id, Arc::clone(&message));
            under_way.insert(id, Instant::now());
            sent += 1;
            continue;
        }
        while let Some((id, result)) = next_append(&mut *log) {
            result.map_err(|error| failed(access, &error))?;
            let begun = under_way.remove(&id).expect("each append is answered once");
            times.push(begun.elapsed().as_secs_f64());
        }
        let wait = if is_over || under_way.len() >= UNDER_WAY_MAX {
            NAP
        } else {
            due.saturating_sub(began.elapsed())
        };
        if !wait.is_zero() {
            thread::park_timeout(wait.min(NAP));
        }
    }
}

/// Appends until the log accepts a message, so that the connection (and on NATS the stream) exist before anything is measured.
/// Returns the id of the next append.
///
/// # Errors
/// What the log said last.
fn connect(log: &mut dyn AnyLog, message: &Arc<[u8]>) -> std::result::Result<AppendId, LogError> {
    let began = Instant::now();
    let mut number = 0;
    loop {
        log.append(AppendId(number), Arc::clone(message));
        number += 1;
        let (_, result) = loop {
            match next_append(log) {
                Some(answer) => break answer,
                None => thread::park_timeout(NAP),
            }
        };
        match result {
            Ok(_) => return Ok(AppendId(number)),
            Err(error) if began.elapsed() > CONNECT_TIME => return Err(error),
            Err(_) => thread::sleep(NAP),
        }
    }
}

fn next_append(log: &mut dyn AnyLog) -> Option<(AppendId, std::result::Result<LogPosition, LogError>)> {
    while let Some(answer) = log.next_answer() {
        if let LogAnswer::Append { id, result } = answer {
            return Some((id, result));
        }
    }
    None
}

fn failed(access: &LogAccess, error: &LogError) -> Error {
    Error::new(ErrorKind::Io, format!("append to {}: {error}", access.engine()))
}
