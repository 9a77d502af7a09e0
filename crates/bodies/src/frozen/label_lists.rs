//! Label lists: what bodies have within some labels, and weights that were converted, kept for the next snapshot that asks.
//!
//! ```text
//! a choice   labels and weight: body ─┬ its lists without the edges that leave the labels, or
//!                                     │ that no edge does, and the body's own lists serve
//!                                     └ a number for each edge, if it had to be converted
//! a merge    makes a new body, of which nothing is kept yet
//! ```
//!
//! A body never changes, and neither does the label of a group of vertices; so what was made of both stays true, and is kept until
//! the body is gone or many snapshots did not ask for it. To analyse some labels again costs what changed since, not what there is.
//!
//! The memory is what nobody reserves; a reservation takes it back. Lists that a topology reads stay, and count, until that is
//! dropped.
//!
//! Concurrency: one lock, held for a look-up, or to drop old lists. The only lock that is taken under it is the budget's.

use crate::body::Body as _;
use crate::edge_body::EdgeBody;
use evergraph_graph::id::{KeyId, LabelId};
use evergraph_graph::topology::Weight;
use evergraph_storage::memory_budget::{ElasticReservation, MemoryBudget, Shrink};
use evergraph_storage::sync::Mutex;
use std::any::Any;
use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Weak};

/// A body of any kind. Its address identifies it: no other body gets that address while anybody refers to it.
pub type BodyIdentity = Arc<dyn Any + Send + Sync>;

/// Choices of which lists are kept; the one that was asked for longest ago makes room for another.
const CHOICES_MAX: usize = 4;
/// What an entry takes beside its lists, in bytes: in the map, and what is left of a body that was dropped.
const ENTRY_BYTES: u64 = 256;
/// Lists that so many snapshots of their choice did not ask for are of a body that was replaced, or of a type that the choice is no
/// longer asked for with.
const SNAPSHOTS_UNASKED: u64 = 32;
const PURPOSE: &str = "lists within labels";

/// What lists are made for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct ListChoice {
    /// The labels of both ends, ascending; `None` for all.
    pub(crate) labels: Option<Vec<LabelId>>,
    /// What the edges weigh, if it is read from a property.
    pub(crate) weight: Option<WeightChoice>,
}

/// What edges weigh.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct WeightChoice {
    /// The property, which lists keep.
    pub(crate) key: KeyId,
    /// The bits of the weight of edges without it, if they may have none.
    missing: Option<u64>,
}

impl From<&Weight> for WeightChoice {
    fn from(weight: &Weight) -> Self {
        Self { key: weight.key, missing: weight.missing.map(f64::to_bits) }
    }
}

/// The lists of a body within the labels.
#[derive(Clone, Debug)]
pub(crate) enum ScopedLists {
    /// No edge leaves them: the body's own lists serve.
    Whole,
    /// Its lists without those that do.
    Part(Arc<EdgeBody>),
}

/// What was made of a body.
#[derive(Clone, Debug)]
pub(crate) struct ScopedBody {
    pub(crate) lists: ScopedLists,
    /// The weight of each edge of the lists; `None` if they weren't converted.
    pub(crate) weights: Option<Arc<Vec<f64>>>,
}

impl From<ScopedLists> for ScopedBody {
    fn from(lists: ScopedLists) -> Self {
        Self { lists, weights: None }
    }
}

impl ScopedBody {
    /// Bytes on the heap, the body itself left out.
    pub(crate) fn heap_bytes(&self) -> usize {
        let lists = match &self.lists {
            ScopedLists::Whole => 0,
            ScopedLists::Part(part) => part.bytes().total(),
        };
        lists + self.weights.as_ref().map_or(0, |weights| size_of_val(&weights[..]))
    }

    /// Whether dropping it frees its memory.
    fn is_unread(&self) -> bool {
        // Others clone it under the lock, or have it already.
        let are_lists_unread = match &self.lists {
            ScopedLists::Whole => true,
            ScopedLists::Part(part) => Arc::strong_count(part) == 1,
        };
        are_lists_unread && self.weights.as_ref().is_none_or(|weights| Arc::strong_count(weights) == 1)
    }
}

/// Lists of bodies within labels.
pub struct LabelLists {
    kept: Mutex<Vec<KeptChoice>>,
    reservation: ElasticReservation,
}

/// The lists of one choice.
struct KeptChoice {
    choice: ListChoice,
    /// By the address of the body.
    lists: HashMap<usize, KeptLists>,
    /// Snapshots that asked for it.
    snapshots: u64,
    /// Whether memory was missing since the last one did.
    is_short: bool,
}

struct KeptLists {
    of: Weak<dyn Any + Send + Sync>,
    within: ScopedBody,
    bytes: u64,
    /// The snapshot of the choice that asked for it last.
    asked_in: u64,
}

impl KeptLists {
    /// Whether nobody is going to ask for it again, and dropping it frees its memory: its body is gone, or was replaced in what many
    /// of the choice's `snapshots` have seen.
    fn is_stale(&self, snapshots: u64) -> bool {
        let is_asked_for = self.of.strong_count() > 0 && snapshots - self.asked_in <= SNAPSHOTS_UNASKED;
        !is_asked_for && self.within.is_unread()
    }
}

fn address(body: &BodyIdentity) -> usize {
    Arc::as_ptr(body).addr()
}

impl LabelLists {
    /// None yet; they take memory of `budget` that nobody reserves.
    #[must_use]
    pub fn new(budget: &MemoryBudget) -> Arc<Self> {
        Arc::new_cyclic(|lists: &Weak<Self>| Self {
            kept: Mutex::default(),
            reservation: budget.elastic(PURPOSE, Weak::clone(lists) as Weak<dyn Shrink>),
        })
    }

    /// What is kept of `body` for `choice`.
    pub(crate) fn get(&self, choice: &ListChoice, body: &BodyIdentity) -> Option<ScopedBody> {
        let mut kept = self.kept.lock();
        let of_choice = kept.iter_mut().find(|kept| kept.choice == *choice)?;
        let lists = of_choice.lists.get_mut(&address(body))?;
        lists.asked_in = of_choice.snapshots;
        // While an entry refers to a body, dropped or not, no other one has its address.
        Some(lists.within.clone())
    }

    /// Keeps what was made of `body`; whether it did, which it does not without memory, or if another thread was first.
    pub(crate) fn keep(&self, choice: &ListChoice, body: &BodyIdentity, within: &ScopedBody) -> bool {
        let bytes = ENTRY_BYTES + within.heap_bytes() as u64;
        let mut kept = self.kept.lock();
        let Some(at) = kept.iter().position(|kept| kept.choice == *choice) else { return false };
        if kept[at].lists.contains_key(&address(body)) {
            return false;
        }
        if !self.reservation.grow(bytes) {
            // Other choices make room until all that is left of them is read.
            if kept[at].is_short {
                return false;
            }
            let freed = self.drop_lists(&mut kept, Some(at), bytes);
            self.reservation.release(freed);
            if !self.reservation.grow(bytes) {
                kept[at].is_short = true;
                return false;
            }
        }
        let asked_in = kept[at].snapshots;
        let lists = KeptLists { of: Arc::downgrade(body), within: within.clone(), bytes, asked_in };
        kept[at].lists.insert(address(body), lists);
        true
    }

    /// Notes that a snapshot is about to ask for `choice`, and drops what was made of bodies that are gone.
    ///
    /// Cost: a look at each entry.
    pub(crate) fn begin(&self, choice: &ListChoice) {
        let mut kept = self.kept.lock();
        let mut freed: u64 = kept.iter_mut().map(KeptChoice::drop_stale).sum();
        match kept.iter().position(|kept| kept.choice == *choice) {
            Some(at) => kept[..=at].rotate_right(1),
            None => {
                let (choice, lists) = (choice.clone(), HashMap::new());
                kept.insert(0, KeptChoice { choice, lists, snapshots: 0, is_short: false });
            }
        }
        kept[0].is_short = false;
        kept[0].snapshots += 1;
        for of_choice in kept.iter_mut().skip(CHOICES_MAX) {
            freed += of_choice.drop_where(|lists| lists.within.is_unread());
        }
        let mut place = 0;
        kept.retain(|of_choice| {
            place += 1;
            place <= CHOICES_MAX || !of_choice.lists.is_empty()
        });
        self.reservation.release(freed);
    }
}

impl KeptChoice {
    /// Drops those of which `goes` is true; how many bytes that frees.
    fn drop_where(&mut self, mut goes: impl FnMut(&KeptLists) -> bool) -> u64 {
        let mut freed = 0;
        self.lists.retain(|_, lists| {
            let goes = goes(lists);
            freed += if goes { lists.bytes } else { 0 };
            !goes
        });
        freed
    }

    fn drop_stale(&mut self) -> u64 {
        let snapshots = self.snapshots;
        self.drop_where(|lists| lists.is_stale(snapshots))
    }
}

impl LabelLists {
    /// Drops lists that nobody reads, but those of the choice at `spared`, until `bytes` are free, or a share of all: first stale
    /// ones, then those of the choices that were asked for longest ago. Returns how many bytes are.
    ///
    /// Cost: a look at each entry, for a sixteenth of them at least.
    fn drop_lists(&self, kept: &mut [KeptChoice], spared: Option<usize>, bytes: u64) -> u64 {
        let wanted = bytes.max(self.reservation.bytes() / 16);
        let mut freed: u64 = kept.iter_mut().map(KeptChoice::drop_stale).sum();
        for (at, of_choice) in kept.iter_mut().enumerate().rev() {
            if freed >= wanted {
                break;
            }
            if spared != Some(at) {
                let mut left = wanted - freed;
                freed += of_choice.drop_where(|lists| {
                    let goes = left > 0 && lists.within.is_unread();
                    left = if goes { left.saturating_sub(lists.bytes) } else { left };
                    goes
                });
            }
        }
        freed
    }
}

impl Shrink for LabelLists {
    fn shrink(&self, bytes: u64) {
        let mut kept = self.kept.lock();
        let freed = self.drop_lists(&mut kept, None, bytes);
        self.reservation.release(freed);
    }
}

impl fmt::Debug for LabelLists {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "LabelLists({:?})", self.reservation)
    }
}

#[cfg(all(test, not(any(shuttle, loom))))]
mod tests {
    use super::*;
    use evergraph_graph::budget::Budget as _;

    const NEIGHBORS: usize = 1000;

    fn choice(label: u16) -> ListChoice {
        ListChoice { labels: Some(vec![LabelId(label)]), weight: None }
    }

    fn part_of(body: &Arc<EdgeBody>) -> ScopedBody {
        ScopedLists::Part(Arc::clone(body)).into()
    }

    fn body() -> Arc<EdgeBody> {
        Arc::new(EdgeBody::new(&[NEIGHBORS as u32], (0..NEIGHBORS as u32).collect(), Box::default(), vec![]))
    }

    fn identity(body: &Arc<EdgeBody>) -> BodyIdentity {
        Arc::clone(body) as BodyIdentity
    }

    /// Room for two lists and a bit.
    fn lists() -> (MemoryBudget, Arc<LabelLists>) {
        let budget = MemoryBudget::new(2 * (NEIGHBORS as u64 * 4 + ENTRY_BYTES) + 100);
        let lists = LabelLists::new(&budget);
        lists.begin(&choice(1));
        (budget, lists)
    }

    #[test]
    fn what_was_kept_of_a_body_is_found_by_its_choice_alone() {
        let (_, lists) = lists();
        let (whole, split, part) = (body(), body(), body());
        assert!(lists.keep(&choice(1), &identity(&whole), &ScopedLists::Whole.into()));
        assert!(lists.keep(&choice(1), &identity(&split), &part_of(&part)));
        let found = |body| lists.get(&choice(1), &identity(body)).map(|found| found.lists);
        assert!(matches!(found(&whole), Some(ScopedLists::Whole)));
        assert!(matches!(found(&split), Some(ScopedLists::Part(found)) if Arc::ptr_eq(&found, &part)));
        assert!(lists.get(&choice(1), &identity(&part)).is_none());
        assert!(lists.get(&choice(2), &identity(&split)).is_none());
        let weight = Some(WeightChoice { key: KeyId(1), missing: None });
        assert!(lists.get(&ListChoice { weight, ..choice(1) }, &identity(&split)).is_none());
        assert!(
            !lists.keep(&choice(1), &identity(&split), &ScopedLists::Whole.into()),
            "another thread was first"
        );
        assert!(
            !lists.keep(&choice(2), &identity(&split), &ScopedLists::Whole.into()),
            "nobody said that it is asked for"
        );
    }

    #[test]
    fn weights_are_kept_and_counted_with_the_lists_until_nobody_reads_them() {
        let (budget, lists) = lists();
        let heavy = |missing| {
            let weight = Some(WeightChoice::from(&Weight { key: KeyId(1), missing }));
            ListChoice { labels: None, weight }
        };
        let (missing_one, first) = (heavy(Some(1.0)), body());
        lists.begin(&missing_one);
        let weights = Arc::new(vec![0.5; 100]);
        let weighed = ScopedBody { lists: ScopedLists::Whole, weights: Some(Arc::clone(&weights)) };
        assert!(lists.keep(&missing_one, &identity(&first), &weighed));
        drop(weighed);
        assert_eq!(budget.used_bytes(), ENTRY_BYTES + 800);
        for other in [heavy(None), heavy(Some(2.0)), choice(1)] {
            assert!(lists.get(&other, &identity(&first)).is_none(), "{other:?}");
        }
        let found = lists.get(&missing_one, &identity(&first)).and_then(|found| found.weights);
        assert!(found.is_some_and(|found| Arc::ptr_eq(&found, &weights)));
        drop(first);
        lists.begin(&missing_one);
        assert_eq!(budget.used_bytes(), ENTRY_BYTES + 800, "a topology reads them");
        drop(weights);
        lists.begin(&missing_one);
        assert_eq!(budget.used_bytes(), 0);
    }

    #[test]
    fn lists_go_with_their_body_when_nobody_reads_them() {
        let (budget, lists) = lists();
        let (first, part) = (body(), body());
        assert!(lists.keep(&choice(1), &identity(&first), &part_of(&part)));
        let kept = budget.used_bytes();
        assert!(kept > NEIGHBORS as u64 * 4);
        lists.begin(&choice(1));
        assert_eq!(budget.used_bytes(), kept, "the body is there");
        drop(first);
        lists.begin(&choice(1));
        assert_eq!(budget.used_bytes(), kept, "a topology reads them");
        drop(part);
        lists.begin(&choice(1));
        assert_eq!(budget.used_bytes(), 0);
    }

    #[test]
    fn lists_go_that_many_snapshots_did_not_ask_for() {
        let (budget, lists) = lists();
        let bodies = [body(), body()];
        for body in &bodies {
            assert!(lists.keep(&choice(1), &identity(body), &ScopedLists::Whole.into()));
        }
        for _ in 0..=SNAPSHOTS_UNASKED {
            assert!(lists.get(&choice(1), &identity(&bodies[0])).is_some());
            lists.begin(&choice(1));
        }
        assert_eq!(budget.used_bytes(), 2 * ENTRY_BYTES);
        lists.begin(&choice(1));
        assert_eq!(budget.used_bytes(), ENTRY_BYTES);
        assert!(lists.get(&choice(1), &identity(&bodies[0])).is_some());
    }

    #[test]
    fn a_reservation_gets_the_memory_of_the_oldest_choice_that_nobody_reads() {
        let (budget, lists) = lists();
        let bodies = [body(), body()];
        assert!(lists.keep(&choice(1), &identity(&bodies[0]), &part_of(&body())));
        lists.begin(&choice(2));
        assert!(lists.keep(&choice(2), &identity(&bodies[1]), &part_of(&body())));
        let scores = budget.reserve("scores", 200).unwrap();
        assert!(lists.get(&choice(1), &identity(&bodies[0])).is_none());
        let read = lists.get(&choice(2), &identity(&bodies[1])).unwrap();
        assert!(budget.reserve("scores", budget.limit_bytes() - 200).is_err());
        drop(read);
        assert!(budget.reserve("scores", budget.limit_bytes() - 200).is_ok());
        assert!(lists.get(&choice(2), &identity(&bodies[1])).is_none());
        drop(scores);
        assert_eq!(budget.used_bytes(), 0);
    }

    #[test]
    fn other_choices_make_room_unless_they_are_read() {
        let (_, lists) = lists();
        let bodies = [body(), body(), body()];
        let part = || part_of(&body());
        assert!(lists.keep(&choice(1), &identity(&bodies[0]), &part()));
        assert!(lists.keep(&choice(1), &identity(&bodies[1]), &part()));
        lists.begin(&choice(2));
        let read = [0, 1].map(|at| lists.get(&choice(1), &identity(&bodies[at])).unwrap());
        assert!(!lists.keep(&choice(2), &identity(&bodies[2]), &part()), "all lists are read");
        drop(read);
        assert!(!lists.keep(&choice(2), &identity(&bodies[2]), &part()), "tried once for each snapshot");
        lists.begin(&choice(2));
        assert!(lists.keep(&choice(2), &identity(&bodies[2]), &part()));
        let is_kept = |at: &usize| lists.get(&choice(1), &identity(&bodies[*at])).is_some();
        assert_eq!([0, 1].iter().filter(|at| is_kept(at)).count(), 1, "no more is dropped than it takes");
    }

    #[test]
    fn the_choice_that_was_asked_for_longest_ago_makes_room_for_another() {
        let budget = MemoryBudget::new(u64::MAX);
        let lists = LabelLists::new(&budget);
        let whole = body();
        for label in (0..CHOICES_MAX as u16).chain([0, CHOICES_MAX as u16]) {
            lists.begin(&choice(label));
            lists.keep(&choice(label), &identity(&whole), &ScopedLists::Whole.into());
        }
        let kept = |label: u16| lists.get(&choice(label), &identity(&whole)).is_some();
        let expected: Vec<bool> = (0..=CHOICES_MAX as u16).map(|label| label != 1).collect();
        assert_eq!((0..=CHOICES_MAX as u16).map(kept).collect::<Vec<_>>(), expected);
        assert_eq!(budget.used_bytes(), CHOICES_MAX as u64 * ENTRY_BYTES);
        drop(lists);
        assert_eq!(budget.used_bytes(), 0);
    }
}
