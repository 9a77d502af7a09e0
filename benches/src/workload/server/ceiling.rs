//! Ceiling: a server that answers every message with the same bytes, on one thread. No server can be faster here than the
//! generator, the system's network and frames of WebSockets let this one be.

use crate::workload::server::contender::{Contender, Dialect};
use evergraph_graph::error::{Error, ErrorKind, Result};
use mio::unix::SourceFd;
use mio::{Events, Interest, Poll, Token, Waker};
use std::collections::HashMap;
use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsRawFd as _;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use tungstenite::{Bytes, Message, WebSocket};

/// Its name in results.
pub const CEILING: &str = "constant answers";

const LISTENER: Token = Token(usize::MAX);
const STOP: Token = Token(usize::MAX - 1);

/// A server of constant answers. It ends when this is dropped.
pub struct Ceiling {
    address: SocketAddr,
    waker: Arc<Waker>,
    thread: Option<JoinHandle<()>>,
}

impl Ceiling {
    /// Starts one that answers with `answer`, on a free port of this machine.
    ///
    /// # Errors
    /// `io` if the system refuses.
    pub fn start(answer: Bytes) -> Result<Self> {
        let failed = |error: io::Error| Error::new(ErrorKind::Io, format!("serve constant answers: {error}"));
        let listener = TcpListener::bind("127.0.0.1:0").map_err(failed)?;
        listener.set_nonblocking(true).map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let poll = Poll::new().map_err(failed)?;
        let descriptor = listener.as_raw_fd();
        poll.registry().register(&mut SourceFd(&descriptor), LISTENER, Interest::READABLE).map_err(failed)?;
        let waker = Arc::new(Waker::new(poll.registry(), STOP).map_err(failed)?);
        let mut serving = Serving { poll, listener, clients: HashMap::new(), answer };
        let thread = thread::Builder::new().name("ceiling".to_owned()).spawn(move || serving.run());
        Ok(Self { address, waker, thread: Some(thread.map_err(failed)?) })
    }

    /// As it is asked: with the same requests as ours.
    #[must_use]
    pub fn contender(&self) -> Contender {
        Contender::new(CEILING, self.address, Dialect::Bytecode { source: "g" })
    }
}

impl Drop for Ceiling {
    fn drop(&mut self) {
        if self.waker.wake().is_ok()
            && let Some(thread) = self.thread.take()
        {
            let _ = thread.join();
        }
    }
}

struct Serving {
    poll: Poll,
    listener: TcpListener,
    clients: HashMap<usize, WebSocket<TcpStream>>,
    answer: Bytes,
}

impl Serving {
    fn run(&mut self) {
        let mut events = Events::with_capacity(1024);
        let mut next = 0;
        loop {
            match self.poll.poll(&mut events, None) {
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return eprintln!("constant answers: {error}"),
            }
            for event in &events {
                match event.token() {
                    STOP => return,
                    LISTENER => {
                        while let Ok((stream, _)) = self.listener.accept() {
                            match self.enter(stream, next) {
                                Ok(()) => next += 1,
                                Err(error) => eprintln!("constant answers: {error}"),
                            }
                        }
                    }
                    Token(number) => self.answer(number),
                }
            }
        }
    }

    /// The generator connects one after the other, so the handshake may take the thread.
    fn enter(&mut self, stream: TcpStream, number: usize) -> io::Result<()> {
        stream.set_nonblocking(false)?;
        stream.set_nodelay(true)?;
        let socket = tungstenite::accept(stream).map_err(|error| io::Error::other(error.to_string()))?;
        socket.get_ref().set_nonblocking(true)?;
        let descriptor = socket.get_ref().as_raw_fd();
        self.poll.registry().register(&mut SourceFd(&descriptor), Token(number), Interest::READABLE)?;
        self.clients.insert(number, socket);
        Ok(())
    }

    /// Answers all that has arrived.
    fn answer(&mut self, number: usize) {
        let Some(socket) = self.clients.get_mut(&number) else { return };
        loop {
            let sent = match socket.read() {
                Ok(Message::Binary(_)) => socket.send(Message::Binary(self.answer.clone())),
                Ok(Message::Close(_)) => Err(tungstenite::Error::ConnectionClosed),
                Ok(_) => Ok(()),
                Err(tungstenite::Error::Io(error)) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(error) => Err(error),
            };
            if sent.is_err() {
                // The system forgets the descriptor with the connection.
                self.clients.remove(&number);
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_message_has_the_same_answer() {
        let ceiling = Ceiling::start(Bytes::from_static(b"answer")).unwrap();
        let url = format!("ws://{}/gremlin", ceiling.address);
        let mut clients = [(); 3].map(|()| tungstenite::connect(&url).unwrap().0);
        for client in &mut clients {
            for text in ["a", "b"] {
                client.send(Message::Binary(Bytes::from_static(text.as_bytes()))).unwrap();
                assert_eq!(client.read().unwrap(), Message::Binary(Bytes::from_static(b"answer")));
            }
        }
    }
}
