//! Log-in limit: how many log-ins may fail, for each user and each address.
//!
//! ```text
//! address (of IPv6 the network of 64 bits)   10 at once, then one every 6 seconds
//! user, known or not                         30 at once, then one every 2 seconds
//! ```
//!
//! What is over the limit is refused before it costs anything. Log-ins that are cached are not counted, so that an
//! attacker does not lock out a program that works.

use crate::security::network::network;
use std::collections::HashMap;
use std::net::IpAddr;
use std::time::{Duration, Instant};

/// Users and addresses that are remembered, each.
const ENTRIES_MAX: usize = 16_384;

const ADDRESS: Allowance = Allowance { burst: 10.0, refill: Duration::from_secs(6) };
const USER: Allowance = Allowance { burst: 30.0, refill: Duration::from_secs(2) };

/// Failures that are allowed at once, and the time after which another one is.
#[derive(Clone, Copy)]
struct Allowance {
    burst: f64,
    refill: Duration,
}

/// Failures of users and addresses.
#[derive(Default)]
pub struct LoginLimit {
    addresses: HashMap<IpAddr, Failures>,
    users: HashMap<Box<str>, Failures>,
}

/// Failures that were not made up for by time, at a moment.
#[derive(Clone, Copy)]
struct Failures {
    count: f64,
    at: Instant,
}

impl LoginLimit {
    /// Whether a log-in may be tried.
    #[must_use]
    pub fn allows(&self, user: &str, address: IpAddr, now: Instant) -> bool {
        let address = self.addresses.get(&network(address));
        let is_below = |failures: Option<&Failures>, allowance: Allowance| {
            failures.is_none_or(|failures| failures.now(now, allowance).count <= allowance.burst - 1.0)
        };
        is_below(address, ADDRESS) && is_below(self.users.get(user), USER)
    }

    /// Counts a log-in that failed.
    pub fn fail(&mut self, user: &str, address: IpAddr, now: Instant) {
        count(&mut self.addresses, network(address), now, ADDRESS);
        count(&mut self.users, user.into(), now, USER);
    }
}

impl Failures {
    fn now(self, now: Instant, allowance: Allowance) -> Self {
        let made_up = now.saturating_duration_since(self.at).as_secs_f64() / allowance.refill.as_secs_f64();
        Self { count: (self.count - made_up).max(0.0), at: now }
    }
}

fn count<K: std::hash::Hash + Eq + Clone>(
    entries: &mut HashMap<K, Failures>,
    key: K,
    now: Instant,
    allowance: Allowance,
) {
    if entries.len() >= ENTRIES_MAX && !entries.contains_key(&key) {
        entries.retain(|_, failures| failures.now(now, allowance).count > 0.0);
    }
    if entries.len() >= ENTRIES_MAX
        && !entries.contains_key(&key)
        && let Some(oldest) =
            entries.iter().min_by_key(|(_, failures)| failures.at).map(|(key, _)| key.clone())
    {
        entries.remove(&oldest);
    }
    let failures = entries.entry(key).or_insert(Failures { count: 0.0, at: now });
    let earlier = failures.now(now, allowance);
    *failures = Failures { count: (earlier.count + 1.0).min(allowance.burst), ..earlier };
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv6Addr;

    #[test]
    fn an_address_and_a_user_may_fail_some_times_and_then_wait() {
        let mut limit = LoginLimit::default();
        let now = Instant::now();
        let address = |last: u8| IpAddr::from([10, 0, 0, last]);
        for _ in 0..10 {
            assert!(limit.allows("ann", address(1), now));
            limit.fail("ann", address(1), now);
        }
        assert!(!limit.allows("ann", address(1), now) && !limit.allows("bob", address(1), now));
        assert!(limit.allows("ann", address(2), now), "another address");
        let later = now + Duration::from_secs(6);
        assert!(limit.allows("ann", address(1), later));
        for last in 2..22 {
            limit.fail("ann", address(last), now);
        }
        assert!(!limit.allows("ann", address(99), now), "from wherever");
        assert!(limit.allows("bob", address(99), now));
    }

    #[test]
    fn addresses_of_one_network_are_one_and_their_number_is_bounded() {
        let mut limit = LoginLimit::default();
        let now = Instant::now();
        for last in 0..10_u16 {
            limit.fail(
                &format!("user {last}"),
                Ipv6Addr::new(0x2001, 0xdb8, 0, 1, 0, 0, 0, last).into(),
                now,
            );
        }
        let of = |network| IpAddr::from(Ipv6Addr::new(0x2001, 0xdb8, 0, network, 7, 7, 7, 7));
        assert!(!limit.allows("ann", of(1), now) && limit.allows("ann", of(2), now));
        for at in 0..ENTRIES_MAX + 10 {
            limit.fail(&at.to_string(), of(3), now);
        }
        assert_eq!(limit.users.len(), ENTRIES_MAX);
    }
}
