//! Market: who pays whom in a payments network, and how much.
//!
//! Payees are drawn by Zipf's law: a few shops get a good part of all payments. Payers are skewed
//! less, and independently: who is paid often need not pay often. Amounts are spread over four
//! orders of magnitude, from 1 to 10,000.

use crate::generate::random::Random;
use crate::generate::zipf::{Skew, Zipf};

const PAYERS: u64 = 10;
const PAYEES: u64 = 11;

/// Who pays whom, and how much.
#[derive(Debug)]
pub struct Market {
    payers: Zipf,
    payees: Zipf,
    /// The account of each rank among payers.
    payer_of_rank: Vec<u32>,
    /// The account of each rank among payees.
    payee_of_rank: Vec<u32>,
}

/// One transfer between accounts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Transfer {
    /// The row of the account that pays.
    pub source: u32,
    /// The row of the account that is paid.
    pub target: u32,
    /// How much, in cents.
    pub amount_cents: i64,
    /// When, in milliseconds since 1970.
    pub time_ms: i64,
}

impl Market {
    /// A market of `accounts` accounts, at least two. Cost: 24 bytes an account.
    #[must_use]
    pub fn new(accounts: u32, seed: u64) -> Self {
        Self {
            payers: Zipf::new(accounts, Skew::Mild),
            payees: Zipf::new(accounts, Skew::Strong),
            payer_of_rank: Random::new(seed, PAYERS, 0).permutation(accounts),
            payee_of_rank: Random::new(seed, PAYEES, 0).permutation(accounts),
        }
    }

    /// A transfer at `time_ms` between two accounts.
    pub fn draw(&self, random: &mut Random, time_ms: i64) -> Transfer {
        let source = self.payer_of_rank[self.payers.draw(random) as usize];
        let mut target = self.payee_of_rank[self.payees.draw(random) as usize];
        while target == source {
            target = self.payee_of_rank[self.payees.draw(random) as usize];
        }
        let magnitude = 10i64.pow(random.below(4) as u32);
        let digits = 100 + random.below(900) as i64;
        let amount_cents = digits * magnitude + random.below(magnitude as u64) as i64;
        Transfer { source, target, amount_cents, time_ms }
    }

    /// An account that isn't among the hundredth that is paid most often.
    pub fn draw_inconspicuous(&self, random: &mut Random) -> u32 {
        let accounts = self.payee_of_rank.len() as u64;
        let conspicuous = accounts / 100;
        self.payee_of_rank[(conspicuous + random.below(accounts - conspicuous)) as usize]
    }
}
