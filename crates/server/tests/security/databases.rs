//! Databases and roles: none on new ones, `*` for administrators of all, and what nobody learns without a role.

use crate::support::secured_site::{PASSWORD, SecuredSite};
use crate::support::served::eventually;
use crate::support::web_socket_client::{Client, eval};
use evergraph_protocol::request::operation::{Alias, Operation, QueryOptions};
use evergraph_server::databases::catalogue::DatabaseCatalogue;
use evergraph_server::databases::name::EVERY_DATABASE;
use evergraph_server::databases::options::{CatalogueOptions, CreateOptions};
use evergraph_server::security::role::Role;
use evergraph_server::server::Server;
use std::sync::Arc;

fn count(name: &str) -> Operation {
    let aliases = vec![Alias { alias: "g".into(), name: name.into() }];
    eval("g.V().count()", QueryOptions { aliases, ..QueryOptions::default() })
}

/// A server of a root with these databases.
fn serve_root(site: &SecuredSite, names: &[&str]) -> (Arc<DatabaseCatalogue>, Server) {
    let root = site.folder.path().join("root");
    std::fs::create_dir(&root).unwrap();
    let databases = DatabaseCatalogue::open(&[], Some(&root), CatalogueOptions::default()).unwrap();
    for name in names {
        databases.create_database(name, CreateOptions::default()).unwrap();
    }
    let address = "127.0.0.1:0".parse().unwrap();
    let server = Server::start_with(Arc::clone(&databases), address, site.options, &site.security).unwrap();
    (databases, server)
}

async fn log_in(server: &Server, user: &str) -> Client {
    let mut client = Client::connect(server.address()).await;
    client.ask_as(user, PASSWORD, count("social")).await;
    client
}

#[tokio::test]
async fn nobody_has_a_role_on_a_database_that_is_created_later_but_administrators_of_all() {
    let site = SecuredSite::new();
    site.edit(|users| {
        assert!(
            users.grant("writer", EVERY_DATABASE, Role::Reader).is_err(),
            "a lesser role on every database"
        );
        users.grant("nobody", EVERY_DATABASE, Role::Admin).unwrap();
    });
    let (databases, server) = serve_root(&site, &["social"]);
    let mut clients = Vec::new();
    for user in ["reader", "writer", "admin", "nobody"] {
        clients.push((user, log_in(&server, user).await));
    }
    databases.create_database("new", CreateOptions::default()).unwrap();
    for (user, client) in &mut clients {
        let answer = client.ask(count("new")).await;
        let expected = if *user == "nobody" { 200 } else { 403 };
        assert_eq!(answer.code, expected, "{user}: {}", answer.message);
    }
    site.edit(|users| users.grant("reader", "new", Role::Reader).unwrap());
    let reader = &mut clients[0].1;
    eventually("the role is there", async || reader.ask(count("new")).await.code == 200).await;
    // A database of the same name gets the roles of that name, and another one gets none.
    databases.drop_database("new").unwrap();
    databases.create_database("newer", CreateOptions::default()).unwrap();
    assert_eq!(reader.ask(count("newer")).await.code, 403);
    site.edit(|users| users.revoke("nobody", EVERY_DATABASE).unwrap());
    let nobody = &mut clients[3].1;
    eventually("the role is gone", async || nobody.ask(count("newer")).await.code == 403).await;
}

#[tokio::test]
async fn without_a_role_an_answer_is_the_same_whether_there_is_such_a_database_or_not() {
    let site = SecuredSite::new();
    let (databases, server) = serve_root(&site, &["social", "secret", "closed"]);
    databases.close_database("closed").unwrap();
    for user in ["reader", "nobody"] {
        let mut client = log_in(&server, user).await;
        let mut answers = Vec::new();
        for name in ["secret", "g_secret", "closed", "absent", "g_absent"] {
            let answer = client.ask(count(name)).await;
            let said = format!("{} {}", answer.code, answer.message);
            let plain = name.trim_start_matches("g_");
            answers.push(said.replace(&format!("{plain:?}"), "NAME"));
        }
        assert!(answers[0].starts_with("403"), "{answers:?}");
        assert!(
            answers.iter().all(|answer| *answer == answers[0]),
            "answers tell which databases there are: {answers:?}"
        );
    }
    // The default of who has no role at all tells nothing either.
    let mut client = log_in(&server, "nobody").await;
    let before = client.ask(count("g")).await;
    databases.close_database("social").unwrap();
    databases.close_database("secret").unwrap();
    let after = client.ask(count("g")).await;
    assert_eq!((before.code, &before.message), (403, &after.message));
}

#[tokio::test]
async fn guesses_and_lists_name_only_databases_on_which_the_user_has_a_role() {
    let site = SecuredSite::new();
    site.edit(|users| {
        users.grant("reader", "banks", Role::Reader).unwrap();
        users.grant("nobody", EVERY_DATABASE, Role::Admin).unwrap();
        users.grant("writer", "bank", Role::Reader).unwrap();
    });
    let (_databases, server) = serve_root(&site, &["social", "bank", "other"]);
    let mut reader = log_in(&server, "reader").await;
    // It has a role on the name, and there is no such database.
    let answer = reader.ask(count("banks")).await;
    assert_eq!(answer.code, 499);
    assert!(!answer.message.contains("did you mean"), "guesses tell names: {}", answer.message);
    assert_eq!(reader.ask(count("g")).await.number(), 0, "the only one on which it has a role");
    let mut writer = log_in(&server, "writer").await;
    let answer = writer.ask(count("g")).await;
    assert!(answer.message.ends_with("name one of bank, social"), "lists tell names: {}", answer.message);
    let mut admin = log_in(&server, "nobody").await;
    let answer = admin.ask(count("banks")).await;
    assert!(answer.message.contains("did you mean `bank`?"), "{}", answer.message);
    assert!(admin.ask(count("g")).await.message.ends_with("bank, other, social"));
}
