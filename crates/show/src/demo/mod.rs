//! `evergraph demo`: a bank's payments, written durably and analysed live, then killed and verified.
//!
//! ```text
//! this process                                 the process it starts (`demo stream`)
//! network -> load                              writers: transfers as durable transactions
//! start ───────────────────────────────────>   analyst: PageRank and rings on live snapshots
//! tally  <── booked, ranked, ring (a pipe) ──
//! SIGKILL ─────────────────────────────────>   X
//! reopen -> verify -> check -> report
//! ```
//!
//! The steps stand alone as hidden commands (`demo load`, `demo stream`, `demo verify`), so that a test
//! can kill and verify the same database again and again.

pub mod analysis;
pub mod booking;
pub mod load;
pub mod network;
pub mod process_message;
pub mod reference;
pub mod replica;
pub mod report;
pub mod rings;
pub mod story;
pub mod stream;
pub mod tally;
pub mod ticker;
pub mod verify;
pub mod writers;
