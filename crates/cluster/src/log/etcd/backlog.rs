//! Backlog: the few newest messages, read one by one from the newest to the oldest.
//!
//! ```text
//! revision   12    15    16    19 |
//!                  15 <──16 <──19 <── each as of the revision before the one behind it
//!                first            └── the watch begins here, at once
//! ```
//!
//! Readers begin a new stream every second, a few messages back. etcd looks for what a watch has missed only every 100
//! ms, and until then it sends nothing, so that each beginning would hold up new messages. A watch that begins behind
//! the newest message gives new ones at once, and each one before it takes a request, which the member answers from its
//! own copy.

use crate::log::etcd::connection::Connection;
use crate::log::etcd::etcd_cluster::EtcdCluster;
use crate::log::etcd::failure::{CallFailure, FailureKind};
use crate::log::etcd::key_version::{Content, revision_of, version_as_of};
use crate::log::etcd::wire::KeyValue;
use crate::log::shared_log::LogError;
use crate::log_position::LogPosition;
use tokio::time::timeout;

/// Messages that are read one by one: readers go back by 16, and some came since. More are read forwards.
const MESSAGES_MAX: i64 = 32;

/// The messages between two positions.
#[derive(Clone, PartialEq, Debug, Default)]
pub(super) struct Backlog {
    /// How many versions the key had before them.
    pub(super) versions_before: i64,
    /// The messages, in order.
    pub(super) messages: Vec<KeyValue>,
}

/// Reads `first..=last` from a member that has everything up to `last`. `None` if that is much, or no longer there, or if
/// somebody deleted the key: it is read forwards then.
///
/// # Errors
/// [`LogError::Unavailable`] if the member does not answer.
pub(super) async fn read_backlog(
    connection: &Connection,
    cluster: &EtcdCluster,
    first: LogPosition,
    last: LogPosition,
) -> Result<Option<Backlog>, LogError> {
    let limit = cluster.time_limit();
    let reading =
        collect(first, last, |revision, content| version_as_of(connection, cluster, revision, content));
    let unavailable = |reason| Err(LogError::Unavailable { reason });
    match timeout(limit, reading).await {
        Ok(Ok(backlog)) => Ok(backlog),
        Ok(Err(failure)) if failure.kind == FailureKind::Compacted => Ok(None),
        Ok(Err(failure)) => unavailable(failure.reason),
        Err(_) => unavailable(format!("the newest messages took more than {limit:?}")),
    }
}

/// Collects `first..=last` by asking for versions as of revisions. The numbers of versions say how many there must be.
async fn collect<F, A>(
    first: LogPosition,
    last: LogPosition,
    version: F,
) -> Result<Option<Backlog>, CallFailure>
where
    F: Fn(i64, Content) -> A,
    A: Future<Output = Result<Option<KeyValue>, CallFailure>>,
{
    let (first, last) = (revision_of(first), revision_of(last));
    // Revision 0 is none: etcd takes it, and any below, for the newest one.
    let before = match first.saturating_sub(1).min(last).max(0) {
        0 => None,
        before => version(before, Content::Number).await?,
    };
    let versions_before = before.as_ref().map_or(0, |before| before.version);
    let nothing = || Some(Backlog { versions_before, messages: Vec::new() });
    if first > last {
        return Ok(nothing());
    }
    let Some(newest) = version(last, Content::Whole).await? else {
        return Ok(nothing().filter(|_| versions_before == 0));
    };
    if newest.mod_revision < first {
        return Ok(nothing().filter(|_| newest.version == versions_before));
    }
    // A key that was deleted and written again is another one: its versions are counted anew.
    let created = before.map_or(newest.create_revision, |before| before.create_revision);
    let count = newest.version - versions_before;
    if !(1..=MESSAGES_MAX).contains(&count) {
        return Ok(None);
    }
    let mut messages = Vec::new();
    let mut found = Some(newest);
    for number in (versions_before + 1..=versions_before + count).rev() {
        let is_it = |found: &KeyValue| {
            found.version == number && found.mod_revision >= first && found.create_revision == created
        };
        let Some(message) = found.filter(is_it) else { return Ok(None) };
        found = match number - versions_before {
            1 => None,
            _ => version(message.mod_revision - 1, Content::Whole).await?,
        };
        messages.push(message);
    }
    messages.reverse();
    Ok(Some(Backlog { versions_before, messages }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;
    use futures_util::FutureExt as _;
    use std::future::ready;

    fn key_value(mod_revision: i64, version: i64) -> KeyValue {
        of_life(1, mod_revision, version)
    }

    /// A version of the key that was created there.
    fn of_life(create_revision: i64, mod_revision: i64, version: i64) -> KeyValue {
        let value = Bytes::from(format!("m{mod_revision}"));
        KeyValue { create_revision, mod_revision, version, value }
    }

    /// What a member answers that has versions at these revisions, or nothing there any more for the number 0.
    fn collected(versions: &[(i64, i64)], first: u64, last: u64) -> Option<Backlog> {
        let as_of = |revision: i64, _| {
            assert!(revision > 0, "0 is the newest one");
            let found = versions.iter().rev().find(|(at, _)| *at <= revision);
            ready(Ok(found.filter(|(_, number)| *number > 0).map(|(at, number)| key_value(*at, *number))))
        };
        let collecting = collect(LogPosition(first), LogPosition(last), as_of);
        collecting.now_or_never().unwrap().unwrap()
    }

    fn backlog(versions_before: i64, messages: &[(i64, i64)]) -> Option<Backlog> {
        let messages = messages.iter().map(|(at, number)| key_value(*at, *number)).collect();
        Some(Backlog { versions_before, messages })
    }

    const VERSIONS: [(i64, i64); 4] = [(12, 4), (15, 5), (16, 6), (19, 7)];

    #[test]
    fn the_newest_messages_are_found_backwards() {
        assert_eq!(collected(&VERSIONS, 15, 19), backlog(4, &[(15, 5), (16, 6), (19, 7)]));
        assert_eq!(collected(&VERSIONS, 13, 30), backlog(4, &[(15, 5), (16, 6), (19, 7)]));
        assert_eq!(collected(&VERSIONS, 19, 19), backlog(6, &[(19, 7)]));
        for first in [0, 1] {
            assert_eq!(collected(&[(1, 1), (2, 2)], first, 2), backlog(0, &[(1, 1), (2, 2)]));
        }
    }

    #[test]
    fn where_nothing_is_new_nothing_is_found() {
        assert_eq!(collected(&VERSIONS, 20, 30), backlog(7, &[]), "others wrote other keys");
        assert_eq!(collected(&VERSIONS, 20, 19), backlog(7, &[]));
        assert_eq!(collected(&VERSIONS, 40, 19), backlog(7, &[]));
        assert_eq!(collected(&[], 1, 5), backlog(0, &[]), "an empty log");
    }

    #[test]
    fn what_is_much_or_does_not_fit_is_read_forwards() {
        let many: Vec<(i64, i64)> = (1..=MESSAGES_MAX + 1).map(|number| (number + 1, number)).collect();
        assert_eq!(collected(&many, 2, 99), None);
        assert_eq!(collected(&many, 3, 99).unwrap().messages.len(), 32);
        // Somebody deleted the key, or a version is not the one before the next.
        assert_eq!(collected(&[(12, 4), (15, 0)], 13, 20), None);
        assert_eq!(collected(&[(12, 4), (15, 0), (17, 1)], 13, 20), None);
        assert_eq!(collected(&[(12, 4), (16, 6), (19, 7)], 13, 20), None);
    }
    #[test]
    fn a_key_that_was_deleted_and_written_again_is_read_forwards_though_its_versions_fit() {
        // Version 1 of the first life, a deletion at 6, and three versions since.
        let lives = [of_life(5, 5, 1), of_life(7, 7, 1), of_life(7, 8, 2), of_life(7, 9, 3)];
        let as_of = |revision: i64, _| {
            let found = lives.iter().rev().find(|version| version.mod_revision <= revision);
            ready(Ok(found.filter(|_| revision != 6).cloned()))
        };
        let collected = |first, last| {
            collect(LogPosition(first), LogPosition(last), as_of).now_or_never().unwrap().unwrap()
        };
        assert_eq!(collected(6, 9), None, "version 1 of the new life would be left out");
        assert_eq!(collected(6, 8), None);
        let since = Backlog { versions_before: 1, messages: lives[2..].to_vec() };
        assert_eq!(collected(8, 9), Some(since), "nothing was deleted since");
    }
}
