//! HTTP: requests that are not WebSockets, and the way to become one.
//!
//! ```text
//! router ──┬─> upgrade ──> websocket
//!          ├─> gremlin ──> login ──> role ──> body ──> exchange ──> response, streamed
//!          ├─> admin ───> login ──> role ──> body ──> handler, audit record
//!          ├─> metrics
//!          └─> health
//! ```
//!
//! Nothing of a body is read before its client has logged in and has a role.

pub mod accept;
pub mod admin;
pub mod basic_login;
pub mod body;
mod elsewhere;
pub mod error;
pub mod gremlin;
pub mod health;
pub mod held_body;
pub mod keep_alive;
pub mod metrics;
pub mod response;
pub mod router;
