//! Strangers: whoever is no node of the cluster, or says that it is another one, or goes on otherwise than a node does.

use crate::certificates::{Signed, Site};
use crate::node::{Node, any_port, eventually, frame, meet, options, reaches};
use crate::raw_client::{Dial, RawClient, hello};
use evergraph_cluster::record_id::NodeId;
use evergraph_cluster::transport::interface::Transport as _;
use evergraph_cluster::transport::tcp::hello::HelloAnswer;
use evergraph_cluster::transport::tcp::link_error::{LinkError, LinkStep};
use evergraph_cluster::transport::tcp::node_name::ClusterId;
use evergraph_cluster::transport::tcp::options::{LinkTimes, TcpOptions};
use rustls::version;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::time::Duration;

/// An address that nobody dials, since nothing is sent there.
const NOWHERE: &str = "127.0.0.1:1";

/// Node 1, which knows nodes 2 and 3.
fn node_1(site: &Site, options: TcpOptions) -> Node {
    let mut node = Node::start(site, 1, options);
    node.knows_at(2, NOWHERE);
    node.knows_at(3, NOWHERE);
    node
}

/// A dial of node 1 that shows `own`.
fn dial<'a>(site: &'a Site, node: &Node, own: &'a Signed) -> Dial<'a> {
    Dial::new(node.transport.address(), &site.authority, site.cluster.node_name(NodeId(1)), own)
}

/// A client with the certificate of node 2.
fn as_node_2(site: &Site, node: &Node) -> RawClient {
    RawClient::connect(&dial(site, node, &site.sign(2))).unwrap()
}

/// One that node 1 has welcomed.
fn let_in_as_node_2(site: &Site, node: &Node) -> RawClient {
    let mut client = as_node_2(site, node);
    client.say(&hello(site.cluster, 2, 1));
    assert_eq!(client.hear_answer(), 0);
    client
}

fn other_node(wanted: u16, found: u16) -> LinkError {
    LinkError::OtherNode { wanted: NodeId(wanted), found: vec![NodeId(found)] }
}

/// Says a hello with the certificate of node 2. Node 1 answers `answer`, says why it refuses, and closes.
fn refused_after(site: &Site, said: &[u8], answer: u8, error: &LinkError) {
    let mut node = node_1(site, options());
    let mut client = as_node_2(site, &node);
    client.say(said);
    assert_eq!(client.hear_answer(), answer, "{error}");
    assert!(client.is_closed());
    node.refuses(&error.to_string(), |found| found == error);
    assert_eq!((node.received(), node.of(2).incoming.connects), (vec![], 0));
}

#[test]
fn a_node_of_another_authority_is_neither_dialled_nor_let_in() {
    let site = Site::new();
    let other = site.with_other_authority();
    let (mut a, mut b) = (Node::start(&site, 1, options()), Node::start(&other, 2, options()));
    meet(&mut [&mut a, &mut b]);
    a.fails_to(2, &LinkError::OtherAuthority);
    b.fails_to(1, &LinkError::OtherAuthority);
    assert_eq!((a.received(), b.received()), (vec![], vec![]));
    drop(b);
    // Somebody who trusts the cluster, and whom the cluster does not trust.
    let own = other.sign(2);
    let mut client = RawClient::connect(&dial(&site, &a, &own)).unwrap();
    client.say(&hello(site.cluster, 2, 1));
    assert!(client.is_closed());
    a.refuses("its certificate is not the cluster's", |error| *error == LinkError::OtherAuthority);
    assert_eq!(a.of(2).incoming.connects, 0);
}

#[test]
fn whoever_shows_no_certificate_or_speaks_an_older_tls_is_not_let_in() {
    let site = Site::new();
    let (node, own) = (node_1(&site, options()), site.sign(2));
    let mut client = RawClient::connect(&Dial { own: None, ..dial(&site, &node, &own) }).unwrap();
    client.say(&hello(site.cluster, 2, 1));
    assert!(client.is_closed());
    node.refuses("it shows no certificate", |error| *error == LinkError::NoCertificate);
    let older = RawClient::connect(&Dial { version: &version::TLS12, ..dial(&site, &node, &own) });
    assert!(older.is_err());
    node.refuses("it speaks TLS 1.2", |error| matches!(error, LinkError::Tls { .. }));
}

#[test]
fn a_node_is_dialled_by_its_name_and_not_by_its_address() {
    let site = Site::new();
    let [mut a, mut b] = [1, 2].map(|node| Node::start(&site, node, options()));
    b.knows(&a);
    a.knows_at(3, &b.transport.address().to_string());
    a.fails_to(3, &other_node(3, 2));
    let said = a.of(3).outgoing.last_failure.unwrap().to_string();
    assert_eq!(said, "the certificate is for node 2, not for node 3");
    let events = a.transport.monitor().take_events().events;
    let first = events.first().unwrap().to_string();
    assert_eq!(first, format!("to node 3 at {}: {said}", b.transport.address()));
    assert!(b.received().is_empty());
}

#[test]
fn a_node_of_another_cluster_of_the_same_authority_is_refused() {
    let site = Site::new();
    let other = site.with_other_cluster();
    let (mut a, mut b) = (Node::start(&site, 1, options()), Node::start(&other, 2, options()));
    meet(&mut [&mut a, &mut b]);
    a.fails_to(2, &LinkError::NoNodeOfCluster);
    b.fails_to(1, &LinkError::NoNodeOfCluster);
    assert_eq!((a.received(), b.received()), (vec![], vec![]));
}

#[test]
fn a_hello_that_does_not_fit_is_answered_with_the_reason() {
    let site = Site::new();
    let cluster = ClusterId([9; 16]);
    refused_after(&site, &hello(cluster, 2, 1), 2, &LinkError::OtherCluster { found: cluster });
    let receiver = LinkError::OtherReceiver { wanted: NodeId(4) };
    refused_after(&site, &hello(site.cluster, 2, 4), 3, &receiver);
    refused_after(&site, &hello(site.cluster, 3, 1), 4, &other_node(3, 2));
    for version in [1, 3] {
        let mut other = hello(site.cluster, 2, 1);
        other[4] = version;
        refused_after(&site, &other, 1, &LinkError::OtherVersion { found: version });
    }
}

#[test]
fn a_node_that_is_not_known_yet_is_told_so_and_let_in_when_it_is() {
    let site = Site::new();
    let [mut a, mut b] = [1, 2].map(|node| Node::start(&site, node, options()));
    b.knows(&a);
    b.fails_to(1, &LinkError::Refused { answer: HelloAnswer::UnknownNode });
    a.refuses("it is not known", |error| *error == LinkError::UnknownNode { node: NodeId(2) });
    a.knows(&b);
    reaches(&mut b, &mut a);
}

#[test]
fn garbage_closes_the_connection_and_nodes_go_on() {
    let site = Site::new();
    let [mut a, mut b] = [1, 2].map(|node| Node::start(&site, node, options()));
    meet(&mut [&mut a, &mut b]);
    let mut tcp = TcpStream::connect(a.transport.address()).unwrap();
    tcp.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    tcp.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
    // An alert of TLS, then the end.
    let mut said = Vec::new();
    let _ = tcp.read_to_end(&mut said);
    a.refuses("it speaks HTTP", |error| *error == LinkError::NotTls);
    let mut client = as_node_2(&site, &a);
    client.say(b"whatever a node does not say first");
    assert!(client.is_closed());
    a.refuses("it says no hello", |error| matches!(error, LinkError::NoHello { .. }));
    reaches(&mut b, &mut a);
    reaches(&mut a, &mut b);
}

#[test]
fn whoever_answers_a_dial_with_garbage_or_with_nothing_is_no_node() {
    let site = Site::new();
    let times = LinkTimes { handshake: Duration::from_millis(500), ..options().times };
    let mut a = Node::start(&site, 1, TcpOptions { times, ..options() });
    let (garbage, silence) = (TcpListener::bind(any_port()).unwrap(), TcpListener::bind(any_port()).unwrap());
    a.knows_at(2, &garbage.local_addr().unwrap().to_string());
    a.knows_at(3, &silence.local_addr().unwrap().to_string());
    std::thread::spawn(move || {
        for tcp in garbage.incoming() {
            let mut tcp = tcp.unwrap();
            // It waits for the other side to speak and to leave, so that the system delivers what it says.
            let _ = tcp.read(&mut [0; 1024]);
            let _ = tcp.write_all(b"SSH-2.0-OpenSSH_9.9\r\n");
            let _ = tcp.read_to_end(&mut Vec::new());
        }
    });
    a.fails_to(2, &LinkError::NotTls);
    let limit = Duration::from_millis(500);
    a.fails_to(3, &LinkError::TimedOut { step: LinkStep::Handshake, limit });
}

#[test]
fn a_frame_that_is_too_long_closes_the_connection_of_its_sender() {
    let site = Site::new();
    let mut node = node_1(&site, options());
    let mut client = let_in_as_node_2(&site, &node);
    client.say(&frame(5).encode());
    let mut came = Vec::new();
    eventually("the frame comes", || {
        came.extend(std::iter::from_fn(|| node.transport.receive()));
        !came.is_empty()
    });
    assert_eq!((came[0].from, &came[0].frame), (NodeId(2), &frame(5)));
    assert!(node.of(2).incoming.is_connected);
    client.say(&u32::MAX.to_le_bytes());
    assert!(client.is_closed());
    eventually("the connection ends", || !node.of(2).incoming.is_connected);
    let failure = node.of(2).incoming.last_failure;
    assert!(matches!(&failure, Some(LinkError::BadFrame { error }) if error.offset == 0), "{failure:?}");
    assert!(node.received().is_empty());
}

#[test]
fn of_two_connections_of_a_node_the_newest_counts() {
    let site = Site::new();
    let mut node = node_1(&site, options());
    let mut first = let_in_as_node_2(&site, &node);
    eventually("the first is connected", || node.of(2).incoming.connects == 1);
    let mut second = let_in_as_node_2(&site, &node);
    eventually("the second is connected", || node.of(2).incoming.connects == 2);
    assert!(first.is_closed());
    second.say(&frame(6).encode());
    eventually("the frame comes", || node.received() == [(2, 6)]);
    assert!(node.of(2).incoming.is_connected);
    let events = node.transport.monitor().take_events().events;
    assert!(events.iter().any(|event| event.outcome == Err(LinkError::Replaced)), "{events:?}");
}

#[test]
fn connections_that_say_nothing_keep_nobody_out_and_end() {
    const SILENT: u64 = 20;
    let site = Site::new();
    let times = LinkTimes { handshake: Duration::from_secs(2), ..options().times };
    let limited = TcpOptions { handshakes_max: 4, times, ..options() };
    let [mut a, mut b] = [1, 2].map(|node| Node::start(&site, node, limited));
    meet(&mut [&mut a, &mut b]);
    let silent: Vec<_> = (0..SILENT).map(|_| TcpStream::connect(a.transport.address()).unwrap()).collect();
    eventually("all are accepted", || a.transport.monitor().listener().accepted >= SILENT);
    assert!(a.transport.monitor().listener().beginning <= 4);
    reaches(&mut b, &mut a);
    for mut tcp in silent {
        tcp.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        assert!(matches!(tcp.read(&mut [0; 8]), Ok(0)), "it is closed, and nothing is said");
    }
    eventually("all are counted", || {
        let listener = a.transport.monitor().listener();
        listener.beginning == 0 && listener.failures >= SILENT
    });
    let events = a.transport.monitor().take_events().events;
    let told = |error: &LinkError| events.iter().any(|event| event.outcome.as_ref() == Err(error));
    assert!(told(&LinkError::Displaced), "{events:?}");
    let late = LinkError::TimedOut { step: LinkStep::Handshake, limit: Duration::from_secs(2) };
    assert!(told(&late), "{events:?}");
}
