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
use crate::memory_group::{MemoryGroup, join};
use crate::plan::Work;
use evergraph_graph::error::{Error, ErrorKind, Result};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::env;
use std::fmt::Display;
use std::fs;
use std::io::{BufRead as _, BufReader, Lines, StdinLock, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

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

/// What goes wrong in a helper.
#[derive(Debug, Serialize, Deserialize)]
struct Failure {
    kind: String,
    text: String,
}

/// A helper at work, as the harness sees it.
pub struct Helper {
    store: DiskStore,
    process: Child,
    requests: Option<ChildStdin>,
    replies: Lines<BufReader<ChildStdout>>,
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
        let program = env::current_exe().map_err(|error| failed(store, &error))?;
        let mut process = Command::new(program)
            .arg(ARGUMENT)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| failed(store, &error))?;
        let requests = process.stdin.take();
        let replies = process.stdout.take().expect("it was asked for");
        let replies = BufReader::new(replies).lines();
        let assignment = Assignment {
            store,
            part,
            plan: plan.clone(),
            seed,
            folder: folder.to_owned(),
            group: group.folder().to_owned(),
        };
        let mut helper = Self { store, process, requests, replies, group };
        helper.say(&assignment)?;
        Ok(helper)
    }

    /// The reply to a request.
    ///
    /// # Errors
    /// That of the helper; `limit` if the system ended it, as it does where a group has no memory left.
    pub fn ask<T: DeserializeOwned>(&mut self, request: &impl Serialize) -> Result<T> {
        self.say(request)?;
        let Some(line) = self.replies.next() else { return Err(self.ended()) };
        let line = line.map_err(|error| failed(self.store, &error))?;
        let reply: std::result::Result<Value, Failure> = parsed(&line)?;
        let reply = reply.map_err(|failure| Error::new(kind(&failure.kind), failure.text))?;
        serde_json::from_value(reply).map_err(|error| failed(self.store, &error))
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

    fn say(&mut self, request: &impl Serialize) -> Result<()> {
        let line = serde_json::to_string(request).map_err(|error| failed(self.store, &error))?;
        let requests = self.requests.as_mut().expect("requests end when it is dropped");
        if writeln!(requests, "{line}").and_then(|()| requests.flush()).is_err() {
            return Err(self.ended());
        }
        Ok(())
    }

    /// Why there is no reply.
    fn ended(&mut self) -> Error {
        let how = self.process.wait().map_or_else(|error| error.to_string(), |status| status.to_string());
        let text = format!("the process of {} ended: {how}; it had {}", self.store.name(), self.group.text());
        Error::new(ErrorKind::Limit, text)
    }
}

impl Drop for Helper {
    fn drop(&mut self) {
        // It ends by itself when there are no more requests; the group ends after it.
        drop(self.requests.take());
        drop(self.process.wait());
    }
}

/// The helper's end: requests as they come.
pub struct Requests(Lines<StdinLock<'static>>);

impl Requests {
    /// Those of this process, of which the first is its assignment.
    ///
    /// # Errors
    /// `invalid` if nobody assigned anything.
    pub fn begin() -> Result<(Assignment, Self)> {
        let mut lines = std::io::stdin().lines();
        let first = lines.next().and_then(std::result::Result::ok);
        let first = first.ok_or_else(|| Error::invalid("a helper is started by the harness alone"))?;
        Ok((parsed(&first)?, Self(lines)))
    }

    /// Replies to all requests by `reply`, until there are no more; `prepare` comes before the first.
    ///
    /// # Errors
    /// `io` if nobody listens.
    pub fn serve<S, Q: DeserializeOwned, R: Serialize>(
        self,
        prepare: impl Fn() -> Result<S>,
        mut reply: impl FnMut(&mut S, Q) -> Result<R>,
    ) -> Result<()> {
        let mut prepared = None;
        for line in self.0 {
            let line = line.map_err(|error| Error::new(ErrorKind::Io, error.to_string()))?;
            let reply = parsed(&line).and_then(|request| {
                let state = match prepared.take() {
                    Some(state) => state,
                    None => prepare()?,
                };
                reply(prepared.insert(state), request)
            });
            let reply = reply
                .map_err(|error| Failure { kind: error.kind().name().to_owned(), text: error.to_string() });
            let line = serde_json::to_string(&reply).map_err(|error| Error::invalid(error.to_string()))?;
            let mut replies = std::io::stdout();
            let done = writeln!(replies, "{line}").and_then(|()| replies.flush());
            done.map_err(|error| Error::new(ErrorKind::Io, error.to_string()))?;
        }
        Ok(())
    }
}

/// That of a name. What the harness doesn't tell apart is `io`.
fn kind(name: &str) -> ErrorKind {
    let kinds = [ErrorKind::Limit, ErrorKind::Cancelled, ErrorKind::Corrupt, ErrorKind::Invalid];
    kinds.into_iter().find(|kind| kind.name() == name).unwrap_or(ErrorKind::Io)
}

fn parsed<T: DeserializeOwned>(line: &str) -> Result<T> {
    serde_json::from_str(line).map_err(|error| Error::invalid(format!("{error} in {line}")))
}

fn failed(store: DiskStore, error: &dyn Display) -> Error {
    Error::new(ErrorKind::Io, format!("a process for {}: {error}", store.name()))
}
