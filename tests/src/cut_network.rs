//! Cut network: proxies between processes on the loopback, which can be cut off from each other in one or both directions.
//!
//! ```text
//! process of a ──> proxy of b ──> process of b       bytes go through as they are, so TLS does not mind
//!                      │
//!                      └─ /proc: whose connection is it?
//! ```
//!
//! Everybody is given the port of the proxy in place of that of a party. Connections of processes that are no party are never cut.
//!
//! Tests of crates that this one depends on have no dependency on it, and include the file by its path.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

/// Somebody who is connected with others.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Party(pub usize);

/// What happens to bytes that go a way that is cut.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cut {
    /// They wait until it is healed: nobody hears anything, as if packets were lost.
    Silent,
    /// Connections end, and new ones do at once.
    Broken,
}

/// Proxies of parties. Clones are the same; the proxies end with the last of them that is no proxy's.
#[derive(Default)]
pub struct CutNetwork {
    shared: Arc<Shared>,
    proxies: Vec<u16>,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    /// A cut was healed.
    healed: Condvar,
}

#[derive(Default)]
struct State {
    is_over: bool,
    processes: BTreeMap<Party, u32>,
    /// From whom to whom.
    cuts: BTreeMap<(Party, Party), Cut>,
    connections: BTreeMap<u64, Connection>,
    next_connection: u64,
}

struct Connection {
    between: (Party, Party),
    streams: [TcpStream; 2],
}

impl CutNetwork {
    /// A port at which `party` is reached, which itself listens at `port`.
    ///
    /// # Panics
    /// If no port is free.
    pub fn proxy(&mut self, party: Party, port: u16) -> u16 {
        let listener = TcpListener::bind("127.0.0.1:0").expect("there is a free port");
        let at = listener.local_addr().expect("it is bound").port();
        let shared = Arc::clone(&self.shared);
        thread::spawn(move || {
            for accepted in listener.incoming() {
                if shared.state().is_over {
                    return;
                }
                let Ok(accepted) = accepted else { continue };
                // Its connection ends if the party does not listen, as if nothing were between.
                let _ = connect(&shared, accepted, at, party, port);
            }
        });
        self.proxies.push(at);
        at
    }

    /// The process of a party from now on.
    pub fn runs_as(&self, party: Party, process: u32) {
        self.shared.state().processes.insert(party, process);
    }

    /// Cuts the way from one party to another.
    pub fn cut(&self, from: Party, to: Party, cut: Cut) {
        let mut state = self.shared.state();
        state.cuts.insert((from, to), cut);
        if cut == Cut::Broken {
            let is_between = |between: (Party, Party)| between == (from, to) || between == (to, from);
            for connection in state.connections.values().filter(|connection| is_between(connection.between)) {
                connection.end();
            }
        }
    }

    /// Nothing is cut any more.
    pub fn heal(&self) {
        self.shared.state().cuts.clear();
        self.shared.healed.notify_all();
    }
}

impl Drop for CutNetwork {
    fn drop(&mut self) {
        self.shared.state().is_over = true;
        self.heal();
        for port in &self.proxies {
            // Wakes its thread, if that is there.
            let _ = TcpStream::connect(("127.0.0.1", *port));
        }
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits while the way is cut; `false` if it is broken.
    fn wait_for_way(&self, from: Party, to: Party) -> bool {
        let mut state = self.state();
        loop {
            match state.cuts.get(&(from, to)) {
                None => return true,
                Some(Cut::Broken) => return false,
                Some(Cut::Silent) => {
                    state = self.healed.wait(state).unwrap_or_else(PoisonError::into_inner);
                }
            }
        }
    }
}

impl State {
    fn is_broken(&self, one: Party, other: Party) -> bool {
        [(one, other), (other, one)].iter().any(|way| self.cuts.get(way) == Some(&Cut::Broken))
    }
}

impl Connection {
    fn end(&self) {
        for stream in &self.streams {
            // It may have ended.
            let _ = stream.shutdown(Shutdown::Both);
        }
    }
}

/// Carries bytes both ways between whoever connected to the proxy at port `at` and the party that listens at `port`.
fn connect(shared: &Arc<Shared>, accepted: TcpStream, at: u16, party: Party, port: u16) -> io::Result<()> {
    let processes = shared.state().processes.clone();
    let client = owner(&processes, accepted.peer_addr()?.port(), at);
    let target = TcpStream::connect(("127.0.0.1", port))?;
    for stream in [&accepted, &target] {
        stream.set_nodelay(true)?;
    }
    let streams = [accepted.try_clone()?, target.try_clone()?];
    let Some(client) = client else {
        // Nobody's way is cut: a party is not cut off from itself.
        carry_both(shared, (party, party), streams, None);
        return Ok(());
    };
    let number = {
        let mut state = shared.state();
        if state.is_broken(client, party) {
            return Ok(());
        }
        let number = state.next_connection;
        state.next_connection += 1;
        state
            .connections
            .insert(number, Connection { between: (client, party), streams: [accepted, target] });
        number
    };
    carry_both(shared, (client, party), streams, Some(number));
    Ok(())
}

fn carry_both(
    shared: &Arc<Shared>,
    (client, party): (Party, Party),
    [accepted, target]: [TcpStream; 2],
    number: Option<u64>,
) {
    let (Ok(back_from), Ok(back_to)) = (target.try_clone(), accepted.try_clone()) else { return };
    let there = Arc::clone(shared);
    thread::spawn(move || carry(&there, accepted, target, (client, party)));
    let back = Arc::clone(shared);
    thread::spawn(move || {
        carry(&back, back_from, back_to, (party, client));
        if let Some(number) = number {
            back.state().connections.remove(&number);
        }
    });
}

/// Carries bytes one way, until whoever sends them has ended or the way is broken.
fn carry(shared: &Shared, mut source: TcpStream, mut target: TcpStream, (from, to): (Party, Party)) {
    let mut bytes = vec![0; 64 << 10];
    loop {
        let read = source.read(&mut bytes).unwrap_or(0);
        if !shared.wait_for_way(from, to) || read == 0 || target.write_all(&bytes[..read]).is_err() {
            break;
        }
    }
    // What was read before has arrived. The other way ends as well: nobody here talks on with half a connection.
    for stream in [source, target] {
        let _ = stream.shutdown(Shutdown::Both);
    }
}

/// Which of the processes has connected from `port` to `proxy`.
fn owner(processes: &BTreeMap<Party, u32>, port: u16, proxy: u16) -> Option<Party> {
    let table = fs::read_to_string("/proc/net/tcp").ok()?;
    let ends_with = |address: &str, port: u16| address.ends_with(&format!(":{port:04X}"));
    let socket = table.lines().skip(1).find_map(|line| {
        // Number, local address, remote address, state, queues, timer, retransmits, user, timeout, inode.
        let fields: Vec<&str> = line.split_whitespace().collect();
        let is_it = ends_with(fields.get(1)?, port) && ends_with(fields.get(2)?, proxy);
        is_it.then(|| format!("socket:[{}]", fields.get(9).unwrap_or(&"")))
    })?;
    let has = |process: u32| -> Option<bool> {
        let mut files = fs::read_dir(format!("/proc/{process}/fd")).ok()?;
        Some(files.any(|file| {
            file.and_then(|file| fs::read_link(file.path())).is_ok_and(|target| target == Path::new(&socket))
        }))
    };
    processes.iter().find(|(_, process)| has(**process) == Some(true)).map(|(party, _)| *party)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test ends where something is missing")]

    use super::*;
    use std::time::Duration;

    const CLIENT: Party = Party(0);
    const SERVER: Party = Party(1);

    /// A port that sends back what it is sent.
    fn echo() -> u16 {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        thread::spawn(move || {
            for stream in listener.incoming() {
                thread::spawn(move || {
                    let (mut stream, mut byte) = (stream.unwrap(), [0]);
                    while stream.read_exact(&mut byte).is_ok() && stream.write_all(&byte).is_ok() {}
                });
            }
        });
        port
    }

    fn connect(port: u16) -> TcpStream {
        let stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
        stream.set_read_timeout(Some(Duration::from_millis(300))).unwrap();
        stream
    }

    /// Whether a byte comes; an error if the connection has ended.
    fn comes(stream: &mut TcpStream) -> io::Result<bool> {
        match stream.read(&mut [0]) {
            Ok(0) => Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(_) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(false),
            Err(error) => Err(error),
        }
    }

    #[test]
    fn bytes_wait_while_their_way_is_cut_and_arrive_when_it_is_healed() {
        let mut network = CutNetwork::default();
        let port = network.proxy(SERVER, echo());
        network.runs_as(CLIENT, std::process::id());
        let mut stream = connect(port);
        for way in [(CLIENT, SERVER), (SERVER, CLIENT)] {
            stream.write_all(&[1]).unwrap();
            assert!(comes(&mut stream).unwrap());
            network.cut(way.0, way.1, Cut::Silent);
            stream.write_all(&[2]).unwrap();
            assert!(!comes(&mut stream).unwrap(), "{way:?}");
            // A new connection is taken, and says nothing.
            let mut other = connect(port);
            other.write_all(&[3]).unwrap();
            assert!(!comes(&mut other).unwrap(), "{way:?}");
            network.heal();
            assert!(comes(&mut stream).unwrap() && comes(&mut other).unwrap(), "{way:?}");
        }
    }

    #[test]
    fn a_broken_way_ends_connections_of_these_two_alone() {
        let mut network = CutNetwork::default();
        let port = network.proxy(SERVER, echo());
        // Nobody's.
        let mut stranger = connect(port);
        stranger.write_all(&[1]).unwrap();
        assert!(comes(&mut stranger).unwrap());
        network.runs_as(CLIENT, std::process::id());
        let mut stream = connect(port);
        stream.write_all(&[1]).unwrap();
        assert!(comes(&mut stream).unwrap());
        network.cut(SERVER, CLIENT, Cut::Broken);
        assert!(comes(&mut stream).is_err());
        assert!(comes(&mut connect(port)).is_err());
        stranger.write_all(&[1]).unwrap();
        assert!(comes(&mut stranger).unwrap());
        network.heal();
        let mut again = connect(port);
        again.write_all(&[1]).unwrap();
        assert!(comes(&mut again).unwrap());
    }
}
