//! Clients of a log in memory: what has come for each, and what wakes it.

use crate::log::shared_log::{LogAnswer, LogError};
use crate::log_position::LogPosition;
use std::collections::{BTreeMap, VecDeque};
use std::task::Waker;

/// A client, by its number: never given twice.
pub(super) type ClientId = u64;

/// All clients that are connected.
#[derive(Debug, Default)]
pub(super) struct Clients {
    connected: BTreeMap<ClientId, Client>,
    count: u64,
}

#[derive(Debug)]
struct Client {
    answers: VecDeque<LogAnswer>,
    stream: Option<Stream>,
    /// Of a node that sleeps.
    waker: Option<Waker>,
}

/// What a client reads.
#[derive(Debug)]
pub(super) enum Stream {
    /// The next message is the first one from here on.
    At(LogPosition),
    /// It ends with this.
    Broken(LogError),
}

impl Client {
    /// Something has come for it.
    fn wake(&self) {
        if let Some(waker) = &self.waker {
            waker.wake_by_ref();
        }
    }
}

impl Clients {
    /// One more, which `waker` wakes.
    pub(super) fn connect(&mut self, waker: Option<Waker>) -> ClientId {
        self.count += 1;
        self.connected.insert(self.count, Client { answers: VecDeque::new(), stream: None, waker });
        self.count
    }

    /// It was dropped: nothing comes for it any more.
    pub(super) fn drop_client(&mut self, client: ClientId) {
        self.connected.remove(&client);
    }

    /// An answer has come.
    pub(super) fn answer(&mut self, client: ClientId, answer: LogAnswer) {
        if let Some(client) = self.connected.get_mut(&client) {
            client.answers.push_back(answer);
            client.wake();
        }
    }

    /// The next answer that has come.
    pub(super) fn take_answer(&mut self, client: ClientId) -> Option<LogAnswer> {
        self.connected.get_mut(&client)?.answers.pop_front()
    }

    /// What a client reads. It has none until this is put back.
    pub(super) fn take_stream(&mut self, client: ClientId) -> Option<Stream> {
        self.connected.get_mut(&client)?.stream.take()
    }

    /// A client reads this from now on.
    pub(super) fn set_stream(&mut self, client: ClientId, stream: Stream) {
        if let Some(client) = self.connected.get_mut(&client) {
            client.stream = Some(stream);
        }
    }

    /// Whether a client sleeps until it is woken.
    pub(super) fn sleeps(&self, client: ClientId) -> bool {
        self.connected.get(&client).is_some_and(|client| client.waker.is_some())
    }

    /// There is something for a client.
    pub(super) fn wake(&self, client: ClientId) {
        if let Some(client) = self.connected.get(&client) {
            client.wake();
        }
    }

    /// There is something for all.
    pub(super) fn wake_all(&self) {
        self.connected.values().for_each(Client::wake);
    }

    /// All streams break off with `error`, but those that have failed already: these say why.
    pub(super) fn cut(&mut self, error: &LogError) {
        for client in self.connected.values_mut() {
            if let Some(Stream::At(_)) = client.stream {
                client.stream = Some(Stream::Broken(error.clone()));
                client.wake();
            }
        }
    }
}
