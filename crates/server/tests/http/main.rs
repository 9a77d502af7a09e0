//! The server by HTTP: queries in all formats, log-ins, connections that are kept alive, hostile requests.

#![allow(clippy::unwrap_used)]

mod answer_limits;
mod connections;
mod formats;
mod guide;
mod hostile;
mod logins;
mod observation;
mod queries;
#[path = "../support/mod.rs"]
mod support;
