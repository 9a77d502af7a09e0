//! Node samples: what is counted of a node of a cluster, for Prometheus.

use crate::command::cluster::node_document::{MessagesSection, NodeDocument, NodeState};
use evergraph_server::metric_samples::{DatabaseSample, Figure};
use std::collections::BTreeMap;

/// What is counted of a node at the moment of its report.
#[must_use]
pub fn samples(report: &NodeDocument) -> Vec<DatabaseSample> {
    let mut samples = Vec::new();
    let mut add = |name, help, labels: &[(&'static str, &str)], figure| {
        let labels = labels.iter().map(|(label, value)| (*label, (*value).to_owned())).collect();
        samples.push(DatabaseSample { name, help, labels, figure });
    };
    let gauge = |value: u64| Figure::Gauge(value as f64);
    let counter = |value: u64| Figure::Counter(value as f64);
    for state in NodeState::ALL {
        let is_present = u64::from(state == report.state);
        add(
            "cluster_state",
            "1 at the present state of the node",
            &[("state", state.name())],
            gauge(is_present),
        );
    }
    let log = &report.log;
    add("cluster_position", "The last message of the log that the node has applied", &[], gauge(log.applied));
    add(
        "cluster_lag_messages",
        "Messages of the log that the node knows of and has not applied, at most",
        &[],
        gauge(log.lag()),
    );
    add(
        "cluster_needed_position",
        "The first message of the log that the node needs, should it start again",
        &[],
        gauge(log.needed_from),
    );
    add(
        "cluster_log_failed",
        "1 if the log cannot be read or written",
        &[],
        gauge(log.failure.is_some().into()),
    );
    add("cluster_log_read_messages", "Messages of the log that were read", &[], counter(log.read_messages));
    add("cluster_log_read_bytes", "Bytes of these", &[], counter(log.read_bytes));
    add(
        "cluster_log_appended_messages",
        "Messages of this node that the log took",
        &[],
        counter(log.appended_messages),
    );
    add("cluster_log_appended_bytes", "Bytes of these", &[], counter(log.appended_bytes));
    for (outcome, count) in &report.records {
        let help = "Records of all nodes that this one has applied, by what became of them";
        add("cluster_records", help, &[("outcome", outcome.as_str())], counter(*count));
    }
    for (outcome, count) in &report.own_records {
        let help = "Records of this node that it has applied, by what became of them";
        add("cluster_own_records", help, &[("outcome", outcome.as_str())], counter(*count));
    }
    let alarms = &report.alarms;
    for (claimed_by, count) in
        [("author", alarms.authors), ("append", alarms.lost_appends), ("node", alarms.nodes)]
    {
        let help = "Claims of another log that were looked into";
        add("cluster_alarms", help, &[("claimed_by", claimed_by)], counter(count));
    }
    add("cluster_horizon", "The oldest position that somebody reads at", &[], gauge(report.horizon.position));
    for holder in HOLDERS {
        let is_it = u64::from(holder == report.horizon.held_by);
        let help = "1 for who keeps the horizon from rising";
        add("cluster_horizon_held", help, &[("by", holder)], gauge(is_it));
    }
    for member in report.members.iter().filter(|member| member.node != report.node) {
        let node = member.node.to_string();
        let reached = u64::from(member.reached);
        add("cluster_member_reached", "1 if the other node was heard of", &[("node", &node)], gauge(reached));
    }
    let partitions = &report.partitions;
    for (condition, count) in [
        ("complete", partitions.complete),
        ("copying", partitions.copying),
        ("ahead", partitions.ahead),
        ("stalled", partitions.stalled),
        ("failed", partitions.failed),
        ("unusable", partitions.unusable),
        ("missing", partitions.missing),
    ] {
        let help = "Partitions that the node keeps, by their condition";
        add("cluster_partitions", help, &[("condition", condition)], gauge(count as u64));
    }
    add("cluster_checkpoints", "Checkpoints of the node", &[], counter(report.checkpoint.made));
    add("cluster_checkpoint_failures", "Checkpoints that failed", &[], counter(report.checkpoint.failed));
    let directions: [(&str, &BTreeMap<String, MessagesSection>); 2] =
        [("sent", &report.network.sent), ("received", &report.network.received)];
    for (direction, kinds) in directions {
        for (kind, total) in kinds {
            let labels = [("direction", direction), ("kind", kind.as_str())];
            add(
                "cluster_messages",
                "Messages between this node and others",
                &labels,
                counter(total.messages),
            );
            add("cluster_message_bytes", "Bytes of these", &labels, counter(total.bytes));
        }
    }
    for (direction, count) in
        [("sent", report.network.frames_sent), ("received", report.network.frames_received)]
    {
        let help = "Frames between this node and others: messages that wait together travel in one";
        add("cluster_frames", help, &[("direction", direction)], counter(count));
    }
    add("cluster_messages_dropped", "Messages that could not be sent", &[], counter(report.network.dropped));
    add(
        "cluster_travel_edges",
        "Edges that stages of queries that travel, of all nodes, have read on this one",
        &[],
        counter(report.travelled.edges_read),
    );
    add(
        "cluster_travel_rows",
        "Rows of these queries that this node has sent to others",
        &[],
        counter(report.travelled.rows_sent),
    );
    add(
        "cluster_travel_runs",
        "Runs of these queries that were asked for on this node: two of one that began again",
        &[],
        counter(report.travelled.runs_asked),
    );
    for (role, count) in [("asked", report.travelled.open_asked), ("running", report.travelled.open_running)]
    {
        let help = "Queries that travel and have not ended: asked on this node, and running on it";
        add("cluster_travel_open", help, &[("role", role)], gauge(count));
    }
    samples
}

/// Who can hold a horizon, as a report names them.
const HOLDERS: [&str; 4] = ["nobody", "own_reader", "answer", "peer"];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::cluster::node_document::example;
    use evergraph_server::metric_samples::Samples;

    #[test]
    fn what_a_document_says_is_counted() {
        let mut all = Samples::default();
        all.add_all(&samples(&example()), "shop");
        let text = all.into_text();
        for line in [
            "evergraph_cluster_state{database=\"shop\",state=\"serving\"} 1.0",
            "evergraph_cluster_state{database=\"shop\",state=\"stopped\"} 0.0",
            "evergraph_cluster_position{database=\"shop\"} 1234.0",
            "evergraph_cluster_lag_messages{database=\"shop\"} 7.0",
            "evergraph_cluster_records_total{database=\"shop\",outcome=\"conflict\"} 7.0",
            "evergraph_cluster_own_records_total{database=\"shop\",outcome=\"committed\"} 2000.0",
            "evergraph_cluster_horizon{database=\"shop\"} 1200.0",
            "evergraph_cluster_horizon_held{database=\"shop\",by=\"peer\"} 1.0",
            "evergraph_cluster_member_reached{database=\"shop\",node=\"1\"} 1.0",
            "evergraph_cluster_member_reached{database=\"shop\",node=\"2\"} 0.0",
            "evergraph_cluster_partitions{database=\"shop\",condition=\"copying\"} 1.0",
            "evergraph_cluster_message_bytes_total{database=\"shop\",direction=\"sent\",kind=\"question\"} 500.0",
            "evergraph_cluster_frames_total{database=\"shop\",direction=\"sent\"} 3.0",
            "evergraph_cluster_frames_total{database=\"shop\",direction=\"received\"} 2.0",
            "evergraph_cluster_travel_edges_total{database=\"shop\"} 7000.0",
            "evergraph_cluster_travel_rows_total{database=\"shop\"} 80.0",
            "evergraph_cluster_travel_runs_total{database=\"shop\"} 21.0",
            "evergraph_cluster_travel_open{database=\"shop\",role=\"asked\"} 1.0",
            "evergraph_cluster_travel_open{database=\"shop\",role=\"running\"} 3.0",
            "evergraph_cluster_log_failed{database=\"shop\"} 0.0",
        ] {
            assert!(text.contains(line), "{line} is not in\n{text}");
        }
    }
}
