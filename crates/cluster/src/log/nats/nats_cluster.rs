//! Cluster: what every connection of a log shares: the servers, the stream, how to reach them, and whether they can keep a log.

use crate::log::nats::api::{ClusterInfo, ServerVariables, StreamInfo};
use crate::log::nats::monitor;
use crate::log::nats::options::{NatsLogin, NatsMonitor, NatsOptions, NatsServer, NatsSync};
use crate::log::nats::replicas::Replicas;
use crate::log::tls;
use evergraph_graph::error::Result;
use evergraph_storage::sync::Mutex;
use futures_util::future::join_all;
use rustls::ClientConfig;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, timeout};

/// How often servers are asked how they are set up.
const REPLICAS_ASKED_EVERY: Duration = Duration::from_secs(10);

/// The same, while the log is refused.
const REFUSAL_ASKED_EVERY: Duration = Duration::from_secs(1);

/// In how many parts a request's time is split for an attempt to connect.
const CONNECTS_PER_REQUEST: u32 = 4;

/// In how many parts a request's time is split for the answers of monitoring ports.
const MONITORS_PER_REQUEST: u32 = 6;

/// A cluster of NATS, as one log uses it.
///
/// # Concurrency
///
/// Connections, on any thread, read everything; what is known of servers is behind a lock that is held for a comparison.
pub(super) struct NatsCluster {
    servers: Vec<NatsServer>,
    stream: String,
    sync: NatsSync,
    tls: Option<Arc<ClientConfig>>,
    login: Option<NatsLogin>,
    time_limit: Duration,
    known: Mutex<Known>,
    /// Whoever asks servers how they are set up; others wait for the answers.
    asking: tokio::sync::Mutex<()>,
}

/// What the servers said so far.
#[derive(Default)]
struct Known {
    /// When the stream was made: one that was made at another time is another log.
    created: Option<String>,
    replicas: Replicas,
    /// When servers were asked how they are set up.
    asked_at: Option<Instant>,
    /// Monitoring ports that did not answer then.
    unreachable: Vec<String>,
    /// Whether they cannot be trusted with a log at present, or do not have this one.
    is_refused: bool,
}

impl NatsCluster {
    /// Reads the files that `options` name. Nobody is asked yet.
    ///
    /// # Errors
    /// `invalid`, `not_found` or `io`, by what is wrong with the options or their files.
    pub(super) fn new(options: NatsOptions) -> Result<Self> {
        options.check()?;
        let tls = options.tls.as_ref().map(|tls| tls::client_config(tls, None)).transpose()?;
        let NatsOptions { servers, stream, sync, login, time_limit, .. } = options;
        Ok(Self {
            servers,
            stream,
            sync,
            tls,
            login,
            time_limit,
            known: Mutex::default(),
            asking: tokio::sync::Mutex::default(),
        })
    }

    /// The stream, and the subject that it takes.
    pub(super) fn name(&self) -> &str {
        &self.stream
    }

    /// How to begin TLS; `None` without.
    pub(super) fn tls(&self) -> Option<Arc<ClientConfig>> {
        self.tls.clone()
    }

    /// Who logs in.
    pub(super) fn login(&self) -> Option<&NatsLogin> {
        self.login.as_ref()
    }

    /// The servers, the preferred one first.
    pub(super) fn servers(&self) -> &[NatsServer] {
        &self.servers
    }

    /// How long a request may take.
    pub(super) fn time_limit(&self) -> Duration {
        self.time_limit
    }

    /// How long a server may take to greet.
    pub(super) fn connect_limit(&self) -> Duration {
        self.time_limit / CONNECTS_PER_REQUEST
    }

    /// Whether servers are not to be trusted with a log at present, or do not have this one.
    pub(super) fn is_refused(&self) -> bool {
        self.known.lock().is_refused
    }

    /// The stream that was there before is gone. A connection that is open would append to the next one of its name, whoever
    /// makes that, so nothing is appended before the stream was looked at again.
    pub(super) fn stream_is_gone(&self) {
        self.known.lock().is_refused = true;
    }

    /// Whether the stream was there before.
    pub(super) fn is_known(&self) -> bool {
        self.known.lock().created.is_some()
    }

    /// Whether the stream is the one that was there before. While it is another one, nothing is appended.
    ///
    /// # Errors
    /// When each was made.
    pub(super) fn check_identity(&self, info: &StreamInfo) -> std::result::Result<(), String> {
        let mut known = self.known.lock();
        let created = known.created.get_or_insert_with(|| info.created.clone());
        if *created == info.created {
            return Ok(());
        }
        let reason = format!(
            "the stream {} was made at {}, and the log is the one of {created}: start again if it was restored",
            self.stream, info.created
        );
        known.is_refused = true;
        Err(reason)
    }

    /// Whether those that have replicas sync every write. They are asked every 10 s, and sooner while the log is refused.
    ///
    /// # Errors
    /// Why the log is refused, and what to set.
    pub(super) async fn check_sync(&self, cluster: Option<&ClusterInfo>) -> std::result::Result<(), String> {
        let NatsSync::Monitored(monitors) = &self.sync else {
            self.known.lock().is_refused = false;
            return Ok(());
        };
        let cluster = cluster.ok_or("the server belongs to no cluster, and a log needs three servers")?;
        let turn = self.asking.lock().await;
        if self.is_due() {
            let asked = monitors.iter().map(|monitor| self.ask_monitor(monitor));
            let answers = join_all(asked).await;
            let mut known = self.known.lock();
            known.unreachable.clear();
            known.asked_at = Some(Instant::now());
            for answer in answers {
                match answer {
                    Ok(variables) => known.replicas.learn(&variables),
                    Err(why) => known.unreachable.push(why),
                }
            }
        }
        drop(turn);
        let mut known = self.known.lock();
        let checked = known.replicas.check(cluster, &known.unreachable);
        known.is_refused = checked.is_err();
        checked
    }

    /// Whether servers are asked now.
    fn is_due(&self) -> bool {
        let known = self.known.lock();
        let every = if known.is_refused { REFUSAL_ASKED_EVERY } else { REPLICAS_ASKED_EVERY };
        known.asked_at.is_none_or(|asked_at| asked_at.elapsed() >= every)
    }

    async fn ask_monitor(&self, monitor: &NatsMonitor) -> std::result::Result<ServerVariables, String> {
        let limit = self.time_limit / MONITORS_PER_REQUEST;
        let answer = timeout(limit, monitor::variables(monitor, self.tls.as_ref())).await;
        answer.unwrap_or_else(|_| Err(format!("{monitor} did not answer within {limit:?}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::nats::api::StreamState;
    use crate::log::nats::stream_settings::new_stream;
    use futures_util::future::FutureExt as _;

    #[test]
    fn nothing_is_appended_while_the_stream_is_gone_or_another_one() {
        let servers = vec!["nats://127.0.0.1".parse().unwrap()];
        let cluster = NatsCluster::new(NatsOptions::new(servers, "log", NatsSync::Asserted)).unwrap();
        let check = |created: &str| {
            let state = StreamState { first_seq: 0, last_seq: 0 };
            let created = created.to_owned();
            cluster.check_identity(&StreamInfo {
                created,
                config: new_stream("log"),
                state,
                cluster: None,
            })?;
            cluster.check_sync(None).now_or_never().expect("nobody is asked")
        };
        assert!(!cluster.is_known() && !cluster.is_refused());
        assert_eq!(check("yesterday"), Ok(()));
        assert!(cluster.is_known() && !cluster.is_refused());
        let error = check("today").unwrap_err();
        assert!(error.contains("was made at today, and the log is the one of yesterday"), "{error}");
        assert!(cluster.is_refused());
        assert_eq!((check("yesterday"), cluster.is_refused()), (Ok(()), false), "it was put back");
        cluster.stream_is_gone();
        assert!(cluster.is_refused() && check("today").is_err() && cluster.is_refused());
    }
}
