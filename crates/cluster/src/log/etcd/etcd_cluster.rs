//! Cluster: what every connection of a log shares: the members, the key, how to reach them, and which cluster it is.

use crate::log::etcd::options::{EtcdEndpoint, EtcdLogin, EtcdOptions};
use crate::log::etcd::wire::StatusResponse;
use crate::log::tls;
use crate::planted::{Bug, planted};
use bytes::Bytes;
use evergraph_graph::error::Result;
use evergraph_storage::sync::Mutex;
use rustls::ClientConfig;
use std::sync::Arc;
use std::time::Duration;

/// The oldest version that tells on demand that it lives: see `WatchProgressRequest`.
const VERSION_MIN: (u32, u32) = (3, 4);

/// HTTP/2, as servers of gRPC call it in TLS.
pub(super) const ALPN: &[u8] = b"h2";

/// A cluster of etcd, as one log uses it.
///
/// # Concurrency
///
/// Connections, on any thread, read everything; the cluster's number is behind a lock that is held for a comparison.
pub(super) struct EtcdCluster {
    endpoints: Vec<EtcdEndpoint>,
    key: Bytes,
    tls: Option<Arc<ClientConfig>>,
    login: Option<EtcdLogin>,
    time_limit: Duration,
    /// Its number, once a member has told it.
    id: Mutex<Option<u64>>,
}

impl EtcdCluster {
    /// Reads the files that `options` name. Nobody is asked yet.
    ///
    /// # Errors
    /// `invalid`, `not_found` or `io`, by what is wrong with the options or their files.
    pub(super) fn new(options: EtcdOptions) -> Result<Self> {
        options.check()?;
        let tls = options.tls.as_ref().map(|tls| tls::client_config(tls, Some(ALPN))).transpose()?;
        let EtcdOptions { endpoints, key, login, time_limit, .. } = options;
        Ok(Self { endpoints, key: key.into(), tls, login, time_limit, id: Mutex::new(None) })
    }

    /// The members, the preferred one first.
    pub(super) fn endpoints(&self) -> &[EtcdEndpoint] {
        &self.endpoints
    }

    /// The key whose versions are the messages.
    pub(super) fn key(&self) -> Bytes {
        self.key.clone()
    }

    /// How to begin TLS; `None` without.
    pub(super) fn tls(&self) -> Option<Arc<ClientConfig>> {
        self.tls.clone()
    }

    /// Who logs in.
    pub(super) fn login(&self) -> Option<&EtcdLogin> {
        self.login.as_ref()
    }

    /// How long a request may take.
    pub(super) fn time_limit(&self) -> Duration {
        self.time_limit
    }

    /// Whether a member is one that a log can use, and of the same cluster as those before.
    ///
    /// # Errors
    /// Why not.
    pub(super) fn check(&self, status: &StatusResponse) -> std::result::Result<(), String> {
        if version_of(&status.version).is_none_or(|version| version < VERSION_MIN) {
            return Err(format!("it is etcd {}, and a log needs 3.4 or newer", status.version));
        }
        if status.is_learner {
            return Err("it is a learner, which refuses requests".to_owned());
        }
        let Some(header) = &status.header else {
            return Err("it does not say of which cluster it is".to_owned());
        };
        let mut id = self.id.lock();
        let known = *id.get_or_insert(header.cluster_id);
        if known == header.cluster_id || planted(Bug::OtherClusterAccepted) {
            return Ok(());
        }
        Err(format!(
            "it is of the cluster {:x}, and the log is in {known:x}: name members of one cluster; start \
             again if it was restored into a new one",
            header.cluster_id
        ))
    }
}

/// 3 and 4 of `3.4.23`.
fn version_of(version: &str) -> Option<(u32, u32)> {
    let mut parts = version.split('.');
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::etcd::wire::ResponseHeader;
    use crate::planted::assert_found;

    fn cluster() -> EtcdCluster {
        EtcdCluster::new(EtcdOptions::new(vec!["http://a".parse().unwrap()], "log")).unwrap()
    }

    fn status(version: &str, cluster_id: u64) -> StatusResponse {
        let header = Some(ResponseHeader { cluster_id, revision: 1 });
        StatusResponse { header, version: version.to_owned(), ..StatusResponse::default() }
    }

    #[test]
    fn members_of_one_cluster_are_used_and_no_others() {
        let cluster = cluster();
        cluster.check(&status("3.4.23", 0xabc)).unwrap();
        cluster.check(&status("3.6.0-rc.1", 0xabc)).unwrap();
        let other = cluster.check(&status("3.4.23", 0xdef));
        assert!(other.is_err(), "a member of another cluster");
        let told = other.unwrap_err();
        assert!(told.contains("cluster def") && told.contains("in abc"), "{told}");
    }

    #[test]
    fn a_member_that_cannot_serve_a_log_says_why() {
        let cluster = cluster();
        for (version, why) in [("3.3.27", "3.3.27"), ("2", "etcd 2,"), ("", "3.4 or newer")] {
            let told = cluster.check(&status(version, 1)).unwrap_err();
            assert!(told.contains(why), "{told}");
        }
        let learner = StatusResponse { is_learner: true, ..status("3.4.23", 1) };
        assert!(cluster.check(&learner).unwrap_err().contains("learner"));
        let nameless = StatusResponse { header: None, ..status("3.4.23", 1) };
        assert!(cluster.check(&nameless).is_err());
        cluster.check(&status("10.0.1", 2)).unwrap();
    }

    #[test]
    fn options_that_cannot_work_are_refused_before_anybody_is_asked() {
        assert!(EtcdCluster::new(EtcdOptions::new(Vec::new(), "log")).is_err());
    }

    #[test]
    fn planted_bugs_are_found() {
        let others = members_of_one_cluster_are_used_and_no_others;
        assert_found(Bug::OtherClusterAccepted, others, "a member of another cluster");
    }
}
