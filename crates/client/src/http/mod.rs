//! HTTP: requests over the same streams as WebSockets, so that the same certificates and limits hold.
//!
//! ```text
//! send ──> transport ──> Stream ──> server          each request has a connection of its own
//!   └──> response        status, and a body that is read as it comes
//! ```

pub(crate) mod response;
pub(crate) mod send;
pub(crate) mod transport;
