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

/// The same, while one of them does not sync.
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
    /// How many looks at the stream have begun.
    looks: u64,
    /// How many had begun when the stream was last found gone, another one, or unfit for a log; `None` once a later look has found it
    /// fit.
    stream_refused_at: Option<u64>,
    /// Whether its servers, when they were last asked, could not be trusted with a log.
    is_unsynced: bool,
}

impl Known {
    fn refuse_stream(&mut self) {
        self.stream_refused_at = Some(self.looks);
    }
}

/// A look at the stream, by its number.
#[derive(Clone, Copy)]
pub(super) struct StreamLook(u64);

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
        let known = self.known.lock();
        known.stream_refused_at.is_some() || known.is_unsynced
    }

    /// Begins a look at the stream. What it finds may be old by the time that it is known.
    pub(super) fn begin_look(&self) -> StreamLook {
        let mut known = self.known.lock();
        known.looks += 1;
        StreamLook(known.looks)
    }

    /// Refuses the stream, which is gone or unfit for a log. A connection that is open would append to it, or to the next one of its
    /// name, whoever makes that: nothing is appended before a look that begins later has found the log's own stream.
    pub(super) fn refuse_stream(&self) {
        self.known.lock().refuse_stream();
    }

    /// Whether the stream was there before.
    pub(super) fn is_known(&self) -> bool {
        self.known.lock().created.is_some()
    }

    /// Whether the stream, which is fit for a log, is the one that was there before. While it is another one, nothing is appended.
    ///
    /// # Errors
    /// When each was made.
    pub(super) fn check_identity(
        &self,
        look: StreamLook,
        info: &StreamInfo,
    ) -> std::result::Result<(), String> {
        let mut known = self.known.lock();
        let created = known.created.get_or_insert_with(|| info.created.clone());
        if *created == info.created {
            // Another look may have found out since that it is gone.
            known.stream_refused_at = known.stream_refused_at.filter(|looks| look.0 <= *looks);
            return Ok(());
        }
        let reason = format!(
            "the stream {} was made at {}, and the log is the one of {created}: start again if it was restored",
            self.stream, info.created
        );
        known.refuse_stream();
        Err(reason)
    }

    /// Whether those that have replicas sync every write. They are asked every 10 s, and sooner while one does not.
    ///
    /// # Errors
    /// Why the log is refused, and what to set.
    pub(super) async fn check_sync(&self, cluster: Option<&ClusterInfo>) -> std::result::Result<(), String> {
        let NatsSync::Monitored(monitors) = &self.sync else { return Ok(()) };
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
        known.is_unsynced = checked.is_err();
        checked
    }

    /// Whether servers are asked now.
    fn is_due(&self) -> bool {
        let known = self.known.lock();
        let every = if known.is_unsynced { REFUSAL_ASKED_EVERY } else { REPLICAS_ASKED_EVERY };
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
    use futures_util::future::{FutureExt as _, join};
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpListener;

    fn cluster(sync: NatsSync) -> NatsCluster {
        let servers = vec!["nats://127.0.0.1".parse().unwrap()];
        let time_limit = Duration::from_secs(60);
        NatsCluster::new(NatsOptions { time_limit, ..NatsOptions::new(servers, "log", sync) }).unwrap()
    }

    fn stream(created: &str) -> StreamInfo {
        let state = StreamState { first_seq: 0, last_seq: 0 };
        StreamInfo { created: created.to_owned(), config: new_stream("log"), state, cluster: None }
    }

    /// A look that finds the stream which was made at `created`.
    fn look(cluster: &NatsCluster, created: &str) -> std::result::Result<(), String> {
        cluster.check_identity(cluster.begin_look(), &stream(created))
    }

    #[test]
    fn nothing_is_appended_while_the_stream_is_gone_or_another_one() {
        let cluster = cluster(NatsSync::Asserted);
        assert!(!cluster.is_known() && !cluster.is_refused());
        assert_eq!(look(&cluster, "yesterday"), Ok(()));
        assert!(cluster.is_known() && !cluster.is_refused());
        let error = look(&cluster, "today").unwrap_err();
        assert!(error.contains("was made at today, and the log is the one of yesterday"), "{error}");
        assert!(cluster.is_refused());
        assert_eq!(cluster.check_sync(None).now_or_never(), Some(Ok(())), "nobody is asked");
        assert!(cluster.is_refused(), "that servers sync makes it no other stream");
        assert_eq!((look(&cluster, "yesterday"), cluster.is_refused()), (Ok(()), false), "it was put back");
        cluster.refuse_stream();
        assert!(cluster.is_refused() && look(&cluster, "today").is_err() && cluster.is_refused());
    }

    #[test]
    fn a_look_that_began_before_the_stream_was_gone_does_not_put_it_back() {
        let cluster = cluster(NatsSync::Asserted);
        look(&cluster, "yesterday").unwrap();
        let early = cluster.begin_look();
        cluster.refuse_stream();
        assert_eq!(cluster.check_identity(early, &stream("yesterday")), Ok(()), "so it was then");
        assert!(cluster.is_refused(), "it is gone since");
        look(&cluster, "yesterday").unwrap();
        assert!(!cluster.is_refused());
    }

    /// A check by the monitoring port of the only server, which says `sync_always`, and before that `meanwhile` happens.
    async fn check_sync(sync_always: bool, meanwhile: impl FnOnce(&NatsCluster)) -> (NatsCluster, bool) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let monitor = format!("http://{}", listener.local_addr().unwrap()).parse().unwrap();
        let cluster = cluster(NatsSync::Monitored(vec![monitor]));
        look(&cluster, "yesterday").unwrap();
        let members = ClusterInfo { leader: Some("m0".to_owned()), replicas: Vec::new() };
        let answer = async {
            let (mut socket, _) = listener.accept().await.unwrap();
            meanwhile(&cluster);
            // The request need not be read to its end: it is one write.
            let _ = socket.read(&mut [0; 1024]).await.unwrap();
            let body = format!(
                r#"{{"server_name":"m0","version":"2.12.0","jetstream":{{"config":{{"sync_always":{sync_always}}}}}}}"#
            );
            socket.write_all(format!("HTTP/1.0 200 OK\r\n\r\n{body}").as_bytes()).await.unwrap();
        };
        let (checked, ()) = join(cluster.check_sync(Some(&members)), answer).await;
        (cluster, checked.is_ok())
    }

    /// A check of servers that was under way when the stream was made anew took back that it is another one.
    #[tokio::test]
    async fn servers_that_sync_do_not_put_back_a_stream_that_was_made_anew_meanwhile() {
        let (cluster, syncs) = check_sync(true, |cluster| assert!(look(cluster, "today").is_err())).await;
        assert!(syncs && cluster.is_refused());
        look(&cluster, "yesterday").unwrap();
        assert!(!cluster.is_refused());
    }

    #[tokio::test]
    async fn the_right_stream_does_not_make_servers_sync() {
        let (cluster, syncs) = check_sync(false, |_| ()).await;
        assert!(!syncs && cluster.is_refused());
        look(&cluster, "yesterday").unwrap();
        assert!(cluster.is_refused());
    }
}
