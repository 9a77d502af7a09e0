//! Ring: money that returns through three to six accounts within hours, as in money laundering.
//!
//! ```text
//! 09:00  A ── 12,000.00 ──> B      Each account passes on what it got but for a fee of 0.5 to 3 %,
//! 09:40  B ── 11,820.00 ──> C      ten minutes to three hours later. The last one pays the first.
//! 11:55  C ── 11,701.80 ──> A
//! ```

use crate::generate::market::{Market, Transfer};
use crate::generate::random::Random;

/// The fewest accounts of a ring.
pub const ACCOUNTS_MIN: usize = 3;

/// The most accounts of a ring.
pub const ACCOUNTS_MAX: usize = 6;

const MINUTE_MS: u64 = 60_000;
const PAUSE_MS_MIN: u64 = 10 * MINUTE_MS;
const PAUSE_MS_MAX: u64 = 180 * MINUTE_MS;

/// The longest time from the first transfer of a ring to its last.
pub const DURATION_MS_MAX: i64 = PAUSE_MS_MAX as i64 * (ACCOUNTS_MAX as i64 - 1);

/// A planted ring.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Ring {
    /// Ids of the accounts, in the order in which the money passes them.
    pub accounts: Vec<i64>,
    /// Its transfers: from each account to the next one, from the last one to the first.
    pub transfers: Vec<Transfer>,
}

impl Ring {
    /// Plants a ring of accounts of `market`, whose first transfer is at `time_ms`. `id_of` gives the
    /// id of a row.
    pub fn plant(market: &Market, random: &mut Random, time_ms: i64, id_of: impl Fn(u32) -> i64) -> Self {
        let length = ACCOUNTS_MIN + random.below((ACCOUNTS_MAX - ACCOUNTS_MIN + 1) as u64) as usize;
        let mut rows: Vec<u32> = Vec::with_capacity(length);
        while rows.len() < length {
            let row = market.draw_inconspicuous(random);
            if !rows.contains(&row) {
                rows.push(row);
            }
        }
        let mut amount_cents = 500_000 + random.below(4_500_000) as i64;
        let mut time_ms = time_ms;
        let mut transfers = Vec::with_capacity(length);
        for (hop, &source) in rows.iter().enumerate() {
            let target = rows[(hop + 1) % length];
            transfers.push(Transfer { source, target, amount_cents, time_ms });
            amount_cents -= amount_cents * (5 + random.below(26) as i64) / 1000;
            time_ms += (PAUSE_MS_MIN + random.below(PAUSE_MS_MAX - PAUSE_MS_MIN)) as i64;
        }
        Self { accounts: rows.into_iter().map(id_of).collect(), transfers }
    }
}
