//! Quota: how many connections and requests a user may have at once.

use evergraph_storage::planted::{Bug, planted};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What users have open, and how much they may.
pub struct Quotas {
    connections_max: usize,
    requests_max: usize,
    users: Mutex<HashMap<Box<str>, Usage>>,
}

/// What a user has open.
#[derive(Default)]
struct Usage {
    connections_count: usize,
    requests_count: usize,
}

/// What is counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Quota {
    /// Connections that have logged in.
    Connections,
    /// Requests that are not answered.
    Requests,
}

/// One connection or request of a user, until it is dropped.
pub struct QuotaGuard {
    quotas: Arc<Quotas>,
    user: Box<str>,
    quota: Quota,
}

impl Quotas {
    /// So many for each user.
    #[must_use]
    pub fn new(connections_max: usize, requests_max: usize) -> Self {
        Self { connections_max, requests_max, users: Mutex::default() }
    }

    /// Counts one more.
    ///
    /// # Errors
    /// What the user has too much of.
    pub fn take(self: &Arc<Self>, user: &str, quota: Quota) -> Result<QuotaGuard, String> {
        let mut users = self.users();
        let usage = users.entry(user.into()).or_default();
        let (count, most, what) = match quota {
            Quota::Connections => (&mut usage.connections_count, self.connections_max, "connections open"),
            Quota::Requests => {
                (&mut usage.requests_count, self.requests_max, "requests that are not answered")
            }
        };
        if *count >= most && !planted(Bug::QuotasUnlimited) {
            return Err(format!("the user {user:?} has {count} {what}, and may have no more"));
        }
        *count += 1;
        Ok(QuotaGuard { quotas: Arc::clone(self), user: user.into(), quota })
    }

    fn users(&self) -> MutexGuard<'_, HashMap<Box<str>, Usage>> {
        self.users.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for QuotaGuard {
    fn drop(&mut self) {
        let mut users = self.quotas.users();
        let Some(usage) = users.get_mut(&self.user) else { return };
        match self.quota {
            Quota::Connections => usage.connections_count -= 1,
            Quota::Requests => usage.requests_count -= 1,
        }
        if (usage.connections_count, usage.requests_count) == (0, 0) {
            users.remove(&self.user);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_user_may_have_so_many_and_gives_them_back() {
        let quotas = Arc::new(Quotas::new(1, 2));
        let connection = quotas.take("ann", Quota::Connections).unwrap_or_else(|why| panic!("{why}"));
        assert!(
            quotas.take("ann", Quota::Connections).is_err() && quotas.take("bob", Quota::Connections).is_ok()
        );
        let requests = [quotas.take("ann", Quota::Requests), quotas.take("ann", Quota::Requests)];
        assert!(quotas.take("ann", Quota::Requests).is_err());
        drop((connection, requests));
        assert!(quotas.users().is_empty());
    }
}
