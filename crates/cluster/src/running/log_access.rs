//! Access to the log of a cluster, whichever engine keeps it: etcd, or NATS.

use crate::log::etcd::etcd_log::EtcdLog;
#[cfg(feature = "nats")]
use crate::log::nats::nats_log::NatsLog;
use crate::log::shared_log::SharedLog;
use crate::running::document::Document;
use crate::running::etcd_access::{EtcdAccess, EtcdTable};
use crate::running::nats_access::{NatsAccess, NatsTable};
use crate::running::server_files::CopyFile;
use evergraph_graph::error::{Error, Result};
use std::fmt;
use std::path::Path;
use std::task::Waker;

/// Where the log is, and who asks there.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum LogAccess {
    /// On etcd.
    Etcd(EtcdAccess),
    /// On NATS JetStream: in programs with the feature `nats`.
    Nats(NatsAccess),
}

/// A log of either engine, as the thread of a node owns it.
pub trait AnyLog: SharedLog + fmt::Debug + Send {}

impl<L: SharedLog + fmt::Debug + Send> AnyLog for L {}

impl LogAccess {
    /// What the tables say, one of which is there.
    pub(super) fn of(
        etcd: Option<EtcdTable>,
        nats: Option<NatsTable>,
        document: &Document,
        folder: &Path,
    ) -> Result<Self> {
        match (etcd, nats) {
            (Some(etcd), None) => EtcdAccess::of(etcd, document, folder).map(Self::Etcd),
            (None, Some(nats)) => NatsAccess::of(nats, document, folder).map(Self::Nats),
            (None, None) => Err(Error::invalid(format!(
                "{}: where the log is, is missing: a table [etcd], or [nats]",
                document.path().display()
            ))),
            (Some(_), Some(_)) => Err(Error::invalid(format!(
                "{}: a cluster has one log: [etcd] or [nats], not both",
                document.path().display()
            ))),
        }
    }

    /// What people call the engine.
    #[must_use]
    pub fn engine(&self) -> &'static str {
        match self {
            Self::Etcd(_) => "etcd",
            Self::Nats(_) => "NATS",
        }
    }

    /// Its servers, the nearest first, by their URLs.
    #[must_use]
    pub fn servers(&self) -> Vec<String> {
        match self {
            Self::Etcd(etcd) => etcd.endpoints.iter().map(ToString::to_string).collect(),
            Self::Nats(nats) => nats.servers.iter().map(ToString::to_string).collect(),
        }
    }

    /// Refuses what no log under `key` is opened with.
    ///
    /// # Errors
    /// `invalid`, with what is wrong; `not_found`, `io` for files that it names.
    pub(super) fn check(&self, key: String) -> Result<()> {
        match self {
            Self::Etcd(etcd) => etcd.options(key)?.check(),
            Self::Nats(nats) => {
                nats.options(&key)?.check()?;
                if cfg!(feature = "nats") { Ok(()) } else { Err(without_nats()) }
            }
        }
    }

    /// Opens the log under `key`, whose news wakes `waker`.
    ///
    /// # Errors
    /// `invalid` for options that cannot work, and for an engine that this program is built without; `not_found`, `io` for
    /// files that they name, and if the system gives no thread.
    pub fn open(&self, key: String, waker: Waker) -> Result<Box<dyn AnyLog>> {
        match self {
            Self::Etcd(etcd) => Ok(Box::new(EtcdLog::open(etcd.options(key)?, waker)?)),
            #[cfg(feature = "nats")]
            Self::Nats(nats) => Ok(Box::new(NatsLog::open(nats.options(&key)?, waker)?)),
            #[cfg(not(feature = "nats"))]
            Self::Nats(_) => Err(without_nats()),
        }
    }

    /// The same, with its files copied into the folder of a node.
    pub(super) fn copied(&self, copy: &CopyFile<'_>) -> Result<Self> {
        match self {
            Self::Etcd(etcd) => etcd.copied(copy).map(Self::Etcd),
            Self::Nats(nats) => nats.copied(copy).map(Self::Nats),
        }
    }

    /// The table of a node's file.
    pub(super) fn to_toml(&self) -> String {
        match self {
            Self::Etcd(etcd) => etcd.to_toml(),
            Self::Nats(nats) => nats.to_toml(),
        }
    }
}

fn without_nats() -> Error {
    Error::invalid(
        "this program is built without NATS: build it with the feature `nats`, or choose a log on etcd by URLs of http or https",
    )
}

impl From<EtcdAccess> for LogAccess {
    fn from(etcd: EtcdAccess) -> Self {
        Self::Etcd(etcd)
    }
}

impl From<NatsAccess> for LogAccess {
    fn from(nats: NatsAccess) -> Self {
        Self::Nats(nats)
    }
}
