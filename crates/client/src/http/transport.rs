//! Transport: what carries HTTP: streams to the destination, which have limits of their own.

use crate::credentials::check_private;
use crate::destination::Destination;
use crate::stream::Stream;
use crate::wait_limit::WaitLimit;
use std::io::{self, Read, Write};
use std::sync::Arc;
use std::time::Duration;
use ureq::Timeout;
use ureq::config::Config;
use ureq::http::Uri;
use ureq::unversioned::resolver::{ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::{
    Buffers, ConnectionDetails, Connector, LazyBuffers, NextTimeout, Transport,
};

/// Bytes of buffers for input and output.
const BUFFER_BYTES: usize = 64 << 10;

/// Whether a request has a password in its head.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Secrecy {
    /// It has none.
    Public,
    /// It has one, which leaves the machine only by TLS.
    Secret,
}

/// Makes streams to the destination, whatever address it is given.
#[derive(Debug)]
pub(crate) struct StreamConnector {
    pub(crate) destination: Arc<Destination>,
    pub(crate) limit: WaitLimit,
    /// How long the server may send nothing while an answer is awaited, and read nothing of what is sent.
    pub(crate) silence_max: Duration,
    pub(crate) secrecy: Secrecy,
}

impl<In: Transport> Connector<In> for StreamConnector {
    type Out = StreamTransport;

    fn connect(&self, _: &ConnectionDetails<'_>, _: Option<In>) -> Result<Option<Self::Out>, ureq::Error> {
        let Destination { url, tls, options } = &*self.destination;
        let own = |error| ureq::Error::Other(Box::new(error));
        let connecting = self.limit.clone().within(options.connect_time_max);
        let mut stream = Stream::connect(url, tls.as_ref(), &connecting).map_err(own)?;
        if self.secrecy == Secrecy::Secret {
            check_private(url, stream.peer()).map_err(own)?;
        }
        stream.wait_within(&self.limit, self.silence_max);
        stream.limit_writes(self.silence_max);
        let buffers = LazyBuffers::new(BUFFER_BYTES, BUFFER_BYTES);
        let (limit, silence_max) = (self.limit.clone(), self.silence_max);
        Ok(Some(StreamTransport { stream, buffers, limit, silence_max }))
    }
}

/// Carries HTTP over a stream, which has limits of its own.
#[derive(Debug)]
pub(crate) struct StreamTransport {
    stream: Stream,
    buffers: LazyBuffers,
    limit: WaitLimit,
    silence_max: Duration,
}

impl Transport for StreamTransport {
    fn buffers(&mut self) -> &mut dyn Buffers {
        &mut self.buffers
    }

    fn transmit_output(&mut self, amount: usize, _: NextTimeout) -> Result<(), ureq::Error> {
        self.stream.write_all(&self.buffers.output()[..amount])?;
        Ok(self.stream.flush()?)
    }

    fn await_input(&mut self, timeout: NextTimeout) -> Result<bool, ureq::Error> {
        // A body is sent without the server's consent if that does not come.
        let awaits_consent = timeout.reason == Timeout::Await100;
        let silence_max = if awaits_consent { *timeout.after } else { self.silence_max };
        self.stream.wait_within(&self.limit, silence_max);
        match self.stream.read(self.buffers.input_append_buf()) {
            Ok(read) => {
                self.buffers.input_appended(read);
                Ok(read > 0)
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock && awaits_consent => {
                Err(ureq::Error::Timeout(Timeout::Await100))
            }
            Err(error) => Err(error.into()),
        }
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
pub(crate) struct Unresolved;

impl Resolver for Unresolved {
    fn resolve(&self, _: &Uri, _: &Config, _: NextTimeout) -> Result<ResolvedSocketAddrs, ureq::Error> {
        let mut addresses = self.empty();
        addresses.push(([0, 0, 0, 0], 0).into());
        Ok(addresses)
    }
}
