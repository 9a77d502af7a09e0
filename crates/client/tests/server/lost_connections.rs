//! Lost connections: a proxy ends them in the middle of a transaction, and before the answer to a commit.

use crate::{all, eventually, number, serve, url};
use evergraph::Database;
use evergraph_client::client::Client;
use evergraph_client::options::ClientOptions;
use evergraph_client::query::Query;
use evergraph_client::server_answer::UnknownOutcome;
use evergraph_graph::cancel::CancelFlag;
use evergraph_graph::error::ErrorKind;
use evergraph_graph::transaction::TransactionOptions;
use evergraph_server::options::ServerOptions;
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::thread;

/// What becomes of the next bytes that a client sends.
const PASSES: u8 = 0;
/// They reach the server, and its answer does not come back.
const LOSES_ANSWERS: u8 = 1;
/// They do not reach the server.
const LOSES_REQUESTS: u8 = 2;

/// A proxy before the server at `server`, which loses what `loss` says.
fn proxy(server: SocketAddr, database: &Arc<Database>, loss: &Arc<AtomicU8>) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let (database, loss) = (Arc::clone(database), Arc::clone(loss));
    thread::spawn(move || {
        for client in listener.incoming() {
            let (client, server) = (client.unwrap(), TcpStream::connect(server).unwrap());
            let (mut answers, mut to_client) = (server.try_clone().unwrap(), client.try_clone().unwrap());
            let lost = Arc::clone(&loss);
            let is_lost_here = Arc::new(AtomicBool::new(false));
            let is_lost = Arc::clone(&is_lost_here);
            thread::spawn(move || {
                let mut bytes = [0; 4096];
                while let Ok(count @ 1..) = answers.read(&mut bytes) {
                    let passes = lost.load(Ordering::SeqCst) == PASSES && !is_lost.load(Ordering::SeqCst);
                    if passes && to_client.write_all(&bytes[..count]).is_err() {
                        break;
                    }
                }
                let _ = to_client.shutdown(Shutdown::Both);
            });
            let (database, loss) = (Arc::clone(&database), Arc::clone(&loss));
            thread::spawn(move || carry_requests(client, server, &database, &loss, &is_lost_here));
        }
    });
    address
}

fn carry_requests(
    mut client: TcpStream,
    mut server: TcpStream,
    database: &Database,
    loss: &AtomicU8,
    is_lost: &AtomicBool,
) {
    let mut bytes = [0; 4096];
    while let Ok(count @ 1..) = client.read(&mut bytes) {
        match loss.load(Ordering::SeqCst) {
            LOSES_REQUESTS => break,
            LOSES_ANSWERS => {
                server.write_all(&bytes[..count]).unwrap();
                eventually("the commit is there", || points(database) > 0);
                break;
            }
            _ => server.write_all(&bytes[..count]).unwrap(),
        }
    }
    // The next connection, which comes as soon as this one is closed, is carried again.
    is_lost.store(true, Ordering::SeqCst);
    loss.store(PASSES, Ordering::SeqCst);
    let _ = client.shutdown(Shutdown::Both);
    let _ = server.shutdown(Shutdown::Both);
}

fn points(database: &Database) -> i64 {
    database.gremlin("g.V().count()").one().unwrap()
}

#[test]
fn a_commit_whose_answer_is_lost_is_never_tried_again() {
    let (database, server) = serve(ServerOptions::default());
    let loss = Arc::new(AtomicU8::new(PASSES));
    let address = proxy(server.address(), &database, &loss);
    let client = Client::connect(&url(address, "social"), ClientOptions::default()).unwrap();
    let mut calls = 0;
    let lost = client.transact(TransactionOptions::default(), &CancelFlag::default(), |transaction| {
        calls += 1;
        transaction.query(&Query::text("g.addV('Point')"))?.collect()?;
        loss.store(LOSES_ANSWERS, Ordering::SeqCst);
        Ok(())
    });
    let lost = lost.unwrap_err();
    assert!(UnknownOutcome::is_of(&lost), "a lost commit has an unknown outcome: {lost}");
    assert!(!lost.is_conflict() && lost.kind() == ErrorKind::Io, "{lost}");
    assert!(lost.to_string().contains("not known whether it was written"), "{lost}");
    assert_eq!((calls, points(&database)), (1, 1), "a lost commit is not tried again");
    assert_eq!(number(&client, "g.V().count()"), 1, "the client connects anew");
}

#[test]
fn a_write_whose_answer_is_lost_is_never_tried_again() {
    let (database, server) = serve(ServerOptions::default());
    let loss = Arc::new(AtomicU8::new(PASSES));
    let address = proxy(server.address(), &database, &loss);
    let client = Client::connect(&url(address, "social"), ClientOptions::default()).unwrap();
    loss.store(LOSES_ANSWERS, Ordering::SeqCst);
    let lost = all(&client, "g.addV('Point')").unwrap_err();
    assert!(UnknownOutcome::is_of(&lost), "{lost}");
    assert_eq!(points(&database), 1);
}

#[test]
fn a_transaction_whose_connection_is_lost_before_its_commit_is_rolled_back() {
    let (database, server) = serve(ServerOptions::default());
    let loss = Arc::new(AtomicU8::new(PASSES));
    let address = proxy(server.address(), &database, &loss);
    let client = Client::connect(&url(address, "social"), ClientOptions::default()).unwrap();
    let mut transaction = client.begin(TransactionOptions::default(), &CancelFlag::default()).unwrap();
    transaction.query(&Query::text("g.addV('Point')")).unwrap().collect().unwrap();
    loss.store(LOSES_REQUESTS, Ordering::SeqCst);
    let lost = transaction.query(&Query::text("g.addV('Point')")).unwrap_err();
    assert!(
        !UnknownOutcome::is_of(&lost) && lost.to_string().contains("rolls the transaction back"),
        "{lost}"
    );
    let refused = transaction.commit().unwrap_err();
    assert!(!refused.is_conflict(), "{refused}");
    assert_eq!(points(&database), 0);
}
