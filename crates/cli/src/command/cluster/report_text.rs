//! How a node of a cluster is, for people.

use crate::command::cluster::node_document::{
    HorizonSection, MemberSection, NodeDocument, NodeState, PartitionProblem, PartitionsSection,
};
use evergraph_terminal::number::{count, counted, size, time};
use evergraph_terminal::table::{Side, Table, visible};
use std::fmt;
use std::time::Duration;

/// Outcomes of records that are told one by one; zero counts are left out.
const TOLD_OUTCOMES: [(&str, &str); 6] = [
    ("conflict", "conflicted"),
    ("too_old", "too old"),
    ("fenced", "of nodes that are not members"),
    ("other_log", "of nodes with another log"),
    ("incomplete", "incomplete"),
    ("malformed", "malformed"),
];

/// Partitions whose problems are told; the others are in the document.
const TOLD_PROBLEMS_MAX: usize = 8;

/// A report as a list of what is known, and a table of nodes.
#[derive(Debug)]
pub struct ReportText<'r> {
    /// The report.
    pub report: &'r NodeDocument,
    /// Whether the node is so.
    pub tense: Tense,
}

/// When a report is true.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Tense {
    /// Now: the process that made it runs.
    Present,
    /// It was, when a process made it that runs no more.
    Past,
}

impl fmt::Display for ReportText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { report, tense } = *self;
        let mut row = |name: &str, text: &str| writeln!(f, "{name:<13} {}", visible(text));
        let nodes = counted(report.members.len() as u64, "node", "nodes");
        row("cluster", &format!("{}, {nodes}", report.cluster))?;
        let then = match tense {
            Tense::Past if report.state != NodeState::Stopped => ", as it was then",
            Tense::Past | Tense::Present => "",
        };
        row("node", &format!("{}{then}: {}", report.node, told_state(report)))?;
        row("log", &told_log(report))?;
        let alarms = report.alarms.authors + report.alarms.lost_appends + report.alarms.nodes;
        if alarms > 0 {
            let text =
                format!("{} of another log, looked into and refused", counted(alarms, "claim", "claims"));
            row("alarms", &text)?;
        }
        row("transactions", &told_outcomes(report))?;
        row("partitions", &told_partitions(&report.partitions))?;
        let problems = &report.partitions.problems;
        for PartitionProblem { partition, reason } in problems.iter().take(TOLD_PROBLEMS_MAX) {
            row("", &format!("partition {partition} is out of use: {reason}"))?;
        }
        if let Some(more) = problems.len().checked_sub(TOLD_PROBLEMS_MAX).filter(|more| *more > 0) {
            row("", &format!("and {} more, which --json names", count(more as u64)))?;
        }
        row("read from", &told_horizon(&report.horizon))?;
        row("checkpoint", &told_checkpoint(report))?;
        if let Some(failure) = &report.last_failure {
            row("last failure", &format!("{failure} (it may have passed)"))?;
        }
        write!(f, "\n{}", members(report))
    }
}

fn told_state(report: &NodeDocument) -> String {
    let without_log = report.log.failure.as_ref().map(|why| format!("the log does not answer ({why})"));
    let with_log = |text: &str| match &without_log {
        Some(without_log) => format!("{text}; {without_log}"),
        None => text.to_owned(),
    };
    match report.state {
        NodeState::Serving => "serves".to_owned(),
        NodeState::Degraded => {
            let lost = counted(report.partitions.lost() as u64, "partition", "partitions");
            format!("serves, without {lost} that it should keep: other nodes answer for what lies there")
        }
        NodeState::Joining => with_log("has not joined yet"),
        NodeState::WithoutLog => {
            format!("reads, and cannot commit: {}", without_log.as_deref().unwrap_or_default())
        }
        NodeState::Stalled => with_log("has no room on its disk for what it should apply"),
        NodeState::Silent => {
            let age = Duration::from_secs_f64(report.silent_seconds.unwrap_or_default().max(0.0));
            format!("DOES NOT ANSWER: what follows is {} old", time(age))
        }
        NodeState::Stopped => format!("has stopped: {}", report.stopped.as_deref().unwrap_or_default()),
    }
}

fn told_log(report: &NodeDocument) -> String {
    let log = &report.log;
    let lag = match log.lag() {
        0 => "all that is known".to_owned(),
        lag => format!("{} behind", counted(lag, "message", "messages")),
    };
    let waiting = match log.unanswered_records {
        0 => String::new(),
        records => format!("; {} on the way", counted(records as u64, "record", "records")),
    };
    let written = size(log.appended_bytes);
    format!("applied {}, {lag}{waiting}; {written} written by this node", count(log.applied))
}

fn told_outcomes(report: &NodeDocument) -> String {
    let of = |records: &std::collections::BTreeMap<String, u64>, name: &str| {
        records.get(name).copied().unwrap_or_default()
    };
    let own = of(&report.own_records, "committed");
    let mut text = format!(
        "{} committed since it started, {} by this node",
        count(of(&report.records, "committed")),
        count(own)
    );
    for (outcome, word) in TOLD_OUTCOMES {
        let number = of(&report.records, outcome);
        if number > 0 {
            text += &format!(", {} {word}", count(number));
        }
    }
    text
}

fn told_partitions(partitions: &PartitionsSection) -> String {
    let mut text = format!("{} kept", count(partitions.kept as u64));
    let conditions = [
        (partitions.complete, "complete"),
        (partitions.copying, "being copied"),
        (partitions.ahead, "waiting for the log"),
        (partitions.stalled, "without room"),
        (partitions.failed, "OUT OF USE"),
        (partitions.unusable, "LOST when it started"),
        (partitions.missing, "MISSING"),
    ];
    let told: Vec<String> = conditions
        .into_iter()
        .filter(|(number, _)| *number > 0)
        .map(|(number, word)| format!("{} {word}", count(number as u64)))
        .collect();
    if !told.is_empty() {
        text += &format!(": {}", told.join(", "));
    }
    text
}

fn told_horizon(horizon: &HorizonSection) -> String {
    let holder = match (horizon.held_by.as_str(), horizon.peer) {
        ("own_reader", _) => "a transaction or query of this node reads there".to_owned(),
        ("answer", _) => "a question of another node is answered there".to_owned(),
        ("peer", Some(node)) => format!("node {node} reads there, or has not said where"),
        _ => "nobody reads anything older than the newest".to_owned(),
    };
    format!("{} on; {holder}", count(horizon.position))
}

fn told_checkpoint(report: &NodeDocument) -> String {
    let checkpoint = &report.checkpoint;
    match (&checkpoint.failure, checkpoint.position) {
        (Some(failure), _) => format!("the last one failed: {failure}"),
        (None, Some(position)) => {
            format!(
                "has the log through {}; a start reads from {}",
                count(position),
                count(report.log.needed_from)
            )
        }
        (None, None) => "none since it started".to_owned(),
    }
}

fn members(report: &NodeDocument) -> Table {
    let mut table = Table::new(&[
        ("node", Side::Right),
        ("address", Side::Left),
        ("starts", Side::Right),
        ("heard of", Side::Left),
        ("applied", Side::Right),
    ]);
    for member in &report.members {
        table.row([
            member.node.to_string(),
            member.address.clone(),
            member.incarnation.map_or_else(|| "-".to_owned(), |earlier| count(u64::from(earlier) + 1)),
            heard(member, report.node),
            member.applied.map_or_else(|| "-".to_owned(), count),
        ]);
    }
    table
}

fn heard(member: &MemberSection, own: u16) -> String {
    match (member.node == own, member.reached, member.silent_seconds) {
        (true, _, _) => "this node".to_owned(),
        (false, true, _) => "now".to_owned(),
        (false, false, Some(silent)) if member.applied.is_some() => {
            format!("{} ago", time(Duration::from_secs_f64(silent.max(0.0))))
        }
        (false, false, _) => "never".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::cluster::node_document::example;

    fn told(report: &NodeDocument) -> String {
        ReportText { report, tense: Tense::Present }.to_string()
    }

    #[test]
    fn a_node_is_told_in_lines_and_a_table() {
        let text = told(&example());
        let lines: Vec<String> =
            text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
        for line in [
            "cluster shop, 3 nodes",
            "node 0: serves",
            "log applied 1,234, 7 messages behind; 2 records on the way; 3.0 MiB written by this node",
            "transactions 5,000 committed since it started, 2,000 by this node, 7 conflicted",
            "partitions 43 kept: 42 complete, 1 being copied",
            "read from 1,200 on; node 1 reads there, or has not said where",
            "checkpoint has the log through 1,099; a start reads from 1,100",
            "0 10.0.0.0:7400 1 this node 1,234",
            "1 10.0.0.1:7400 2 now 1,230",
        ] {
            assert!(lines.iter().any(|one| one == line), "{line}: {text}");
        }
        assert!(lines.last().is_some_and(|line| line.contains(" ago ") && line.ends_with(" 980")), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
    }

    #[test]
    fn what_is_wrong_is_told_with_its_reason() {
        let mut document = example();
        document.state = NodeState::WithoutLog;
        document.log.failure = Some("no member answers\u{1b}".to_owned());
        let text = told(&document);
        assert!(text.contains("cannot commit: the log does not answer (no member answers\\u{1b})"), "{text}");
        document.state = NodeState::Stopped;
        document.stopped = Some("the log changed".to_owned());
        document.alarms.lost_appends = 1;
        document.checkpoint.failure = Some("no room".to_owned());
        let text = told(&document);
        for part in ["has stopped: the log changed", "1 claim of another log", "the last one failed: no room"]
        {
            assert!(text.contains(part), "{part}: {text}");
        }
    }

    #[test]
    fn lost_partitions_and_silence_are_told_with_what_is_known() {
        let mut document = example();
        document.state = NodeState::Degraded;
        document.last_failure = Some("partition 3 is left out: no manifest".to_owned());
        let problem = |partition| PartitionProblem { partition, reason: "no manifest\u{1b}".to_owned() };
        document.partitions = PartitionsSection {
            kept: 43,
            complete: 32,
            unusable: 11,
            problems: (3..14).map(problem).collect(),
            ..PartitionsSection::default()
        };
        let text = told(&document);
        for part in [
            "0: serves, without 11 partitions that it should keep",
            "43 kept: 32 complete, 11 LOST when it started\n",
            "              partition 3 is out of use: no manifest\\u{1b}\n",
            "              and 3 more, which --json names\n",
            "last failure  partition 3 is left out: no manifest (it may have passed)\n",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert!(!text.contains("partition 11 is"), "{text}");
        (document.state, document.silent_seconds) = (NodeState::Silent, Some(12.0));
        let text = told(&document);
        assert!(text.contains("0: DOES NOT ANSWER: what follows is 12"), "{text}");
        assert!(!text.contains("serves"), "{text}");
        document.state = NodeState::Joining;
        document.log.failure = Some("no member answers".to_owned());
        let text = told(&document);
        assert!(text.contains("has not joined yet; the log does not answer (no"), "{text}");
    }
}
