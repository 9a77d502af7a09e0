//! Restored: all members of the log are put back to an older copy of their data. Nodes that saw more stop and say so, then and whenever they
//! start; a node that saw no more goes on, and is the only one that serves anything.

use crate::caller::{number, run};
use crate::cycles::{admin, client, within};
use crate::folders::copy_folder;
use crate::site::{NODES, Site, evergraph, member, node};
use evergraph_client::client::Client;
use evergraph_client::query::Query;
use evergraph_graph::cancel::CancelFlag;
use evergraph_graph::error::{ErrorKind, Result};
use evergraph_graph::transaction::TransactionOptions;
use serde_json::Value;
use std::fs;

const MEMBERS: usize = 3;

/// Adds a vertex.
fn add(client: &Client, number: i64) -> Result<()> {
    client.transact(TransactionOptions::default(), &CancelFlag::default(), |transaction| {
        run(transaction, &format!("g.addV('Item').property('number', {number}L)")).map(drop)
    })
}

fn count(client: &Client) -> Result<i64> {
    let results = client.query(&Query::text("g.V().hasLabel('Item').count()"))?.collect()?;
    Ok(number(&results[0]))
}

/// What a node says of itself.
fn status(site: &Site, at: usize) -> Value {
    admin(site, at).cluster_status().unwrap()
}

/// The newest message that a node has noted on its disk (`crates/cluster/src/node/seen_file.rs`).
fn noted(site: &Site, at: usize) -> Option<u64> {
    let bytes = fs::read(site.folder(at).join("node_seen")).ok()?;
    Some(u64::from_le_bytes(bytes.get(22..30)?.try_into().ok()?))
}

fn with_members_down(site: &mut Site, work: impl FnOnce(&Site)) {
    let members = || (0..MEMBERS).map(member);
    members().for_each(|member| site.kill(member));
    work(site);
    members().for_each(|member| site.run(member));
    members().for_each(|member| site.wait(member).unwrap());
}

#[test]
fn nodes_that_saw_more_than_a_restored_log_stop_and_say_so() {
    let Some(mut site) = Site::start(MEMBERS, NODES) else { return };
    let time_max = site.healing_time();
    let said = "the log is not the one that this node applied";
    for at in 0..3 {
        add(&client(&site, at), at as i64).unwrap();
    }
    for at in 0..NODES {
        assert!(within(time_max, || count(&client(&site, at)).is_ok_and(|count| count == 3)), "node {at}");
    }
    site.kill(node(2));
    let copy = |site: &Site, at: usize| site.home().join(format!("copy of m{at}"));
    with_members_down(&mut site, |site| {
        (0..MEMBERS).for_each(|at| copy_folder(&site.data(at), &copy(site, at)));
    });
    let (first, second) = (client(&site, 0), client(&site, 1));
    for item in 3..20 {
        assert!(within(time_max, || add(&first, item).is_ok()), "item {item}");
    }
    assert!(within(time_max, || count(&second).is_ok_and(|count| count >= 20)));
    // It takes a second until a node that is killed knows what it saw.
    for at in [0, 1] {
        let is_noted = |status: &Value| status["log"]["applied"].as_u64() == noted(&site, at);
        assert!(within(time_max, || is_noted(&status(&site, at))), "{}", status(&site, at));
    }
    site.kill(node(1));
    with_members_down(&mut site, |site| {
        for at in 0..MEMBERS {
            fs::remove_dir_all(site.data(at)).unwrap();
            copy_folder(&copy(site, at), &site.data(at));
        }
    });

    // The one that runs stops: it answers nothing any more, and says why.
    assert!(within(time_max, || status(&site, 0)["state"] == "stopped"), "{}", status(&site, 0));
    let stopped = status(&site, 0)["stopped"].as_str().unwrap().to_owned();
    for error in [count(&first).map(drop).unwrap_err(), add(&first, 99).unwrap_err()] {
        assert!(error.kind() == ErrorKind::Corrupt && error.to_string().contains(&stopped), "{error}");
    }
    // The node writes its status once a second.
    let mut told = String::new();
    let is_told = within(time_max, || {
        let ran = evergraph().args(["cluster", "status"]).arg(site.folder(0)).output().unwrap();
        told = String::from_utf8_lossy(&ran.stdout).into_owned();
        ran.status.code() == Some(1) && told.contains(said)
    });
    assert!(is_told, "{told}");

    // The one that starts does not.
    let refused = site.start_again(node(1)).unwrap_err();
    assert!(refused.contains(said), "{refused}");

    // The one that saw no more goes on, from what the log has.
    site.start_again(node(2)).unwrap();
    let third = client(&site, 2);
    assert_eq!(count(&third).unwrap(), 3);
    // Positions of the others' messages, and more, are given again.
    for item in 100..140 {
        add(&third, item).unwrap();
    }
    assert_eq!(count(&third).unwrap(), 43);
    site.kill(node(0));
    for at in [0, 1] {
        let refused = site.start_again(node(at)).unwrap_err();
        assert!(refused.contains(said), "{refused}");
    }
    assert_eq!(count(&third).unwrap(), 43);
}
