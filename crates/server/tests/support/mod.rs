//! Support: what the test programs share, each a part of it: clients, certificates, drivers, servers with and without
//! users.

#![allow(dead_code, reason = "each test program uses a part of it")]

pub mod certificates;
pub mod http_client;
pub mod installed_driver;
pub mod secured_site;
pub mod served;
#[path = "../../../../tests/src/skips.rs"]
pub mod skips;
pub mod web_socket_client;
