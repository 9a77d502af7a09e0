//! Generator: a closed loop of so many connections. Each sends a unit of requests, one after the other, waits for its
//! answer, and begins the next one.
//!
//! One thread serves all connections by the system's readiness (epoll), so that the server has the rest of the machine.
//! Requests are encoded before; of answers only codes are read, since whole answers were compared before.

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

/// What is asked, of whom, how often.
pub struct Load<'a> {
    /// Whom.
    pub who: &'a str,
    /// Where.
    pub address: SocketAddr,
    /// How.
    pub carrier: Carrier,
    /// What. Connection c of n takes the units c, c + n, ..., and the first ones again at the end.
    pub units: &'a [Unit],
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
    /// Units a second.
    pub rate: f64,
    /// Half of all units took at most this, seconds.
    pub p50: f64,
    /// 99 of 100 did.
    pub p99: f64,
}

struct Client {
    exchange: Exchange,
    /// Its place in `units`.
    unit: usize,
    /// The request of the unit that is not answered.
    request: usize,
    began: Instant,
    is_done: bool,
}

impl Load<'_> {
    /// Runs it.
    ///
    /// # Errors
    /// `io` if a connection is lost, `corrupt` for an answer that is an error, `limit` if one takes too long.
    pub fn run(&self) -> Result<Outcome> {
        let failed =
            |error: std::io::Error| Error::new(ErrorKind::Io, format!("wait for {}: {error}", self.who));
        let mut poll = Poll::new().map_err(failed)?;
        let mut clients = Vec::with_capacity(self.connections);
        for number in 0..self.connections {
            let exchange = Exchange::connect(self.address, self.carrier)?;
            exchange.waits(false)?;
            let (source, token) = (exchange.descriptor(), Token(number));
            poll.registry().register(&mut SourceFd(&source), token, Interest::READABLE).map_err(failed)?;
            let unit = number % self.units.len();
            clients.push(Client { exchange, unit, request: 0, began: Instant::now(), is_done: false });
        }
        let start = Instant::now();
        let (counts_from, end) = (start + self.warm_up, start + self.warm_up + self.time);
        for client in &mut clients {
            client.began = Instant::now();
            client.exchange.send(&self.units[client.unit][0])?;
        }
        let (mut times, mut counted_time) = (Vec::new(), self.time);
        let (mut running, mut events) = (clients.len(), Events::with_capacity(1024));
        while running > 0 {
            poll.poll(&mut events, Some(ANSWER_TIME)).map_err(failed)?;
            if events.is_empty() {
                let text = format!("{} did not answer {running} requests in time", self.who);
                return Err(Error::new(ErrorKind::Limit, text));
            }
            for event in &events {
                let client = &mut clients[event.token().0];
                // Readiness is told once: all that is there is read.
                while !client.is_done {
                    let Progress::Answered(code) = client.exchange.receive()? else { break };
                    if !matches!(code, 200..=204) {
                        return Err(wrong(self.who, "the code of an answer", code, 200));
                    }
                    client.request += 1;
                    if client.request == self.units[client.unit].len() {
                        let now = Instant::now();
                        // One at least: of a slow server the run is as long as its first answer.
                        if now >= counts_from && (now < end || times.is_empty()) {
                            times.push(now - client.began);
                            counted_time = counted_time.max(now - counts_from);
                        }
                        if now >= end {
                            client.is_done = true;
                            running -= 1;
                            break;
                        }
                        client.unit = (client.unit + self.connections) % self.units.len();
                        client.request = 0;
                        client.began = now;
                    }
                    client.exchange.send(&self.units[client.unit][client.request])?;
                }
            }
        }
        Ok(Outcome::of(&mut times, counted_time))
    }
}

impl Outcome {
    /// Of the times of single units, at least one, that ended within `time`.
    #[must_use]
    pub fn of(times: &mut [Duration], time: Duration) -> Self {
        times.sort_unstable();
        let at = |percent: usize| times[(times.len() * percent / 100).min(times.len() - 1)].as_secs_f64();
        Self { rate: times.len() as f64 / time.as_secs_f64(), p50: at(50), p99: at(99) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_of_sorted_times() {
        let mut times: Vec<Duration> = (1..=100).rev().map(Duration::from_millis).collect();
        let outcome = Outcome::of(&mut times, Duration::from_secs(2));
        assert_eq!(outcome, Outcome { rate: 50.0, p50: 0.051, p99: 0.1 });
        assert_eq!(Outcome::of(&mut times[..1], Duration::from_secs(1)).p99, 0.001);
    }
}
