//! Protocol: the messages of Gremlin Server, as TinkerPop 3.8 defines them, between bytes and data. It does no input
//! or output.
//!
//! ```text
//! client                                                                server
//! Request ──to_message──> MIME type, body ──WebSocket──> read_message ──> Request
//! Response <──read── body <──WebSocket── frames <──FrameEncoder── items, their bulk, an ElementReader
//! ```
//!
//! | | GraphBinary 1.0 | GraphSON 3 |
//! |---|---|---|
//! | requests | [`request::read`], [`request::write`] | the same |
//! | responses | [`response::frame`], [`response::read`] | the same |
//! | bytecode | [`graph_binary::bytecode_read`], [`graph_binary::argument_write`] | [`graphson::bytecode_read`], [`graphson::argument_write`] |
//!
//! Everything that is read may be hostile: lengths are compared with the bytes that are left, depth and the number of
//! values are limited, and every error names its byte, its argument or its instruction.
//!
//! ```
//! use evergraph_protocol::format::Format;
//! use evergraph_protocol::request::read::RequestLimits;
//! use evergraph_protocol::request::operation::{Operation, Request};
//!
//! let body = br#"{"requestId": "41d2e28a-20a4-4ab0-b379-d810dede3786", "op": "eval", "processor": "",
//!     "args": {"gremlin": "g.V().count()", "batchSize": 0}}"#;
//! let error = Request::read(Format::GraphSon, body, &RequestLimits::default()).unwrap_err();
//! assert_eq!(error.status.code(), 499);
//! assert_eq!(error.message, "the argument `batchSize`: an integer of at least 1 expected, found `0`");
//!
//! let body = br#"{"requestId": "41d2e28a-20a4-4ab0-b379-d810dede3786", "op": "eval", "processor": "",
//!     "args": {"gremlin": "g.V().count()"}}"#;
//! let request = Request::read(Format::GraphSon, body, &RequestLimits::default())?;
//! assert!(matches!(request.operation, Operation::Eval { gremlin, .. } if &*gremlin == "g.V().count()"));
//! # Ok::<(), evergraph_protocol::request::error::RequestError>(())
//! ```

pub mod error;
pub mod format;
pub mod graph_binary;
pub mod graphson;
pub mod request;
pub mod response;
pub mod result;
#[cfg(test)]
mod strategy;
