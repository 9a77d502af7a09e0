//! Open settings: how a database is opened, as Python says it, as options, and in words for whoever opens it again.

use crate::error::invalid;
use crate::handle::{READ_ONLY, Setting};
use crate::transaction_options::{isolation, seconds};
use evergraph::{Durability, EngineKind, Options, PersistentMemory};
use evergraph_replica::follow::options::SYNC_INTERVAL;
use pyo3::prelude::*;
use std::borrow::Cow;

/// How a database is opened: what is `None` is as it is by default.
#[derive(FromPyObject)]
pub struct OpenSettings {
    #[pyo3(item)]
    create: bool,
    #[pyo3(item)]
    read_only: bool,
    #[pyo3(item)]
    engine: Option<String>,
    #[pyo3(item)]
    persistent_memory: Option<String>,
    #[pyo3(item)]
    durability: Option<String>,
    #[pyo3(item)]
    sync_interval: Option<f64>,
    #[pyo3(item)]
    isolation: Option<String>,
    #[pyo3(item)]
    transaction_timeout: Option<f64>,
    #[pyo3(item)]
    transaction_bytes_max: Option<u64>,
    #[pyo3(item)]
    stall_max: Option<f64>,
    #[pyo3(item)]
    memory_limit: Option<u64>,
    #[pyo3(item)]
    io_threads: Option<usize>,
    #[pyo3(item)]
    compaction_threads: Option<usize>,
    #[pyo3(item)]
    checkpoint_after_bytes: Option<u64>,
    #[pyo3(item)]
    log_file_bytes: Option<u64>,
    #[pyo3(item)]
    live_bytes_max: Option<u64>,
}

impl OpenSettings {
    /// Those of a database that follows a source, which is made if it is not there. What a power cut takes is sent again, so
    /// that its log is synced rarely.
    #[must_use]
    pub fn of_replica(memory_limit: Option<u64>, transaction_bytes_max: Option<u64>) -> Self {
        Self {
            create: true,
            read_only: false,
            engine: None,
            persistent_memory: None,
            durability: Some("interval".to_owned()),
            sync_interval: Some(SYNC_INTERVAL.as_secs_f64()),
            isolation: None,
            transaction_timeout: None,
            transaction_bytes_max,
            stall_max: None,
            memory_limit,
            io_threads: None,
            compaction_threads: None,
            checkpoint_after_bytes: None,
            log_file_bytes: None,
            live_bytes_max: None,
        }
    }

    /// What they mean.
    ///
    /// # Errors
    /// `InvalidError` for what is no setting.
    pub fn options(&self, py: Python<'_>) -> PyResult<Options> {
        let engine = self.engine.as_deref().map(|name| engine(py, name)).transpose()?;
        let mut options = Options { create: self.create, engine, ..Options::default() };
        if let Some(name) = &self.persistent_memory {
            options.persistent_memory = persistent_memory(py, name)?;
        }
        match (self.durability.as_deref(), self.sync_interval) {
            (None | Some("sync"), None) => {}
            (Some("none"), None) => options.durability = Durability::None,
            (Some("interval"), interval) => {
                let interval = seconds(py, "sync_interval", interval.unwrap_or(0.1))?;
                options.durability = Durability::Interval(interval);
            }
            (_, Some(_)) => return Err(invalid(py, "sync_interval needs durability=\"interval\"")),
            (Some(name), None) => {
                let text = format!("durability {name:?}: expected \"sync\", \"interval\" or \"none\"");
                return Err(invalid(py, text));
            }
        }
        if let Some(name) = &self.isolation {
            options.isolation = isolation(py, name)?;
        }
        if let Some(timeout) = self.transaction_timeout {
            options.transaction_timeout = seconds(py, "transaction_timeout", timeout)?;
        }
        if let Some(stall) = self.stall_max {
            options.stall_max = seconds(py, "stall_max", stall)?;
        }
        for (asked, option) in [
            (self.transaction_bytes_max, &mut options.transaction_bytes_max),
            (self.memory_limit, &mut options.memory_limit_bytes),
            (self.checkpoint_after_bytes, &mut options.checkpoint_after_bytes),
            (self.log_file_bytes, &mut options.log_file_bytes),
            (self.live_bytes_max, &mut options.live_bytes_max),
        ] {
            *option = asked.unwrap_or(*option);
        }
        if let Some(threads) = self.io_threads {
            if threads == 0 {
                return Err(invalid(py, "io_threads is 0, but must be at least 1"));
            }
            options.io_threads = threads;
        }
        options.compaction_threads = self.compaction_threads.unwrap_or(options.compaction_threads);
        Ok(options)
    }
}

impl OpenSettings {
    /// What they are, for whoever opens the same database once more.
    #[must_use]
    pub fn in_words(&self) -> Vec<Setting> {
        let words = |number: Option<f64>| number.map(|number| number.to_string());
        let defaults = Options::default();
        vec![
            // Always chosen: a database that is read here is not written.
            setting(READ_ONLY, Some(self.read_only.to_string()), "false"),
            setting("engine", self.engine.clone(), EngineKind::Memory.name()),
            setting("persistent_memory", self.persistent_memory.clone(), PersistentMemory::default().name()),
            setting("durability", self.durability.clone(), "sync"),
            setting("sync_interval", words(self.sync_interval), "0.1"),
            setting("isolation", self.isolation.clone(), "snapshot"),
            setting("transaction_timeout", words(self.transaction_timeout), "none"),
            number("transaction_bytes_max", self.transaction_bytes_max, defaults.transaction_bytes_max),
            setting("stall_max", words(self.stall_max), "10"),
            setting("memory_limit", self.memory_limit.map(|bytes| bytes.to_string()), "none"),
            number("io_threads", self.io_threads, defaults.io_threads),
            number("compaction_threads", self.compaction_threads, defaults.compaction_threads),
            number("checkpoint_after_bytes", self.checkpoint_after_bytes, defaults.checkpoint_after_bytes),
            number("log_file_bytes", self.log_file_bytes, defaults.log_file_bytes),
            number("live_bytes_max", self.live_bytes_max, defaults.live_bytes_max),
        ]
    }
}

/// A choice in words, and what it is otherwise.
fn setting(name: &'static str, asked: Option<String>, default: impl Into<Cow<'static, str>>) -> Setting {
    Setting { name, asked, default: default.into() }
}

/// The same of a number.
fn number<T: ToString + Copy>(name: &'static str, asked: Option<T>, default: T) -> Setting {
    setting(name, asked.map(|asked| asked.to_string()), default.to_string())
}

/// The choice with this name.
fn persistent_memory(py: Python<'_>, name: &str) -> PyResult<PersistentMemory> {
    name.parse().map_err(|_| {
        let names = PersistentMemory::ALL.map(|memory| format!("\"{memory}\""));
        let [first, second, third] = names;
        invalid(py, format!("persistent_memory {name:?}: expected {first}, {second} or {third}"))
    })
}

/// The engine with this name.
///
/// # Errors
/// `InvalidError` for another name.
pub fn engine(py: Python<'_>, name: &str) -> PyResult<EngineKind> {
    let known = EngineKind::named(name);
    let expected = "expected \"memory\", \"disk\" or \"mapped\"";
    known.ok_or_else(|| invalid(py, format!("engine {name:?}: {expected}")))
}
