//! Shared: what the network threads of a server share beside its core.

use crate::blocking::BlockingThreads;
use crate::connection::Connection;
use crate::exchange::Exchanges;
use crate::security::host_check::HostCheck;
use crate::security::tls::Tls;
use crate::server_core::ServerCore;
use crate::server_phase::ServerPhase;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;
use tokio::sync::{Semaphore, watch};

/// Files that are uploaded at once.
const UPLOADING_MAX: usize = 8;
/// Notices that are kept until somebody reads them.
const NOTICES_MAX: usize = 100;

/// What the network threads of a server share.
pub struct Shared {
    /// What requests need.
    pub core: Arc<ServerCore>,
    /// How far the server is on its way to its end.
    pub phase: watch::Receiver<ServerPhase>,
    /// Requests by HTTP.
    pub exchanges: Arc<Exchanges>,
    /// Names that the server goes by.
    pub hosts: HostCheck,
    /// Certificates; `None` without TLS.
    pub tls: Option<Arc<Tls>>,
    /// Room for the bodies of requests, in units of [`BODY_UNIT`](crate::http::body::BODY_UNIT).
    pub body_room: Arc<Semaphore>,
    /// Threads for requests that wait for disks or count for long.
    pub blocking: BlockingThreads,
    /// Places of files that are being uploaded.
    pub upload_room: Arc<Semaphore>,
    /// Places of connections that are free.
    room: Arc<Semaphore>,
    connections: Mutex<HashMap<usize, Arc<Connection>>>,
    notices: Mutex<Vec<String>>,
    /// When time limits of all connections were looked at last.
    swept: Mutex<Instant>,
}

impl Shared {
    /// Without connections.
    #[must_use]
    pub fn new(
        core: Arc<ServerCore>,
        phase: watch::Receiver<ServerPhase>,
        hosts: HostCheck,
        tls: Option<Arc<Tls>>,
        room: Arc<Semaphore>,
        body_units_max: usize,
    ) -> Self {
        Self {
            core,
            phase,
            exchanges: Arc::default(),
            hosts,
            tls,
            room,
            body_room: Arc::new(Semaphore::new(body_units_max)),
            blocking: BlockingThreads::default(),
            upload_room: Arc::new(Semaphore::new(UPLOADING_MAX)),
            connections: Mutex::default(),
            notices: Mutex::default(),
            swept: Mutex::new(Instant::now()),
        }
    }

    /// Notes that time limits of all connections were looked at.
    pub fn note_swept(&self) {
        *self.swept.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    /// When that was the last time.
    #[must_use]
    pub fn swept_at(&self) -> Instant {
        *self.swept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Connections that are open, by HTTP or on their way to become a WebSocket as well.
    #[must_use]
    pub fn connections_count(&self) -> usize {
        self.core.options.connections_max.saturating_sub(self.room.available_permits())
    }

    /// WebSockets that are open, by the address of each.
    pub fn connections(&self) -> MutexGuard<'_, HashMap<usize, Arc<Connection>>> {
        self.connections.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What whoever runs the server should know, since this was asked last.
    #[must_use]
    pub fn take_notices(&self) -> Vec<String> {
        std::mem::take(&mut *self.notices.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Tells whoever runs the server.
    pub fn notice(&self, text: String) {
        let mut notices = self.notices.lock().unwrap_or_else(PoisonError::into_inner);
        if notices.len() < NOTICES_MAX {
            notices.push(text);
        }
    }
}
