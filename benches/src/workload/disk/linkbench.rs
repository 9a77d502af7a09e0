//! LinkBench on a network of several times the memory, with durable commits: ours beside RocksDB and LMDB, which have the
//! same limit.
//!
//! ```text
//! fill ── the same operations in every store, a short run ── TAO, DFLT: 2 clients timed, 24 counted ── 50, 100 % writes: 24 counted
//! ```
//!
//! Stores take turns in each round. LMDB, which reads through the page cache, works in a process of its own
//! ([`super::helper`]). What each keeps, and that a peer sorts a list, is as in memory
//! ([`crate::workload::linkbench::home`]).
//!
//! Source: LiveGraph (VLDB 2020), section 7.2, tables 5 and 6, figure 8b.

use crate::disk_plan::{DiskPlan, DiskStore};
use crate::folder::make_folder;
use crate::line_process::Requests;
use crate::plan::Work;
use crate::race::{Race, Sample, order};
use crate::workload::disk::helper::{Assignment, Helper, HelperPart, limitable, started};
use crate::workload::disk::newest;
use crate::workload::disk::peers::open_durable_key_value;
use crate::workload::linkbench::home::{Home, clients, mix, network};
use crate::workload::linkbench::{
    CLIENTS, LATENCY_CLIENTS, MIXES, add_latencies, expect_alike, note_network, rate_heading,
};
use evergraph::{Database, Durability, EngineKind, Options};
use evergraph_graph::byte_size::ByteSize;
use evergraph_graph::error::{Error, Result};
use evergraph_measure::social::operation::{Mix, Shares};
use evergraph_measure::social::shape::Degrees;
use evergraph_report::disk_size::disk_bytes;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::path::Path;

const NAME: &str = "disk.linkbench";
/// Shares of writes, of a hundred, of the mixes that are counted besides.
const WRITES: [u32; 2] = [50, 100];

/// The stage of the short run; the check is stage 0.
const TRIED: u64 = 1;

/// Which operations clients take.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
enum Shared {
    /// Those of [`MIXES`], by place.
    Mix(usize),
    /// LinkBench's own with so many writes of a hundred.
    Writes(u32),
}

impl Shared {
    fn of(self, mix: &Mix) -> Mix {
        mix.with_shares(match self {
            Self::Mix(place) => MIXES[place].2,
            Self::Writes(percent) => Shares::DEFAULT.with_writes(f64::from(percent) / 100.0),
        })
    }
}

/// What a store is asked.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
enum Request {
    /// To be loaded, and tried by a short run: what takes the most memory.
    Fill,
    /// Mean, P99 and P999 of an operation, by clients of a stage.
    Latencies(Shared, u64),
    /// Operations a second, likewise.
    Rate(Shared, u64),
}

/// A store that is filled.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
struct Filled {
    /// Bytes of its files after the load.
    files_bytes: u64,
    /// What is seen by the operations that all do alike.
    seen: Vec<u64>,
}

/// A store with the network, and the clients' mix.
struct Member {
    home: Home,
    mix: Mix,
    files_bytes: u64,
}

/// Where a store is.
enum Place {
    Here(Box<Member>),
    Elsewhere(Helper),
}

/// Measures the mixes, then the newest edges of hubs.
///
/// # Errors
/// `corrupt` if a store answers otherwise than ours; what engines say.
pub fn measure(work: &mut Work<'_>) -> Result<()> {
    let plan = work.plan.disk.clone();
    let (mut names, mut places, mut expected) = (Vec::new(), Vec::new(), None);
    let wanted = |store: &DiskStore| !matches!(store, DiskStore::MemoryEngine | DiskStore::Fjall);
    for store in limitable(work, plan.stores().into_iter().filter(wanted).collect()) {
        let folder = work.place("disk-linkbench").join(store.name());
        let (place, filled): (Place, Filled) = if store.is_limited_by_system() {
            let part = (store, HelperPart::Linkbench);
            let Some((helper, filled)) = started(work, part, &plan, &folder, &Request::Fill)? else {
                continue;
            };
            (Place::Elsewhere(helper), filled)
        } else {
            let member = Member::filled(store, &folder, &plan, work.plan.seed, || Ok(()))?;
            let mut place = Place::Here(Box::new(member));
            let filled = place.ask(&plan, work.plan.seed, Request::Fill)?;
            (place, filled)
        };
        expect_alike(store.name(), &filled.seen, expected.get_or_insert_with(|| filled.seen.clone()))?;
        work.note(format!(
            "{}: files of {} after the load, {:.1} times the limit",
            store.name(),
            ByteSize(filled.files_bytes),
            filled.files_bytes as f64 / plan.limit_bytes as f64
        ));
        names.push(store.name());
        places.push(place);
    }
    // A stage is a time that no other has: clients of each begin after what those before them wrote.
    let mut stage = TRIED;
    for (at, (name, title, _)) in MIXES.into_iter().enumerate() {
        let mut rounds = Vec::new();
        for round in 0..plan.rounds {
            stage += 1;
            let mut measured = vec![[0.0; 3]; places.len()];
            for turn in order(round, places.len()) {
                measured[turn] =
                    places[turn].ask(&plan, work.plan.seed, Request::Latencies(Shared::Mix(at), stage))?;
            }
            rounds.push(measured);
        }
        add_latencies(work, (NAME, name, title), &names, &rounds);
        add_rates(work, &names, &mut places, Shared::Mix(at), (name, title), &mut stage)?;
    }
    for percent in WRITES {
        let title = (format!("writes_{percent}"), format!("{percent} % writes"));
        add_rates(work, &names, &mut places, Shared::Writes(percent), (&title.0, &title.1), &mut stage)?;
    }
    note_network(work, &degrees(&plan)?, plan.nodes, &format!("memory limit {}", ByteSize(plan.limit_bytes)));
    for place in places {
        match place {
            Place::Here(member) => member.home.close()?,
            Place::Elsewhere(helper) => work.note(helper.text()),
        }
    }
    newest::measure(work)
}

fn add_rates(
    work: &mut Work<'_>,
    names: &[&'static str],
    places: &mut [Place],
    shared: Shared,
    (name, title): (&str, &str),
    stage: &mut u64,
) -> Result<()> {
    let (plan, seed) = (work.plan.disk.clone(), work.plan.seed);
    let mut race = Race::new(names.iter().copied());
    for round in 0..plan.rounds {
        *stage += 1;
        race.round(round, |turn| {
            let rate: f64 = places[turn].ask(&plan, seed, Request::Rate(shared, *stage))?;
            Ok(Sample::elsewhere(rate))
        })?;
    }
    work.add_race(&rate_heading(NAME, name, title), &race);
    Ok(())
}

/// Works as a helper: fills its store, then does what it is asked.
///
/// # Errors
/// `io` if nobody listens.
pub fn serve(assignment: &Assignment, requests: Requests) -> Result<()> {
    let Assignment { store, plan, seed, folder, .. } = assignment;
    let prepare = || Member::filled(*store, folder, plan, *seed, || assignment.join());
    requests.serve(prepare, |member, request| member.reply(plan, *seed, request))
}

fn degrees(plan: &DiskPlan) -> Result<Degrees> {
    plan.distributions.as_deref().map_or(Ok(Degrees::PowerLaw), Degrees::read)
}

impl Member {
    /// A store of the network; what it needs besides is there before `begin`.
    fn filled(
        store: DiskStore,
        folder: &Path,
        plan: &DiskPlan,
        seed: u64,
        begin: impl FnOnce() -> Result<()>,
    ) -> Result<Self> {
        make_folder(folder)?;
        let (network, mix) = (network(&degrees(plan)?, plan.nodes, seed), mix(plan.nodes, seed));
        let home = match store {
            DiskStore::DiskEngine | DiskStore::MemoryEngine => {
                begin()?;
                let options = Options {
                    engine: Some(EngineKind::Disk),
                    durability: Durability::Sync,
                    memory_limit_bytes: plan.limit_bytes,
                    ..Options::default()
                };
                Home::ours(Database::open_with(folder.join("evergraph"), &options)?, network)?
            }
            _ => Home::peer(network, seed, || {
                begin()?;
                let peer = open_durable_key_value(store, folder, plan.limit_bytes)?;
                peer.ok_or_else(|| Error::invalid(format!("{} is no peer", store.name())))
            })?,
        };
        Ok(Self { home, mix, files_bytes: disk_bytes(folder)? })
    }

    fn reply(&self, plan: &DiskPlan, seed: u64, request: Request) -> Result<Value> {
        let time = plan.insert_time;
        match request {
            Request::Fill => {
                let seen = self.home.check(&self.mix, seed)?;
                let mut clients = clients(CLIENTS, seed, TRIED);
                self.home.rate(&mut clients, &Shared::Writes(50).of(&self.mix), time / 5)?;
                value(Filled { files_bytes: self.files_bytes, seen })
            }
            Request::Latencies(shared, stage) => {
                let mut clients = clients(LATENCY_CLIENTS, seed, stage);
                value(self.home.latencies(&mut clients, &shared.of(&self.mix), time)?)
            }
            Request::Rate(shared, stage) => {
                let mut clients = clients(CLIENTS, seed, stage);
                value(self.home.rate(&mut clients, &shared.of(&self.mix), time)?)
            }
        }
    }
}

impl Place {
    fn ask<T: DeserializeOwned>(&mut self, plan: &DiskPlan, seed: u64, request: Request) -> Result<T> {
        match self {
            Self::Here(member) => {
                serde_json::from_value(member.reply(plan, seed, request)?).map_err(|error| unreadable(&error))
            }
            Self::Elsewhere(helper) => helper.ask(&request),
        }
    }
}

fn value(reply: impl Serialize) -> Result<Value> {
    serde_json::to_value(reply).map_err(|error| unreadable(&error))
}

fn unreadable(error: &serde_json::Error) -> Error {
    Error::invalid(error.to_string())
}
