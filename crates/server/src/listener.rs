//! Listener: accepts connections within limits, and carries them until they are WebSockets.
//!
//! ```text
//! accept ── place? ──> TLS ──> HTTP ──> WebSocket          within one time limit up to here
//!             └── no: closed at once
//! ```
//!
//! A place is taken before the first byte is read, so that those that never send one are counted as well.

use crate::client::Client;
use crate::log::target;
use crate::security::audit::{AuditEvent, AuditLog, AuditRecord};
use crate::security::quota::{Quota, Quotas};
use crate::security::tls::Tls;
use axum::{Extension, Router};
use evergraph_storage::planted::{Bug, planted};
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio_rustls::TlsAcceptor;

/// How long nothing is accepted after the system refused.
const PAUSE: Duration = Duration::from_millis(50);
/// How often the logs say that connections are refused for want of room.
const FULL_INTERVAL: Duration = Duration::from_secs(1);

/// How connections are accepted.
pub(crate) struct Listener {
    pub(crate) tls: Option<Arc<Tls>>,
    pub(crate) audit: Arc<AuditLog>,
    pub(crate) connections_max: usize,
    /// Connections of an address that have not logged in; `None` if nobody does.
    pub(crate) strangers: Option<Arc<Quotas>>,
    pub(crate) handshake_time_max: Duration,
}

impl Listener {
    /// Accepts connections for as long as it is awaited.
    pub(crate) async fn accept(self, listener: TcpListener, router: Router) {
        let room = Arc::new(Semaphore::new(self.connections_max));
        let shared = Arc::new(self);
        let mut told_full: Option<Instant> = None;
        let mut told_failed: Option<Instant> = None;
        loop {
            let (stream, peer) = match listener.accept().await {
                Ok(accepted) => accepted,
                Err(error) => {
                    // Out of files, say.
                    if told_failed.is_none_or(|at| at.elapsed() >= FULL_INTERVAL) {
                        told_failed = Some(Instant::now());
                        tracing::error!(target: target::CONNECTION, "no connection can be accepted: {error}");
                    }
                    tokio::time::sleep(PAUSE).await;
                    continue;
                }
            };
            let place = Arc::clone(&room).try_acquire_owned().map_err(|_| "all places are taken");
            let strangers = shared.strangers.as_ref();
            let stranger =
                strangers.map(|all| all.take(&peer.ip().to_canonical().to_string(), Quota::Connections));
            let stranger =
                stranger.transpose().map_err(|_| "too many connections of this address have not logged in");
            match place.and_then(|place| Ok(Client::new(peer.ip(), place, stranger?))) {
                Ok(client) => {
                    drop(tokio::spawn(Arc::clone(&shared).carry(stream, peer, client, router.clone())))
                }
                Err(why) => {
                    if told_full.is_none_or(|at| at.elapsed() >= FULL_INTERVAL) {
                        told_full = Some(Instant::now());
                        shared.refuse(peer, why);
                    }
                }
            }
        }
    }

    /// Carries a connection until it is a WebSocket, which goes on elsewhere.
    async fn carry(self: Arc<Self>, stream: TcpStream, peer: SocketAddr, client: Client, router: Router) {
        // Small answers are not held back.
        let _ = stream.set_nodelay(true);
        let router = router.layer(Extension(Arc::new(client)));
        let carried = async {
            match &self.tls {
                None => serve(stream, router).await,
                Some(tls) => match TlsAcceptor::from(tls.config()).accept(stream).await {
                    Ok(stream) => serve(stream, router).await,
                    Err(error) => self.refuse(peer, &format!("the TLS handshake failed: {error}")),
                },
            }
        };
        let time = if planted(Bug::EndlessHandshakes) { Duration::MAX } else { self.handshake_time_max };
        if tokio::time::timeout(time, carried).await.is_err() {
            self.refuse(peer, "it did not become a WebSocket in time");
        }
    }

    fn refuse(&self, peer: SocketAddr, why: &str) {
        let record = AuditRecord::new(AuditEvent::Connection, "refused").address(peer.ip());
        self.audit.write(&record.detail(why));
        tracing::info!(target: target::CONNECTION, address = %peer.ip().to_canonical(), "a connection was refused: {why}");
    }
}

async fn serve<S: AsyncRead + AsyncWrite + Unpin + Send + 'static>(stream: S, router: Router) {
    let service = TowerToHyperService::new(router);
    let connection =
        http1::Builder::new().timer(TokioTimer::new()).serve_connection(TokioIo::new(stream), service);
    // What fails here is the client's: it is gone, or sent no HTTP.
    let _ = connection.with_upgrades().await;
}
