//! Response: the answer to a request, whose body is read as it comes.

use crate::destination::Destination;
use evergraph_graph::error::{Error, ErrorKind, Result};
use std::fmt;
use std::io::{self, Read};
use std::sync::Arc;
use ureq::{Body, BodyReader};

/// The answer to a request.
pub(crate) struct HttpResponse {
    destination: Arc<Destination>,
    /// The status.
    pub(crate) status: u16,
    body: Body,
}

/// A body that is read as it comes. It breaks off with an error if its connection does, or its limits end.
pub(crate) struct HttpReader {
    destination: Arc<Destination>,
    body: BodyReader<'static>,
}

impl HttpResponse {
    pub(crate) fn new(destination: Arc<Destination>, response: ureq::http::Response<Body>) -> Self {
        let status = response.status().as_u16();
        Self { destination, status, body: response.into_body() }
    }

    /// How long the body is, if the server said so.
    pub(crate) fn content_length(&self) -> Option<u64> {
        self.body.content_length()
    }

    /// The whole body, of at most `bytes_max` bytes.
    ///
    /// # Errors
    /// `limit` for a longer one; as [`HttpReader::fill`].
    pub(crate) fn bytes(mut self, bytes_max: u64) -> Result<Vec<u8>> {
        let read = self.body.with_config().limit(bytes_max).read_to_vec();
        read.map_err(|error| failed(&self.destination, error))
    }

    /// The body, to be read as it comes.
    pub(crate) fn reader(self) -> HttpReader {
        HttpReader { destination: self.destination, body: self.body.into_reader() }
    }
}

impl HttpReader {
    /// Reads some of what is left; 0 bytes at the end.
    ///
    /// # Errors
    /// `io` if the connection breaks off; `limit` and `cancelled` when the request's limits end.
    pub(crate) fn fill(&mut self, bytes: &mut [u8]) -> Result<usize> {
        self.body.read(bytes).map_err(|error| failed(&self.destination, ureq::Error::from(error)))
    }
}

impl fmt::Debug for HttpReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpReader").finish_non_exhaustive()
    }
}

/// `error` of a request to `destination`.
pub(crate) fn failed(destination: &Destination, error: ureq::Error) -> Error {
    let place = destination.url.authority();
    match error {
        ureq::Error::Other(cause) => match cause.downcast::<Error>() {
            Ok(own) => *own,
            Err(cause) => Error::new(ErrorKind::Io, format!("ask {place}: {cause}")),
        },
        ureq::Error::Io(error) if error.kind() == io::ErrorKind::WouldBlock => {
            Error::new(ErrorKind::Limit, format!("ask {place}: it sent and read nothing for too long"))
        }
        ureq::Error::Io(error) => crate::stream::failed(&destination.url, "ask", &error),
        ureq::Error::BodyExceedsLimit(bytes) => {
            Error::new(ErrorKind::Limit, format!("the answer of {place} has more than {bytes} bytes"))
        }
        // What begins TLS is none of HTTP.
        error @ ureq::Error::Protocol(_) if !destination.url.has_tls => {
            Error::new(ErrorKind::Io, format!("ask {place}: {error}; a server with TLS is at wss://"))
        }
        error => Error::new(ErrorKind::Io, format!("ask {place}: {error}")),
    }
}
