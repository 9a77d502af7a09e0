//! `ErrorNews`: what a journal hears of a replica's errors: each new one, and when it follows again.

use evergraph_replica::status::{ReplicaState, ReplicaStatus};
use evergraph_terminal::table::visible;

/// What was told of a replica's errors.
#[derive(Debug, Default)]
pub struct ErrorNews {
    error: Option<String>,
    restarts: u64,
    /// A stream broke off, and nobody was told that it follows again.
    is_broken: bool,
}

impl ErrorNews {
    /// What to tell, now that the status is `status`. An error that stays the same is told once until the replica follows again.
    pub fn of(&mut self, status: &ReplicaStatus) -> Option<String> {
        let broke_off = status.restarts > self.restarts;
        self.restarts = status.restarts;
        if let Some(error) = &status.last_error
            && (self.error.as_ref() != Some(error) || (broke_off && !self.is_broken))
        {
            self.error = Some(error.clone());
            self.is_broken |= broke_off;
            return Some(visible(error));
        }
        if self.is_broken && status.state == ReplicaState::Following {
            self.is_broken = false;
            return Some(format!("follows again, from {}", status.position));
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evergraph_replica::lsn::Lsn;

    #[test]
    fn an_error_is_told_once_until_the_replica_follows_again() {
        let mut status: ReplicaStatus = serde_json::from_value(serde_json::json!({
            "state": "following", "source": "db/shop", "slot": "s", "publication": "p", "position": "0/0",
            "committed_at": null, "source_position": "0/0", "confirmed": "0/0", "lag_bytes": 0, "lag_ms": 0,
            "rows_per_second": 0.0, "rows": 0, "transactions": 0, "waiting_rows": 0, "losses": [], "restarts": 0,
            "retained_bytes": null, "is_retained_alarm": false, "last_error": null
        }))
        .unwrap();
        let mut news = ErrorNews::default();
        assert_eq!(news.of(&status), None);
        status.last_error = Some("rows are\nhidden".into());
        assert_eq!(news.of(&status).as_deref(), Some("rows are\\nhidden"));
        assert_eq!(news.of(&status), None, "it followed all the time");
        for position in [7, 9] {
            (status.state, status.last_error) = (ReplicaState::Reconnecting, Some("no space".into()));
            status.restarts += 1;
            assert_eq!(news.of(&status).as_deref(), Some("no space"), "{position}");
            status.restarts += 1;
            assert_eq!(news.of(&status), None, "it is the same");
            (status.state, status.position) = (ReplicaState::Following, Lsn::new(position));
            assert_eq!(news.of(&status), Some(format!("follows again, from 0/{position}")));
            assert_eq!(news.of(&status), None);
        }
        // Too quick for anybody to see that it did not follow.
        status.restarts += 1;
        assert_eq!(news.of(&status).as_deref(), Some("no space"));
        assert!(news.of(&status).unwrap().starts_with("follows again"));
    }
}
