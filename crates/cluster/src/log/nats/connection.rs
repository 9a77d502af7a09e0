//! Connection: to one server of NATS, with or without TLS, logged in and checked.
//!
//! The client reconnects by itself, and goes on with what it had begun. A log must know of every break, so a
//! connection that broke is not used again, however it goes on: what waits in it has an unknown outcome.

use crate::log::nats::api::{Answer, ApiError};
use crate::log::nats::nats_cluster::NatsCluster;
use crate::log::nats::options::{NatsLogin, NatsServer};
use crate::log::nats::replicas::check_version;
use crate::log::shared_log::LogError;
use crate::record::message::MESSAGE_BYTES_MAX;
use async_nats::{Client, ConnectOptions, Event, Message, Request, RequestErrorKind, ServerAddr, Subscriber};
use bytes::Bytes;
use evergraph_storage::sync::atomic::{AtomicBool, Ordering};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::sync::Arc;
use tokio::sync::watch;

/// What a server must take in one piece: a message, with room for headers.
const PAYLOAD_BYTES_MIN: usize = MESSAGE_BYTES_MAX + 4096;

/// A connection. What runs for it ends with the last clone.
#[derive(Clone)]
pub(super) struct Connection {
    client: Client,
    /// Set for good once a request failed in a way that others would share. Publishes nothing else, so Relaxed.
    is_abandoned: Arc<AtomicBool>,
    /// Whether it broke, at least once.
    is_broken: watch::Receiver<bool>,
}

/// Why a request has no answer that was asked for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum CallFailure {
    /// It went to nobody, and never will.
    NotTaken(String),
    /// The same, since nobody listens where it was sent: the stream has no leader at present. The connection is fine.
    NobodyListens(String),
    /// Nobody knows whether it was done.
    Unknown(String),
    /// A server refused.
    Refused(ApiError),
}

impl CallFailure {
    /// What went wrong, for people.
    pub(super) fn reason(&self) -> String {
        match self {
            Self::NotTaken(reason) | Self::NobodyListens(reason) | Self::Unknown(reason) => reason.clone(),
            Self::Refused(error) => format!("NATS says: {} (error {})", error.description, error.err_code),
        }
    }

    /// As the answer to anything but an append.
    pub(super) fn unavailable(&self) -> LogError {
        LogError::Unavailable { reason: self.reason() }
    }
}

impl Connection {
    /// Connects, logs in, and sees whether the server is new enough and takes messages of a log. It takes as long as the network
    /// does: the caller has a time limit.
    ///
    /// # Errors
    /// What went wrong, for people.
    pub(super) async fn open(cluster: &NatsCluster, server: &NatsServer) -> Result<Self, String> {
        let (broke, is_broken) = watch::channel(false);
        let on_event = move |event| {
            if matches!(event, Event::Disconnected | Event::Closed) {
                broke.send_replace(true);
            }
            std::future::ready(())
        };
        let mut options = ConnectOptions::new()
            .name("evergraph")
            .ignore_discovered_servers()
            .max_reconnects(1)
            .connection_timeout(cluster.connect_limit())
            .request_timeout(None)
            .event_callback(on_event);
        if let Some(config) = cluster.tls() {
            options = options.require_tls(server.is_tls()).tls_client_config((*config).clone());
        }
        options = match cluster.login().cloned() {
            None => options,
            Some(NatsLogin::Password { user, password }) => options.user_and_password(user, password),
            Some(NatsLogin::Token(token)) => options.token(token),
            Some(NatsLogin::Credentials(text)) => {
                options.credentials(&text).map_err(|error| format!("read the credentials: {error}"))?
            }
        };
        let address: ServerAddr = server.to_string().parse().map_err(|error| format!("{error}"))?;
        let client = options.connect(address).await.map_err(|error| format!("connect: {error}"))?;
        let info = client.server_info();
        check_version(&info.version).map_err(|why| format!("it {why}"))?;
        if info.max_payload < PAYLOAD_BYTES_MIN {
            let found = info.max_payload;
            return Err(format!(
                "it takes {found} bytes at once, and a log needs {PAYLOAD_BYTES_MIN}: raise `max_payload` in its configuration"
            ));
        }
        Ok(Self { client, is_abandoned: Arc::default(), is_broken })
    }

    /// Whether another connection is needed.
    pub(super) fn is_unusable(&self) -> bool {
        *self.is_broken.borrow() || self.is_abandoned.load(Ordering::Relaxed)
    }

    /// Says that the server failed: requests that are under way may still be answered, others go elsewhere.
    pub(super) fn abandon(&self) {
        self.is_abandoned.store(true, Ordering::Relaxed);
    }

    /// Whether two are clones.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.is_abandoned, &other.is_abandoned)
    }

    /// Waits until it breaks.
    pub(super) async fn broken(&self) {
        let mut is_broken = self.is_broken.clone();
        // The end of the client is a break as well.
        let _ = is_broken.wait_for(|is_broken| *is_broken).await;
    }

    /// Asks once. The caller waits no longer than it wants to.
    ///
    /// # Errors
    /// [`CallFailure`].
    pub(super) async fn ask(&self, subject: String, payload: Bytes) -> Result<Message, CallFailure> {
        if *self.is_broken.borrow() {
            return Err(CallFailure::NotTaken("the connection broke".to_owned()));
        }
        let request = Request::new().payload(payload).timeout(None);
        let error = tokio::select! {
            answer = self.client.send_request(subject, request) => match answer {
                Ok(message) => return Ok(message),
                Err(error) => error,
            },
            () = self.broken() => return Err(CallFailure::Unknown("the connection broke".to_owned())),
        };
        Err(match error.kind() {
            // The server says so itself: nobody has it.
            RequestErrorKind::NoResponders => {
                CallFailure::NobodyListens("no server leads the stream, or JetStream is off".to_owned())
            }
            RequestErrorKind::InvalidSubject | RequestErrorKind::MaxPayloadExceeded => {
                CallFailure::NotTaken(error.to_string())
            }
            _ => CallFailure::Unknown(error.to_string()),
        })
    }

    /// Asks JetStream's API.
    ///
    /// # Errors
    /// [`CallFailure`].
    pub(super) async fn call<Q, A>(&self, subject: String, question: Option<&Q>) -> Result<A, CallFailure>
    where
        Q: Serialize + Sync,
        A: DeserializeOwned,
    {
        let payload = question.map(serde_json::to_vec).transpose();
        let payload = payload.map_err(|error| CallFailure::NotTaken(error.to_string()))?;
        let answer = self.ask(subject, payload.unwrap_or_default().into()).await?;
        read(&answer.payload)
    }

    /// Sends what nobody answers to.
    ///
    /// # Errors
    /// What went wrong, for people.
    pub(super) async fn send(
        &self,
        subject: String,
        reply: Option<String>,
        payload: Bytes,
    ) -> Result<(), String> {
        let sent = match reply {
            Some(reply) => self.client.publish_with_reply(subject, reply, payload).await,
            None => self.client.publish(subject, payload).await,
        };
        sent.map_err(|error| error.to_string())
    }

    /// Hears what comes to a subject of its own, which is returned as well.
    ///
    /// # Errors
    /// What went wrong, for people.
    pub(super) async fn subscribe_inbox(&self) -> Result<(String, Subscriber), String> {
        let inbox = self.client.new_inbox();
        let subscriber = self.client.subscribe(inbox.clone()).await.map_err(|error| error.to_string())?;
        Ok((inbox, subscriber))
    }
}

/// Reads an answer of JetStream.
///
/// # Errors
/// What it refuses, or that it is none.
pub(super) fn read<A: DeserializeOwned>(answer: &[u8]) -> Result<A, CallFailure> {
    let read: Answer<A> = serde_json::from_slice(answer)
        .map_err(|error| CallFailure::Unknown(format!("read an answer of JetStream: {error}")))?;
    match (read.error, read.content) {
        (Some(error), _) => Err(CallFailure::Refused(error)),
        (None, Some(content)) => Ok(content),
        (None, None) => {
            Err(CallFailure::Unknown("an answer of JetStream lacks what was asked for".to_owned()))
        }
    }
}
