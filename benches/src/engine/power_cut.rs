//! Power cut: what it costs of commits that an engine acknowledged, so that like is compared with like.

use crate::engine::kind::Kind;
use crate::engine::store::Commit;

/// What a power cut may cost of acknowledged commits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PowerCut {
    /// Each was on stable storage.
    Nothing,
    /// Their log was with the system, which hadn't written its end yet.
    LastCommits,
    /// Pages were with the system: those of the last commits go, and the whole is damaged if the system wrote later
    /// pages before earlier ones.
    LastCommitsOrAll,
    /// They were in the process alone, until the next durable one: a killed process loses as much.
    AllUnsynced,
    /// Pages are changed where they lie, and written in any order: the whole is damaged.
    All,
}

impl PowerCut {
    /// What it costs of commits of `kind`.
    #[must_use]
    pub const fn of(kind: Kind, commit: Commit) -> Self {
        match (commit, kind) {
            (Commit::Durable, _) => Self::Nothing,
            (Commit::Unsynced, Kind::Evergraph | Kind::Fjall) => Self::LastCommits,
            #[cfg(feature = "rocksdb")]
            (Commit::Unsynced, Kind::RocksDb) => Self::LastCommits,
            (Commit::Unsynced, Kind::Lmdb) => Self::LastCommitsOrAll,
            (Commit::Unsynced, Kind::Redb) => Self::AllUnsynced,
            (Commit::Unsynced, Kind::LmdbMap) => Self::All,
        }
    }

    /// As a table has it.
    #[must_use]
    pub const fn text(self) -> &'static str {
        match self {
            Self::Nothing => "loses nothing",
            Self::LastCommits => "loses the last commits",
            Self::LastCommitsOrAll => "loses the last commits, perhaps all",
            Self::AllUnsynced => "loses all since a durable commit",
            Self::All => "may lose all",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn engines_whose_goals_are_ours_keep_the_same_promise_and_a_writable_map_does_not() {
        let of = |kind| PowerCut::of(kind, Commit::Unsynced);
        for kind in Kind::UNSYNCED {
            assert_eq!(PowerCut::of(*kind, Commit::Durable), PowerCut::Nothing);
        }
        assert_eq!(of(Kind::Evergraph), PowerCut::LastCommits);
        assert_eq!(of(Kind::Fjall), of(Kind::Evergraph));
        #[cfg(feature = "rocksdb")]
        assert_eq!(of(Kind::RocksDb), of(Kind::Evergraph));
        assert_eq!(of(Kind::LmdbMap), PowerCut::All);
    }
}
