//! Until: the position at which a replica has followed far enough.

use evergraph_replica::lsn::Lsn;
use std::str::FromStr;

/// Where following ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Until {
    /// At the end of the source's log as it is when following begins.
    Now,
    /// At this position.
    Position(Lsn),
}

impl FromStr for Until {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "now" => Ok(Self::Now),
            _ => text.parse().map(Self::Position).map_err(|_| {
                "expected now, or a position in PostgreSQL's log, such as 16/B374D848 (SELECT pg_current_wal_lsn())".to_owned()
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_is_now_or_a_position() {
        assert_eq!("now".parse(), Ok(Until::Now));
        assert_eq!("0/10".parse(), Ok(Until::Position(Lsn::new(16))));
        assert!("tomorrow".parse::<Until>().unwrap_err().contains("pg_current_wal_lsn"));
    }
}
