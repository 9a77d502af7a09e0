//! Generator: a closed loop of so many connections. Each sends a unit of requests, one after the other, waits for its
//! answer, and begins the next one.
//!
//! One thread serves all connections by the system's readiness (epoll), so that the server has the rest of the machine.
//! Requests are encoded before. Of answers to repeated requests only codes are read, since whole answers were compared
//! before; a source of others may read them whole, and count refusals.

use crate::plan::wrong;
use crate::workload::server::exchange::{ANSWER_TIME, Carrier, Exchange, Progress};
use evergraph_graph::error::{Error, ErrorKind, Result};
use mio::unix::SourceFd;
use mio::{Events, Interest, Poll, Token};
use std::net::SocketAddr;
use std::time::{Duration, Instant};
use tungstenite::Bytes;

/// Requests that are sent one after the other, and counted as one.
pub type Unit = Vec<Bytes>;

/// Where the units of a load come from, and what their answers mean.
pub trait Source {
    /// The next unit of a connection.
    ///
    /// # Errors
    /// Those of making a request.
    fn next(&mut self, connection: usize) -> Result<Unit>;

    /// Whether [`Source::judge`] is given whole answers.
    fn reads_answers(&self) -> bool {
        false
    }

    /// What the answer to a request of a connection means: its code, and its frames or its body if they are read.
    ///
    /// # Errors
    /// `corrupt` for one that ends the run.
    fn judge(&mut self, connection: usize, code: i32, answer: Vec<Bytes>) -> Result<Verdict>;
}

/// What an answer means.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// It was done.
    Accepted,
    /// It was not, since another transaction was in its way: the unit ends, and is counted as refused.
    Refused,
}

/// The same units again and again: connection c of n takes the units c, c + n, ..., and the first ones again at the end.
/// A refusal is an error.
pub struct Repeated<'a> {
    /// Whom.
    who: &'a str,
    units: &'a [Unit],
    connections: usize,
    /// The next unit of each connection.
    places: Vec<usize>,
}

impl<'a> Repeated<'a> {
    /// The units for so many connections.
    #[must_use]
    pub fn new(who: &'a str, units: &'a [Unit], connections: usize) -> Self {
        Self {
            who,
            units,
            connections,
            places: (0..connections).map(|number| number % units.len()).collect(),
        }
    }
}

impl Source for Repeated<'_> {
    fn next(&mut self, connection: usize) -> Result<Unit> {
        let place = &mut self.places[connection];
        let unit = self.units[*place].clone();
        *place = (*place + self.connections) % self.units.len();
        Ok(unit)
    }

    fn judge(&mut self, _connection: usize, code: i32, _answer: Vec<Bytes>) -> Result<Verdict> {
        match code {
            200..=204 => Ok(Verdict::Accepted),
            _ => Err(wrong(self.who, "the code of an answer", code, 200)),
        }
    }
}

/// Who is asked, by how many, for how long.
pub struct Load<'a> {
    /// Whom.
    pub who: &'a str,
    /// Where.
    pub address: SocketAddr,
    /// How.
    pub carrier: Carrier,
    /// Connections.
    pub connections: usize,
    /// How long it goes on before it counts.
    pub warm_up: Duration,
    /// How long it counts.
    pub time: Duration,
}

/// What a run gave.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Outcome {
    /// Units a second that were not refused.
    pub rate: f64,
    /// Half of these took at most this, seconds.
    pub p50: f64,
    /// 99 of 100 did.
    pub p99: f64,
    /// The share of units that were refused.
    pub refused: f64,
}

struct Client {
    exchange: Exchange,
    unit: Unit,
    /// The request of the unit that is not answered.
    request: usize,
    began: Instant,
    is_done: bool,
}

impl Load<'_> {
    /// Runs it.
    ///
    /// # Errors
    /// `io` if a connection is lost, `limit` if an answer takes too long or all units are refused; those of the source.
    pub fn run(&self, source: &mut impl Source) -> Result<Outcome> {
        let failed =
            |error: std::io::Error| Error::new(ErrorKind::Io, format!("wait for {}: {error}", self.who));
        let mut poll = Poll::new().map_err(failed)?;
        let mut clients = Vec::with_capacity(self.connections);
        for number in 0..self.connections {
            let mut exchange = Exchange::connect(self.address, self.carrier)?;
            exchange.waits(false)?;
            exchange.keeps(source.reads_answers());
            let (descriptor, token) = (exchange.descriptor(), Token(number));
            let registry = poll.registry();
            registry.register(&mut SourceFd(&descriptor), token, Interest::READABLE).map_err(failed)?;
            let unit = source.next(number)?;
            clients.push(Client { exchange, unit, request: 0, began: Instant::now(), is_done: false });
        }
        let start = Instant::now();
        let (counts_from, end) = (start + self.warm_up, start + self.warm_up + self.time);
        for client in &mut clients {
            client.began = Instant::now();
            client.exchange.send(&client.unit[0])?;
        }
        let (mut times, mut refused, mut counted_time) = (Vec::new(), 0_usize, self.time);
        let (mut running, mut events) = (clients.len(), Events::with_capacity(1024));
        while running > 0 {
            poll.poll(&mut events, Some(ANSWER_TIME)).map_err(failed)?;
            if events.is_empty() {
                let text = format!("{} did not answer {running} requests in time", self.who);
                return Err(Error::new(ErrorKind::Limit, text));
            }
            for event in &events {
                let number = event.token().0;
                let client = &mut clients[number];
                // Readiness is told once: all that is there is read.
                while !client.is_done {
                    let Progress::Answered(code) = client.exchange.receive()? else { break };
                    let verdict = source.judge(number, code, client.exchange.take_kept())?;
                    client.request += 1;
                    if client.request == client.unit.len() || verdict == Verdict::Refused {
                        let now = Instant::now();
                        // One at least: of a slow server the run is as long as its first answer.
                        if now >= counts_from && (now < end || times.is_empty()) {
                            match verdict {
                                Verdict::Accepted => times.push(now - client.began),
                                Verdict::Refused => refused += 1,
                            }
                            counted_time = counted_time.max(now - counts_from);
                        }
                        if now >= end {
                            client.is_done = true;
                            running -= 1;
                            break;
                        }
                        client.unit = source.next(number)?;
                        client.request = 0;
                        client.began = now;
                    }
                    client.exchange.send(&client.unit[client.request])?;
                }
            }
        }
        if times.is_empty() {
            let text = format!("{} refused all {refused} units of a run", self.who);
            return Err(Error::new(ErrorKind::Limit, text));
        }
        let share = refused as f64 / (refused + times.len()) as f64;
        Ok(Outcome { refused: share, ..Outcome::of(&mut times, counted_time) })
    }
}

impl Outcome {
    /// Of the times of single units, at least one, that ended within `time`; none was refused.
    #[must_use]
    pub fn of(times: &mut [Duration], time: Duration) -> Self {
        times.sort_unstable();
        let at = |percent: usize| times[(times.len() * percent / 100).min(times.len() - 1)].as_secs_f64();
        Self { rate: times.len() as f64 / time.as_secs_f64(), p50: at(50), p99: at(99), refused: 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_of_sorted_times() {
        let mut times: Vec<Duration> = (1..=100).rev().map(Duration::from_millis).collect();
        let outcome = Outcome::of(&mut times, Duration::from_secs(2));
        assert_eq!(outcome, Outcome { rate: 50.0, p50: 0.051, p99: 0.1, refused: 0.0 });
        assert_eq!(Outcome::of(&mut times[..1], Duration::from_secs(1)).p99, 0.001);
    }

    /// Requests that are never sent twice; each second answer of a connection is a refusal.
    struct Fresh {
        sent: usize,
        answers: Vec<usize>,
    }

    impl Source for Fresh {
        fn next(&mut self, _connection: usize) -> Result<Unit> {
            self.sent += 1;
            let body = format!("number {}", self.sent);
            Ok(vec![Bytes::from(format!("POST / HTTP/1.1\r\nContent-Length: {}\r\n\r\n{body}", body.len()))])
        }

        fn reads_answers(&self) -> bool {
            true
        }

        fn judge(&mut self, _connection: usize, code: i32, answer: Vec<Bytes>) -> Result<Verdict> {
            let [body] = answer.as_slice() else { panic!("one body: {answer:?}") };
            let number = std::str::from_utf8(body).unwrap().strip_prefix("number ").unwrap().parse().unwrap();
            self.answers.push(number);
            assert_eq!(code, if number % 2 == 0 { 409 } else { 200 });
            Ok(if code == 409 { Verdict::Refused } else { Verdict::Accepted })
        }
    }

    #[test]
    fn refused_units_are_counted_apart_and_no_unit_is_sent_twice() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let echo = |mut stream: std::net::TcpStream| {
            use std::io::{Read as _, Write as _};
            let mut bytes = [0; 1024];
            while let Ok(read @ 1..) = stream.read(&mut bytes) {
                let text = String::from_utf8_lossy(&bytes[..read]).into_owned();
                let body = text.split("\r\n\r\n").nth(1).unwrap().to_owned();
                let status = if body.ends_with(['0', '2', '4', '6', '8']) { 409 } else { 200 };
                let answer = format!("HTTP/1.1 {status} X\r\nContent-Length: {}\r\n\r\n{body}", body.len());
                stream.write_all(answer.as_bytes()).unwrap();
            }
        };
        std::thread::spawn(move || {
            listener.incoming().for_each(|stream| drop(std::thread::spawn(move || echo(stream.unwrap()))));
        });
        let load = Load {
            who: "echo",
            address,
            carrier: Carrier::Http,
            connections: 2,
            warm_up: Duration::ZERO,
            time: Duration::from_millis(50),
        };
        let mut source = Fresh { sent: 0, answers: Vec::new() };
        let outcome = load.run(&mut source).unwrap();
        source.answers.sort_unstable();
        assert_eq!(source.answers, (1..=source.sent).collect::<Vec<_>>());
        assert!((0.4..0.6).contains(&outcome.refused) && outcome.rate > 0.0, "{outcome:?}");
    }
}
