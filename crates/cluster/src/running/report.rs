//! Report: what an operator of a node should hear as it happens, for the log of whoever runs it.

use std::fmt;
use std::sync::Arc;

/// Something that happened to a node.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NodeReport {
    /// How bad it is.
    pub severity: ReportSeverity,
    /// What it is, in a sentence.
    pub text: String,
}

/// How bad something is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum ReportSeverity {
    /// Something that takes long goes on: a start may take as long as it says so.
    Progress,
    /// All is as it should be.
    Notice,
    /// It may pass by itself.
    Warning,
    /// Somebody has to do something.
    Failure,
}

/// Hears of a node, from threads of the node: it must not wait.
pub type OnReport = Arc<dyn Fn(&NodeReport) + Send + Sync>;

impl NodeReport {
    pub(super) fn progress(text: impl fmt::Display) -> Self {
        Self { severity: ReportSeverity::Progress, text: text.to_string() }
    }

    pub(super) fn notice(text: impl fmt::Display) -> Self {
        Self { severity: ReportSeverity::Notice, text: text.to_string() }
    }

    pub(super) fn warning(text: impl fmt::Display) -> Self {
        Self { severity: ReportSeverity::Warning, text: text.to_string() }
    }

    pub(super) fn failure(text: impl fmt::Display) -> Self {
        Self { severity: ReportSeverity::Failure, text: text.to_string() }
    }
}
