//! Log-ins: with user, password and TLS, by each driver.

use crate::program;
use crate::support::certificates::Root;
use crate::support::installed_driver::Driver;
use crate::support::secured_site::{PASSWORD, SecuredSite};

#[test]
fn gremlinpython_logs_in_by_tls_in_both_formats_and_meets_refusals() {
    run_logins(Driver::Python);
}

#[test]
fn gremlin_javascript_logs_in_by_tls_in_both_formats_and_meets_refusals() {
    run_logins(Driver::JavaScript);
}

#[test]
fn gremlin_driver_of_java_logs_in_by_tls_in_both_formats_and_meets_refusals() {
    run_logins(Driver::Java);
}

#[test]
fn gremlin_go_logs_in_by_tls_and_meets_refusals() {
    run_logins(Driver::Go);
}

/// Runs the checks of log-ins beside a server with the users `reader`, `writer` and `nobody`, whose certificate is signed
/// by a root of its own.
fn run_logins(driver: Driver) {
    let root = Root::new("root");
    let site = SecuredSite::new().with_tls(&root, &["localhost", "127.0.0.1"]);
    let path = site.folder.path().join("root.pem");
    std::fs::write(&path, root.pem()).unwrap();
    let server = site.serve();
    let url = format!("wss://{}/gremlin", server.address());
    program::run(driver, &[&url, PASSWORD, path.to_str().unwrap()], |_| None);
}
