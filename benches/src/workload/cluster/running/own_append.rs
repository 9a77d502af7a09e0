//! Own append: what an append costs a client of etcd, without any cluster: messages of one size, at a given rate.

use crate::workload::cluster::running::etcd_members::EtcdMembers;
use evergraph_cluster::log::etcd::etcd_log::EtcdLog;
use evergraph_cluster::log::etcd::options::EtcdOptions;
use evergraph_cluster::log::shared_log::{AppendId, LogAnswer, SharedLog as _};
use evergraph_graph::error::{Error, ErrorKind, Result};
use std::collections::HashMap;
use std::sync::Arc;
use std::task::{Wake, Waker};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

/// The key whose versions the messages are: not that of any cluster.
const KEY: &str = "evergraph/bench-append";
/// Messages of one connection that are under way at once, as of a node.
const UNDER_WAY_MAX: usize = 32;
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
pub fn measure(etcd: &EtcdMembers, loads: &[AppendLoad], time: Duration) -> Result<Vec<f64>> {
    let times = thread::scope(|scope| {
        let running: Vec<_> = loads
            .iter()
            .enumerate()
            .map(|(at, load)| {
                let urls = etcd.urls(at);
                scope.spawn(move || append(&urls, *load, time))
            })
            .collect();
        let joined =
            running.into_iter().map(|thread| thread.join().expect("a panic was printed by its thread"));
        joined.collect::<Result<Vec<_>>>()
    })?;
    Ok(times.concat())
}

fn append(urls: &[String], load: AppendLoad, time: Duration) -> Result<Vec<f64>> {
    let endpoints = urls.iter().map(|url| url.parse()).collect::<Result<Vec<_>>>()?;
    let waker: Waker = Arc::new(Sleeper(thread::current())).into();
    let mut log = EtcdLog::open(EtcdOptions::new(endpoints, KEY), waker)?;
    let message: Arc<[u8]> = vec![0x5a; load.bytes.max(1)].into();
    let interval = Duration::from_secs_f64(1.0 / load.rate.max(1.0));
    let (mut times, mut sent, mut under_way) = (Vec::new(), 0_u64, HashMap::new());
    let began = Instant::now();
    loop {
        let now = began.elapsed();
        // Two at least: the first makes the connection, and does not count.
        let is_over = now >= time && sent > 1;
        if is_over && under_way.is_empty() {
            return Ok(times);
        }
        let due = interval.mul_f64(sent as f64);
        if !is_over && due <= now && under_way.len() < UNDER_WAY_MAX {
            log.append(AppendId(sent), Arc::clone(&message));
            under_way.insert(sent, Instant::now());
            sent += 1;
            continue;
        }
        while let Some(answer) = log.next_answer() {
            let LogAnswer::Append { id, result } = answer else { continue };
            result.map_err(|error| Error::new(ErrorKind::Io, format!("append to etcd: {error}")))?;
            let begun = under_way.remove(&id.0).expect("each append is answered once");
            if id.0 > 0 {
                times.push(begun.elapsed().as_secs_f64());
            }
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
