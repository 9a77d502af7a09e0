//! Pin waits: those of one transaction for other nodes and the log end at its deadline.

use crate::remote::partition_view::PartitionView;
use crate::remote::view_asking::{OwnWork, PartitionAsker};
use evergraph_graph::error::Result;
use evergraph_graph::id::PartitionId;
use evergraph_graph::travel::Travels;
use evergraph_storage::transaction::deadline::Deadline;
use std::sync::{Arc, OnceLock};

/// How long a pin may wait. One without a transaction waits as long as the thread that asks ([`evergraph_graph::wait_limit`]).
#[derive(Debug, Default)]
pub struct PinWaits {
    deadline: OnceLock<Deadline>,
}

impl PinWaits {
    /// Waits end at `deadline` from now on. The first one counts.
    pub fn end_with(&self, deadline: &Deadline) {
        // A pin is for one transaction.
        let _ = self.deadline.set(deadline.clone());
    }

    /// Does what waits.
    ///
    /// # Errors
    /// Those of `work`; `limit` if the transaction's time is over.
    pub fn limited<T>(&self, work: impl FnOnce() -> Result<T>) -> Result<T> {
        let _waits = self.deadline.get().map(Deadline::limit_waits);
        self.explained(work())
    }

    /// What was done; if its wait was ended by the deadline, that.
    ///
    /// # Errors
    /// The error of `done`; `limit` if the transaction's time is over.
    pub fn explained<T>(&self, done: Result<T>) -> Result<T> {
        match self.deadline.get() {
            Some(deadline) => deadline.explained(done),
            None => done,
        }
    }
}

/// Asks for a pin.
pub struct LimitedAsker {
    asker: Arc<dyn PartitionAsker>,
    waits: Arc<PinWaits>,
}

impl LimitedAsker {
    /// As `asker` does, and waits no longer than `waits` says.
    #[must_use]
    pub fn new(asker: Arc<dyn PartitionAsker>, waits: Arc<PinWaits>) -> Self {
        Self { asker, waits }
    }
}

impl PartitionAsker for LimitedAsker {
    fn ask_beside(
        &self,
        messages: Vec<(PartitionId, Vec<u8>)>,
        own_work: OwnWork<'_>,
    ) -> Result<Vec<Vec<u8>>> {
        self.waits.limited(|| self.asker.ask_beside(messages, own_work))
    }

    fn travels(&self) -> Option<Arc<dyn Travels>> {
        self.asker.travels()
    }

    fn own_view(&self, partition: PartitionId) -> Option<Arc<dyn PartitionView>> {
        self.asker.own_view(partition)
    }

    fn keeps_all(&self) -> bool {
        self.asker.keeps_all()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evergraph_graph::error::{Error, ErrorKind};
    use evergraph_graph::wait_limit::WaitLimit;
    use evergraph_storage::io::clock::{Clock, SystemClock};
    use std::time::Duration;

    const LONG: Duration = Duration::from_secs(60);

    /// Waits for as long as it may.
    struct SilentAsker;

    impl PartitionAsker for SilentAsker {
        fn ask_beside(&self, _: Vec<(PartitionId, Vec<u8>)>, _: OwnWork<'_>) -> Result<Vec<Vec<u8>>> {
            let (limit, clock) = (WaitLimit::of_thread(), SystemClock::new());
            while clock.now() < LONG {
                limit.check()?;
            }
            Err(Error::new(ErrorKind::Busy, "it has waited to the end"))
        }

        fn travels(&self) -> Option<Arc<dyn Travels>> {
            None
        }

        fn own_view(&self, _: PartitionId) -> Option<Arc<dyn PartitionView>> {
            None
        }

        fn keeps_all(&self) -> bool {
            false
        }
    }

    #[test]
    fn reads_of_a_transaction_end_at_its_deadline() {
        let (clock, waits): (Arc<dyn Clock>, _) =
            (Arc::new(SystemClock::new()), Arc::new(PinWaits::default()));
        let asker = LimitedAsker::new(Arc::new(SilentAsker), Arc::clone(&waits));
        waits.end_with(&Deadline::after(&clock, Duration::from_millis(20), LONG));
        let late = asker.ask(Vec::new()).unwrap_err();
        assert_eq!(late.kind(), ErrorKind::Limit);
        assert!(late.to_string().contains("its timeout is 20ms"), "{late}");
        assert!(!WaitLimit::of_thread().has_ended(), "the thread may wait again");
    }

    #[test]
    fn a_pin_without_a_transaction_waits_as_long_as_its_thread_may() {
        let asker = LimitedAsker::new(Arc::new(SilentAsker), Arc::default());
        let _waits = WaitLimit::default().for_at_most(Duration::from_millis(20)).enter();
        assert_eq!(asker.ask(Vec::new()).unwrap_err().kind(), ErrorKind::Cancelled);
    }
}
