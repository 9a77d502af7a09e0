//! Service: what `evergraph serve` is to whoever operates it: limits, logs, and the service manager.
//!
//! - [`access`]: where it listens, who logs in, certificates, as options
//! - [`files`]: folders that clients may use as options
//! - [`limits`]: limits of the server as options
//! - [`logging`]: its logs on standard error
//! - [`manager`]: what systemd is told
//! - [`serving`]: a server from its options to its end
//! - [`driver_examples`]: how drivers connect
//! - [`replicas`]: databases that follow a PostgreSQL database

pub mod access;
pub mod driver_examples;
pub mod files;
pub mod limits;
pub mod logging;
pub mod manager;
pub mod replicas;
pub mod serving;
