//! Service: what `evergraph serve` is to whoever operates it: limits, logs, and the service manager.
//!
//! - [`files`]: folders that clients may use as options
//! - [`limits`]: limits of the server as options
//! - [`logging`]: its logs on standard error
//! - [`manager`]: what systemd is told
//! - [`replicas`]: databases that follow a PostgreSQL database

pub mod files;
pub mod limits;
pub mod logging;
pub mod manager;
pub mod replicas;
