//! Helper: a process of its own for a store whose memory only the system can limit, as it reads through the page cache.
//!
//! ```text
//! harness   makes a control group ── starts itself anew ── a line a request ──────────────── the group ends
//! helper    draws the graph ── joins the group ── opens the store ── a line a reply, or an error
//! ```
//!
//! What the helper has before it joins, the graph above all, counts nothing. The group holds the limit, and an allowance for
//! what is not the store's: times that are noted, an answer, and with kernels their state, as RocksDB's have it.

use crate::disk_plan::{DiskPlan, DiskStore};
use crate::line_process::LineProcess;
use crate::memory_group::{MemoryGroup, join};
use crate::plan::Work;
use evergraph_graph::error::{Error, ErrorKind, Result};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::fmt::Display;
use std::fs;
use std::path::{Path, PathBuf};

/// The argument that makes a process a helper.
pub const ARGUMENT: &str = "--helper";
/// What a group holds beside the limit.
const ALLOWANCE_BYTES: u64 = 16 << 20;
/// The same with kernels, for each vertex: their state and the answer.
const KERNEL_BYTES: u64 = 40;
/// How many times the limit a group holds until its store has enough.
const FACTORS: [u64; 4] = [1, 2, 4, 8];

/// Which part a helper works for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum HelperPart {
    /// See [`super::writes`].
    Writes,
    /// See [`super::reads`].
    Reads,
    /// See [`super::kernels`].
    Kernels,
    /// See [`super::linkbench`].
    Linkbench,
}

/// What a helper needs to begin.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Assignment {
    /// Its store.
    pub store: DiskStore,
    /// What for.
    pub part: HelperPart,
    /// The graph and the limit.
    pub plan: DiskPlan,
    /// What everything random follows from.
    pub seed: u64,
    /// Where the store goes.
    pub folder: PathBuf,
    /// The group that it joins.
    group: PathBuf,
}

impl Assignment {
    /// Puts this process into its group: the store is opened after this.
    ///
    /// # Errors
    /// `io`.
    pub fn join(&self) -> Result<()> {
        join(&self.group)
    }
}

/// A helper at work, as the harness sees it.
pub struct Helper {
    store: DiskStore,
    /// Ahead of its group: it ends first.
    process: LineProcess,
    group: MemoryGroup,
}

/// `stores` without those that only the system can limit, if it doesn't: a note says why.
#[must_use]
pub fn limitable(work: &mut Work<'_>, mut stores: Vec<DiskStore>) -> Vec<DiskStore> {
    let (limited, names): (Vec<_>, Vec<_>) = stores
        .iter()
        .filter(|store| store.is_limited_by_system())
        .map(|store| (*store, store.name()))
        .unzip();
    if let (false, Err(error)) = (limited.is_empty(), MemoryGroup::make(work.plan.disk.limit_bytes)) {
        let text = format!("left out: {}, which read through the page cache: {error}", names.join(", "));
        eprintln!("{text}");
        work.note(text);
        stores.retain(|store| !limited.contains(store));
    }
    stores
}

/// A helper for `store` with its files in the empty `folder`, and its reply to a first request, which takes the most memory.
/// One that the system ends for lack of memory begins anew with twice as much, as notes say; none if nothing is enough.
///
/// # Errors
/// `io` if there is no group for it, or it doesn't start; all others that [`Helper::ask`] has.
pub fn started<T: DeserializeOwned>(
    work: &mut Work<'_>,
    (store, part): (DiskStore, HelperPart),
    plan: &DiskPlan,
    folder: &Path,
    request: &impl Serialize,
) -> Result<Option<(Helper, T)>> {
    for factor in FACTORS {
        fs::create_dir_all(folder).map_err(|error| failed(store, &error))?;
        let mut helper = Helper::start(store, part, (plan, work.plan.seed), folder, factor)?;
        match helper.ask(request) {
            Err(error) if error.kind() == ErrorKind::Limit => {
                eprintln!("{error}");
                work.note(format!(
                    "{error}: {}",
                    if factor == FACTORS[FACTORS.len() - 1] { "left out" } else { "again with twice that" }
                ));
            }
            reply => return reply.map(|reply| Some((helper, reply))),
        }
        drop(helper);
        fs::remove_dir_all(folder).map_err(|error| failed(store, &error))?;
    }
    Ok(None)
}

impl Helper {
    fn start(
        store: DiskStore,
        part: HelperPart,
        (plan, seed): (&DiskPlan, u64),
        folder: &Path,
        factor: u64,
    ) -> Result<Self> {
        let of_kernels =
            if part == HelperPart::Kernels { KERNEL_BYTES * u64::from(plan.vertices()) } else { 0 };
        let group = MemoryGroup::make(factor * plan.limit_bytes + ALLOWANCE_BYTES + of_kernels)?;
        let process = LineProcess::start(store.name(), [ARGUMENT])?;
        let assignment = Assignment {
            store,
            part,
            plan: plan.clone(),
            seed,
            folder: folder.to_owned(),
            group: group.folder().to_owned(),
        };
        let mut helper = Self { store, process, group };
        if helper.process.say(&assignment)? { Ok(helper) } else { Err(helper.ended()) }
    }

    /// The reply to a request.
    ///
    /// # Errors
    /// That of the helper; `limit` if the system ended it, as it does where a group has no memory left.
    pub fn ask<T: DeserializeOwned>(&mut self, request: &impl Serialize) -> Result<T> {
        self.process.ask(request)?.ok_or_else(|| self.ended())
    }

    /// What its group had at most, as people read it.
    #[must_use]
    pub fn text(&self) -> String {
        format!(
            "{}: in a process of its own, in a group that bounds its memory, page cache included, with an allowance for what \
             is not the store's; it had {}",
            self.store.name(),
            self.group.text()
        )
    }

    /// Why there is no reply.
    fn ended(&mut self) -> Error {
        let how = self.process.how_it_ended();
        let text = format!("the process of {} ended: {how}; it had {}", self.store.name(), self.group.text());
        Error::new(ErrorKind::Limit, text)
    }
}

fn failed(store: DiskStore, error: &dyn Display) -> Error {
    Error::new(ErrorKind::Io, format!("a process for {}: {error}", store.name()))
}
