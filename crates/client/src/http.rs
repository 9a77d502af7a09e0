//! HTTP: requests over the same streams as WebSockets, so that the same certificates and limits hold.

use crate::connection::Destination;
use crate::query::USER_AGENT;
use crate::stream::Stream;
use crate::wait_limit::WaitLimit;
use evergraph_graph::error::{Error, ErrorKind, Result};
use std::io::{Read, Write};
use std::sync::Arc;
use std::time::Duration;
use ureq::Agent;
use ureq::config::Config;
use ureq::http::Uri;
use ureq::unversioned::resolver::{ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::{
    Buffers, ConnectionDetails, Connector, LazyBuffers, NextTimeout, Transport,
};

/// Bytes of buffers for input and output.
const BUFFER_BYTES: usize = 16 << 10;

/// The answer to a request.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct HttpAnswer {
    pub(crate) status: u16,
    pub(crate) body: Vec<u8>,
}

/// Asks for `path`; an answer of any status is no error. At most `body_bytes_max` bytes of a body are read.
///
/// # Errors
/// `io` if there is no server, or none of HTTP; `limit` for a larger body, or when the time of `limit` is over; `cancelled`.
pub(crate) fn get(
    destination: &Arc<Destination>,
    path: &str,
    limit: &WaitLimit,
    body_bytes_max: u64,
) -> Result<HttpAnswer> {
    let url = &destination.url;
    let scheme = if url.has_tls { "https" } else { "http" };
    let config = Config::builder()
        .http_status_as_error(false)
        .max_redirects(0)
        .proxy(None)
        .user_agent(USER_AGENT)
        .build();
    let connector = StreamConnector { destination: Arc::clone(destination), limit: limit.clone() };
    let agent = Agent::with_parts(config, connector, Unresolved);
    let failed = |error: ureq::Error| failed(destination, error);
    let mut response = agent.get(format!("{scheme}://{}{path}", url.authority())).call().map_err(failed)?;
    let status = response.status().as_u16();
    let body = response.body_mut().with_config().limit(body_bytes_max).read_to_vec().map_err(failed)?;
    Ok(HttpAnswer { status, body })
}

fn failed(destination: &Destination, error: ureq::Error) -> Error {
    let place = destination.url.authority();
    match error {
        ureq::Error::Other(cause) => match cause.downcast::<Error>() {
            Ok(own) => *own,
            Err(cause) => Error::new(ErrorKind::Io, format!("ask {place}: {cause}")),
        },
        ureq::Error::Io(error) => crate::stream::failed(&destination.url, "ask", &error),
        ureq::Error::BodyExceedsLimit(bytes) => {
            Error::new(ErrorKind::Limit, format!("the answer of {place} has more than {bytes} bytes"))
        }
        error => Error::new(ErrorKind::Io, format!("ask {place}: {error}")),
    }
}

/// Makes streams to the destination, whatever address it is given.
#[derive(Debug)]
struct StreamConnector {
    destination: Arc<Destination>,
    limit: WaitLimit,
}

impl<In: Transport> Connector<In> for StreamConnector {
    type Out = StreamTransport;

    fn connect(
        &self,
        _: &ConnectionDetails<'_>,
        _: Option<In>,
    ) -> std::result::Result<Option<Self::Out>, ureq::Error> {
        let Destination { url, tls, .. } = &*self.destination;
        let mut stream = Stream::connect(url, tls.as_ref(), &self.limit)
            .map_err(|error| ureq::Error::Other(Box::new(error)))?;
        stream.wait_within(&self.limit, Duration::MAX);
        let buffers = LazyBuffers::new(BUFFER_BYTES, BUFFER_BYTES);
        Ok(Some(StreamTransport { stream, buffers }))
    }
}

/// Carries HTTP over a stream, which has limits of its own.
#[derive(Debug)]
struct StreamTransport {
    stream: Stream,
    buffers: LazyBuffers,
}

impl Transport for StreamTransport {
    fn buffers(&mut self) -> &mut dyn Buffers {
        &mut self.buffers
    }

    fn transmit_output(&mut self, amount: usize, _: NextTimeout) -> std::result::Result<(), ureq::Error> {
        self.stream.write_all(&self.buffers.output()[..amount])?;
        Ok(self.stream.flush()?)
    }

    fn await_input(&mut self, _: NextTimeout) -> std::result::Result<bool, ureq::Error> {
        let read = self.stream.read(self.buffers.input_append_buf())?;
        self.buffers.input_appended(read);
        Ok(read > 0)
    }

    fn is_open(&mut self) -> bool {
        // Each request has a connection of its own.
        false
    }

    fn is_tls(&self) -> bool {
        matches!(self.stream, Stream::Tls(_))
    }
}

/// Leaves the look-up of names to the connector.
#[derive(Debug)]
struct Unresolved;

impl Resolver for Unresolved {
    fn resolve(
        &self,
        _: &Uri,
        _: &Config,
        _: NextTimeout,
    ) -> std::result::Result<ResolvedSocketAddrs, ureq::Error> {
        let mut addresses = self.empty();
        addresses.push(([0, 0, 0, 0], 0).into());
        Ok(addresses)
    }
}
