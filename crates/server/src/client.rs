//! Client: where a connection comes from, and its place among all connections.

use crate::message_meter::MessageMeter;
use crate::security::quota::{Quota, QuotaGuard, Quotas};
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::OwnedSemaphorePermit;

/// The other end of a connection. Its place is free again when this is dropped.
pub struct Client {
    address: IpAddr,
    messages: Arc<MessageMeter>,
    _place: OwnedSemaphorePermit,
    /// Its place among those of its address that have not logged in.
    stranger: Mutex<Option<QuotaGuard>>,
    /// Who has logged in last by HTTP, and its place among the connections of the user.
    user: Mutex<Option<(Box<str>, QuotaGuard)>>,
}

impl Client {
    /// A client at `address` with its places, whose messages are counted by `messages`.
    #[must_use]
    pub fn new(
        address: IpAddr,
        place: OwnedSemaphorePermit,
        stranger: Option<QuotaGuard>,
        messages: Arc<MessageMeter>,
    ) -> Self {
        Self {
            address: address.to_canonical(),
            messages,
            _place: place,
            stranger: Mutex::new(stranger),
            user: Mutex::default(),
        }
    }

    /// Where it is.
    #[must_use]
    pub fn address(&self) -> IpAddr {
        self.address
    }

    /// What its messages take.
    #[must_use]
    pub fn messages(&self) -> &Arc<MessageMeter> {
        &self.messages
    }

    /// Whether `user` has logged in last, by HTTP.
    #[must_use]
    pub fn is_user(&self, user: &str) -> bool {
        let last = self.user.lock().unwrap_or_else(PoisonError::into_inner);
        last.as_ref().is_some_and(|(last, _)| **last == *user)
    }

    /// Notes that `user` has logged in by HTTP, with the next request of the connection perhaps as another one.
    ///
    /// # Errors
    /// If the user has too many connections.
    pub fn admit(&self, user: &str, quotas: &Arc<Quotas>) -> Result<(), String> {
        let mut last = self.user.lock().unwrap_or_else(PoisonError::into_inner);
        if last.as_ref().is_none_or(|(last, _)| **last != *user) {
            *last = None;
            *last = Some((user.into(), quotas.take(user, Quota::Connections)?));
        }
        drop(last);
        self.logged_in();
        Ok(())
    }

    /// Notes that it has logged in.
    pub fn logged_in(&self) {
        self.messages.logged_in();
        self.stranger.lock().unwrap_or_else(PoisonError::into_inner).take();
    }
}
