//! Replicas: whether the servers that have replicas of the stream sync every write, and are new enough.
//!
//! ```text
//! stream's leader says   m0, m1, m2                 who has a replica
//! monitoring ports say   m0: sync always, 2.15      asked when a connection begins, and every 10 s
//!                        m1: sync every 2 min  ───> refused
//!                        m2: no answer             a server that is down: the others go on
//! ```
//!
//! A majority must have said so. The rest may be down, which is what replicas are for; once they are back they are asked
//! as well. A log whose servers say otherwise is refused until they don't.

use crate::log::nats::api::{ClusterInfo, ServerVariables, version_of};
use crate::planted::{Bug, planted};
use std::collections::BTreeMap;

/// The oldest version that is used. Jepsen found, and NATS repaired since, losses in those before.
pub(super) const VERSION_MIN: (u32, u32) = (2, 12);

/// What servers have said of themselves, by their names.
#[derive(Debug, Default)]
pub(super) struct Replicas {
    answers: BTreeMap<String, Result<(), String>>,
}

impl Replicas {
    /// Whether a server can be used for a log.
    ///
    /// # Errors
    /// Why not, and what to set.
    pub(super) fn check_server(variables: &ServerVariables) -> Result<(), String> {
        let ServerVariables { server_name: name, version, jetstream } = variables;
        check_version(version).map_err(|why| format!("the server {name} {why}"))?;
        match &jetstream.config {
            Some(config) if config.sync_always || planted(Bug::UnsyncedReplicaTaken) => Ok(()),
            Some(config) => {
                let seconds = config.sync_interval / 1_000_000_000;
                Err(format!(
                    "the server {name} syncs every {seconds} s, and loses messages that it has acknowledged when its machine \
                     loses its power: set `sync_interval: always` below `jetstream` in its configuration, and start it again"
                ))
            }
            None => Err(format!("the server {name} has no JetStream")),
        }
    }

    /// Takes what a server said. What it said before counts no more.
    pub(super) fn learn(&mut self, variables: &ServerVariables) {
        self.answers.insert(variables.server_name.clone(), Self::check_server(variables));
    }

    /// Whether those of `cluster` can be trusted with a log. `unreachable` says which monitoring ports did not answer.
    ///
    /// # Errors
    /// Why not, and what to set.
    pub(super) fn check(&self, cluster: &ClusterInfo, unreachable: &[String]) -> Result<(), String> {
        let names: Vec<&str> = cluster
            .leader
            .iter()
            .map(String::as_str)
            .chain(cluster.replicas.iter().map(|peer| peer.name.as_str()))
            .collect();
        let mut unknown = Vec::new();
        for name in &names {
            match self.answers.get(*name) {
                Some(Ok(())) => {}
                Some(Err(why)) => return Err(why.clone()),
                None => unknown.push(*name),
            }
        }
        let known = names.len() - unknown.len();
        if 2 * known > names.len() {
            return Ok(());
        }
        // The leader came first, whoever that is.
        unknown.sort_unstable();
        let why =
            if unreachable.is_empty() { String::new() } else { format!(" ({})", unreachable.join("; ")) };
        Err(format!(
            "whether the servers {} sync every write is not known{why}: name the monitoring ports of all of them, which the \
             setting `http` of a server opens",
            unknown.join(", ")
        ))
    }
}

/// Whether a version is new enough.
///
/// # Errors
/// What it is, and what is needed.
pub(super) fn check_version(version: &str) -> Result<(), String> {
    match version_of(version) {
        Some(found) if found >= VERSION_MIN => Ok(()),
        _ => {
            let (major, minor) = VERSION_MIN;
            Err(format!("is NATS {version}, and a log needs {major}.{minor} or newer"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::nats::api::{JetStreamConfig, JetStreamVariables, PeerInfo};
    use crate::planted::assert_found;

    fn server(name: &str, version: &str, sync_always: bool) -> ServerVariables {
        let config = Some(JetStreamConfig { sync_always, sync_interval: 120_000_000_000 });
        let jetstream = JetStreamVariables { config };
        ServerVariables { server_name: name.to_owned(), version: version.to_owned(), jetstream }
    }

    fn cluster() -> ClusterInfo {
        let peer = |name: &str| PeerInfo { name: name.to_owned() };
        ClusterInfo { leader: Some("m0".to_owned()), replicas: vec![peer("m1"), peer("m2")] }
    }

    #[test]
    fn a_replica_that_does_not_sync_has_the_log_refused_until_it_does() {
        let mut replicas = Replicas::default();
        for name in ["m0", "m1"] {
            replicas.learn(&server(name, "2.12.0", true));
        }
        replicas.check(&cluster(), &[]).unwrap();
        replicas.learn(&server("m2", "2.12.0", false));
        let refused = replicas.check(&cluster(), &[]);
        assert!(refused.is_err(), "an unsynced replica");
        let said = refused.unwrap_err();
        assert!(
            said.contains("server m2 syncs every 120 s") && said.contains("sync_interval: always"),
            "{said}"
        );
        // A server that has no replica may be as it likes.
        replicas.learn(&server("m9", "2.1.0", false));
        replicas.learn(&server("m2", "2.12.0", true));
        replicas.check(&cluster(), &[]).unwrap();
        replicas.learn(&server("m1", "2.11.9", true));
        assert!(replicas.check(&cluster(), &[]).unwrap_err().contains("2.12 or newer"));
        let without = JetStreamVariables::default();
        let without = ServerVariables { jetstream: without, ..server("m0", "2.15.1", true) };
        assert!(Replicas::check_server(&without).unwrap_err().contains("no JetStream"));
    }

    #[test]
    fn a_majority_must_have_answered() {
        let mut replicas = Replicas::default();
        replicas.learn(&server("m2", "2.15.1", true));
        let said = replicas.check(&cluster(), &["http://a:8222: refused".to_owned()]).unwrap_err();
        assert!(
            said.contains("the servers m0, m1 sync") && said.contains("http://a:8222: refused"),
            "{said}"
        );
        replicas.learn(&server("m0", "2.15.1", true));
        replicas.check(&cluster(), &[]).unwrap();
    }

    #[test]
    fn planted_bugs_are_found() {
        let refused = a_replica_that_does_not_sync_has_the_log_refused_until_it_does;
        assert_found(Bug::UnsyncedReplicaTaken, refused, "an unsynced replica");
    }
}
