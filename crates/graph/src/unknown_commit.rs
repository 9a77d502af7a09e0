//! `UnknownCommit`: a transaction of a cluster of which nobody knows yet whether it has committed.
//!
//! ```text
//! 2.7.143@57-00c0ffee00c0ffee      record 143 that node 2 wrote between its starts 7 and 8; it reads the snapshot at 57
//!            proof
//! ```
//!
//! The text is made to be kept and handed on: by a message, by a client to any node that it asks. Whoever asks calls off a
//! transaction that has not committed yet, so its name must not be guessed: the proof is a hash of the rest that only nodes of the
//! cluster can compute. Whoever has the name may settle it.

use crate::error::{Error, ErrorKind, Result};
use crate::timestamp::Timestamp;
use std::error::Error as StdError;
use std::fmt;
use std::str::FromStr;

/// Names a transaction whose outcome is unknown: the cause of an error of kind `unknown`. Any node of the cluster can be asked
/// what became of it, as long as the log is remembered.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct UnknownCommit {
    /// The node that wrote its record.
    pub node: u16,
    /// How often that node had started before.
    pub incarnation: u32,
    /// The node's number for the record.
    pub number: u64,
    /// The snapshot that it reads.
    pub since: Timestamp,
    /// What only a node of the cluster can compute of the rest.
    pub proof: u64,
}

impl fmt::Display for UnknownCommit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { node, incarnation, number, since, proof } = self;
        write!(f, "{node}.{incarnation}.{number}@{since}-{proof:016x}")
    }
}

impl FromStr for UnknownCommit {
    type Err = Error;

    /// Reads what `Display` writes, and nothing else.
    fn from_str(text: &str) -> Result<Self> {
        let read = || {
            let (record, since) = text.split_once('@')?;
            let (since, proof) = since.split_once('-')?;
            let (node, record) = record.split_once('.')?;
            let (incarnation, number) = record.split_once('.')?;
            Some(Self {
                node: node.parse().ok()?,
                incarnation: incarnation.parse().ok()?,
                number: number.parse().ok()?,
                since: Timestamp(since.parse().ok()?),
                proof: u64::from_str_radix(proof, 16).ok()?,
            })
        };
        // Numbers are read with a sign or leading zeros as well.
        read().filter(|commit| commit.to_string() == text).ok_or_else(|| {
            Error::invalid(format!(
                "{text:?} names no transaction: one is written as in \"2.7.143@57-00c0ffee00c0ffee\""
            ))
        })
    }
}

impl StdError for UnknownCommit {}

impl From<UnknownCommit> for Error {
    fn from(commit: UnknownCommit) -> Self {
        let text = format!(
            "it is not known whether transaction {commit} has committed: ask what became of it before it is run again"
        );
        Self::new(ErrorKind::Unknown, text).because(commit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn commit() -> UnknownCommit {
        let (since, proof) = (Timestamp(57), 0x00c0_ffee_00c0_ffee);
        UnknownCommit { node: 2, incarnation: 7, number: 143, since, proof }
    }

    proptest! {
        #[test]
        fn the_text_of_a_commit_is_read_back(
            node in any::<u16>(),
            incarnation in any::<u32>(),
            number in any::<u64>(),
            since in any::<u64>(),
            proof in any::<u64>(),
        ) {
            let commit = UnknownCommit { node, incarnation, number, since: Timestamp(since), proof };
            prop_assert_eq!(commit.to_string().parse::<UnknownCommit>().ok(), Some(commit));
        }

        #[test]
        fn any_text_is_a_commit_or_invalid(text in "[0-9a-f.@+ -]{0,40}") {
            match text.parse::<UnknownCommit>() {
                Ok(commit) => prop_assert_eq!(commit.to_string(), text),
                Err(error) => prop_assert_eq!(error.kind(), ErrorKind::Invalid),
            }
        }
    }

    #[test]
    fn the_text_of_a_commit_stays_as_it_is() {
        assert_eq!(commit().to_string(), "2.7.143@57-00c0ffee00c0ffee");
        let most = "65535.4294967295.18446744073709551615@18446744073709551615-ffffffffffffffff";
        assert!(most.parse::<UnknownCommit>().is_ok());
    }

    #[test]
    fn what_is_no_commit_is_refused_by_its_text() {
        for text in [
            "",
            "2.7.143",
            "2.7.143@57",
            "2.7@57-00c0ffee00c0ffee",
            "2.7.143@-00c0ffee00c0ffee",
            "2.7.143@57-",
            "2.7.143@57-c0ffee00c0ffee",
            "2.7.143@57-00C0FFEE00C0FFEE",
            "2.7.1.43@57-00c0ffee00c0ffee",
            "65536.7.143@57-00c0ffee00c0ffee",
            "+2.7.143@57-00c0ffee00c0ffee",
            "2.07.143@57-00c0ffee00c0ffee",
        ] {
            let refused = text.parse::<UnknownCommit>().unwrap_err();
            assert_eq!(refused.kind(), ErrorKind::Invalid);
            assert!(refused.to_string().contains(&format!("{text:?}")), "{refused}");
        }
    }

    #[test]
    fn an_error_names_the_commit_in_its_text_and_as_its_cause() {
        let error = Error::from(commit()).context("commit");
        assert_eq!((error.kind(), error.cause()), (ErrorKind::Unknown, Some(&commit())));
        assert!(error.to_string().contains("2.7.143@57-00c0ffee00c0ffee") && !error.is_conflict(), "{error}");
    }
}
