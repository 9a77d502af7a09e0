//! Security: who may connect, who a client is, and what it may do. Everything that is not granted is refused.
//!
//! ```text
//! connection ──> host_check ──> login_gate ──> authenticator ──> users_file
//!                                   │               ├── login_cache   log-ins that were verified
//! request ──> access (role) <───────┘               └── login_limit   log-ins that failed
//! ```

pub mod access;
pub mod audit;
pub mod authenticator;
pub mod host_check;
pub mod login_cache;
pub mod login_gate;
pub mod login_limit;
pub mod network;
pub mod options;
pub mod password;
pub mod quota;
pub mod role;
pub mod sasl;
pub mod tls;
pub mod user;
pub mod users_file;
