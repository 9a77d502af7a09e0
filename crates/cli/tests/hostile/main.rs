//! The real program as hostile clients meet it: hundreds of them that do not read, a thousand that send slowly, over TLS and
//! without, and requests that ask for more than there is. It answers others meanwhile, and its memory stays below a bound.
//!
//! Each server is a process of its own, and its peak (`VmHWM`) is the kernel's.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test says what went wrong by where it panics")]

mod bombs;
mod readers;
mod senders;
mod site;
mod soak;
