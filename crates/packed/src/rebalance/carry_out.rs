//! Carry out: moves the chunks of a plan, from its beginning or from where a power cut left it.

use crate::ablation::UndoKind;
use crate::layout::Layout;
use crate::memory::medium::Medium;
use crate::memory::region::{Memory, Region as _};
use crate::memory::site::Site;
use crate::rebalance::journal;
use crate::rebalance::moves::Moves;
use crate::rebalance::plan::{Plan, PlanState, damaged, state};
use crate::rebalance::undo::{back_up, newest};
use evergraph_graph::error::Result;
use evergraph_storage::planted::{Bug, planted};

/// Where to go on in a plan.
struct Resume {
    chunk: u32,
    undo_slot: usize,
}

/// Stores a plan and carries it out. `moves` are those of the plan.
pub(crate) fn carry_out<M: Memory>(
    medium: &mut Medium<M>,
    region: &M::Region,
    layout: &Layout,
    plan: &Plan,
    moves: &Moves,
) {
    if planted(Bug::PackedLogsClearedEarly) {
        plan.advance_logs(medium, region, layout);
    }
    plan.store(medium, region, layout);
    go_on(medium, region, layout, (plan, moves), Resume { chunk: 0, undo_slot: 0 });
}

/// Ends the plan that a power cut interrupted, if there is one; the number of the newest plan.
///
/// # Errors
/// `corrupt` if the plan is damaged, or the journal.
pub(crate) fn resume<M: Memory>(medium: &mut Medium<M>, region: &M::Region, layout: &Layout) -> Result<u32> {
    let (number, state) = state(region, layout)?;
    if state == PlanState::Idle {
        return Ok(number);
    }
    let plan = Plan::load(region, layout, number)?;
    if state == PlanState::Moved {
        plan.end(medium, region, layout);
        return Ok(number);
    }
    let moves = Moves::new(region, layout, &plan).ok_or_else(|| {
        damaged(layout.plan(), format!("lists and logs do not fit into slots {:?}", plan.slots))
    })?;
    let resume = undo_newest(medium, region, layout, (&plan, &moves))?;
    let resume = resume.unwrap_or(Resume { chunk: 0, undo_slot: 0 });
    go_on(medium, region, layout, (&plan, &moves), resume);
    Ok(number)
}

/// Undoes the newest chunk of this plan; `None` if none of its chunks was begun.
///
/// # Errors
/// `corrupt` if it cannot be undone.
fn undo_newest<M: Memory>(
    medium: &mut Medium<M>,
    region: &M::Region,
    layout: &Layout,
    (plan, moves): (&Plan, &Moves),
) -> Result<Option<Resume>> {
    Ok(match layout.sizes.ablation.undo {
        UndoKind::Slots => newest(region, layout, plan.number).map(|undo| {
            undo.empty_other(medium, region, layout);
            undo.put_back(medium, region);
            Resume { chunk: undo.chunk, undo_slot: 1 - undo.which }
        }),
        UndoKind::Journal => {
            let chunks = moves.chunks(u64::from(layout.sizes.undo_slots)).len();
            journal::interrupted(region, layout, plan.number, chunks)?.map(|transaction| {
                transaction.put_back(medium, region);
                Resume { chunk: transaction.chunk, undo_slot: 0 }
            })
        }
    })
}

fn go_on<M: Memory>(
    medium: &mut Medium<M>,
    region: &M::Region,
    layout: &Layout,
    (plan, moves): (&Plan, &Moves),
    from: Resume,
) {
    let mut undo_slot = from.undo_slot;
    let undo = layout.sizes.ablation.undo;
    if undo == UndoKind::Journal {
        journal::take(medium, region, layout, plan.number);
    }
    let chunks = moves.chunks(u64::from(layout.sizes.undo_slots));
    for (number, chunk) in (0u32..).zip(&chunks).skip(from.chunk as usize) {
        let words = moves.words(region, layout, chunk);
        let first = layout.word_of(chunk.start);
        let is_new = |at: &usize| region.load(first + at) != words[*at];
        // Only what changes is backed up and moved.
        let Some(start) = (0..words.len()).find(is_new) else { continue };
        let end = (start..words.len()).rfind(is_new).map_or(start, |last| last + 1);
        let changed = first + start..first + end;
        match undo {
            UndoKind::Slots => {
                back_up(medium, region, layout, undo_slot, (plan.number, number), changed);
                for (at, word) in words.iter().enumerate().take(end).skip(start) {
                    region.store(first + at, *word);
                }
            }
            UndoKind::Journal => {
                let transaction = journal::number(plan.number, number);
                journal::store(medium, region, layout, transaction, (changed.start, &words[start..end]));
            }
        }
        medium.write_back(Site::Chunk, region, first + start..first + end);
        medium.fence(Site::Chunk);
        undo_slot = 1 - undo_slot;
    }
    plan.end(medium, region, layout);
    if undo == UndoKind::Journal {
        journal::give_back(medium, region, layout);
    }
}
