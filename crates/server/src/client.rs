//! Client: where a connection comes from, and its place among all connections.

use crate::security::quota::QuotaGuard;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use tokio::sync::OwnedSemaphorePermit;

/// The other end of a connection. Its place is free again when this is dropped.
pub struct Client {
    address: IpAddr,
    _place: OwnedSemaphorePermit,
    /// Its place among those of its address that have not logged in.
    stranger: Mutex<Option<QuotaGuard>>,
}

impl Client {
    /// A client at `address` with its places.
    #[must_use]
    pub fn new(address: IpAddr, place: OwnedSemaphorePermit, stranger: Option<QuotaGuard>) -> Self {
        Self { address: address.to_canonical(), _place: place, stranger: Mutex::new(stranger) }
    }

    /// Where it is.
    #[must_use]
    pub fn address(&self) -> IpAddr {
        self.address
    }

    /// Notes that it has logged in.
    pub fn logged_in(&self) {
        self.stranger.lock().unwrap_or_else(PoisonError::into_inner).take();
    }
}
