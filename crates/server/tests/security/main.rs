//! Security: log-ins, roles, certificates, names, limits and logs, by a WebSocket client.
//!
//! docs/security.md lists each promise with its test here.

#![allow(clippy::unwrap_used)]

mod audit;
mod databases;
mod limits;
mod logins;
mod logs;
mod roles;
#[path = "../support/mod.rs"]
mod support;
mod transport;

#[test]
fn every_promise_of_the_page_names_a_test_that_there_is() {
    const PAGE: &str = include_str!("../../../../docs/security.md");
    const TESTS: &str = concat!(
        include_str!("audit.rs"),
        include_str!("databases.rs"),
        include_str!("limits.rs"),
        include_str!("logins.rs"),
        include_str!("logs.rs"),
        include_str!("../../../query/tests/normalised_queries.rs"),
        include_str!("../../../cli/tests/program/packaging.rs"),
        include_str!("../../../cli/tests/program/service.rs"),
        include_str!("../../src/log/format.rs"),
        include_str!("../drivers/logins.rs"),
        include_str!("roles.rs"),
        include_str!("transport.rs"),
        include_str!("../admin/databases.rs"),
        include_str!("../admin/queries.rs"),
        include_str!("../admin/routes.rs"),
        include_str!("../admin/users.rs"),
        include_str!("../admin/job_files.rs"),
        include_str!("../admin/job_stops.rs"),
        include_str!("../admin/jobs.rs"),
        include_str!("../../src/spool/relative_path.rs"),
        include_str!("../../src/spool/upload.rs"),
        include_str!("../../src/spool/job_folder.rs"),
        include_str!("../../src/jobs/registry/tests.rs"),
        include_str!("../../src/client_socket.rs"),
        include_str!("../http/connections.rs"),
        include_str!("../http/hostile.rs"),
        include_str!("../http/logins.rs"),
        include_str!("../http/observation.rs"),
        include_str!("../http/queries.rs"),
        include_str!("../websocket/databases.rs"),
        include_str!("../websocket/hostile.rs"),
        include_str!("../websocket/leavers.rs"),
        include_str!("../websocket/queries.rs"),
        include_str!("../websocket/sessions.rs"),
        include_str!("../http/answer_limits.rs"),
        include_str!("../../../protocol/src/request/operation.rs"),
        include_str!("../../src/security/sasl.rs"),
        include_str!("../admin/query_roles.rs"),
        include_str!("../../src/message_meter.rs"),
        include_str!("../../../cli/tests/hostile/bombs.rs"),
        include_str!("../../../cli/tests/hostile/readers.rs"),
        include_str!("../../../cli/tests/hostile/senders.rs"),
        include_str!("../../src/security/authenticator.rs"),
        include_str!("../../src/security/login_gate.rs"),
        include_str!("../../src/security/users_file.rs"),
        include_str!("../../../cli/tests/kills/server_jobs.rs"),
        include_str!("../../../cli/tests/program/remote_files.rs"),
        include_str!("../../../cli/tests/program/users.rs"),
        include_str!("../../../cli/tests/program/replicas.rs"),
        include_str!("../../../cli/tests/program/served_replicas.rs"),
        include_str!("../../../cli/src/command/replica/source_url.rs"),
        include_str!("../../../cli/tests/program/clusters.rs"),
        include_str!("../../../cluster/src/log/etcd/options.rs"),
        include_str!("../../../cluster/src/running/create/tests.rs"),
        include_str!("../../../cluster/src/running/etcd_access.rs"),
        include_str!("../../../cluster/src/transport/tcp/handshake.rs"),
        include_str!("../../../cluster/src/transport/tcp/identity.rs"),
        include_str!("../../../cluster/tests/etcd/security.rs"),
        include_str!("../../../cluster/tests/tcp/strangers.rs"),
        include_str!("../../src/metrics_listener.rs"),
        include_str!("../admin/replicas.rs"),
        include_str!("../../../cli/tests/program/server_urls.rs"),
        include_str!("../../../client/src/admin/job_files.rs"),
        include_str!("../../../client/src/algorithm_answer.rs"),
        include_str!("../../../client/src/arrow_stream.rs"),
        include_str!("../../../client/src/connection.rs"),
        include_str!("../../../client/src/credentials.rs"),
        include_str!("../../../client/tests/server/algorithms.rs"),
        include_str!("../../../client/tests/server/hostile.rs"),
        include_str!("../../../client/tests/server/secured.rs"),
    );
    let promises = PAGE.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| **"));
    let mut promises_count = 0;
    for promise in promises.skip(1) {
        let cell = promise.trim_end_matches(" |").rsplit(" | ").next().unwrap();
        let names: Vec<&str> =
            cell.split('`').skip(1).step_by(2).filter(|name| !name.contains('/')).collect();
        assert!(!names.is_empty(), "no test holds this: {promise}");
        for name in names {
            assert!(TESTS.contains(&format!("fn {name}(")), "there is no test {name}");
        }
        promises_count += 1;
    }
    assert!(promises_count > 20, "{promises_count}");
}
