//! The update stream of LDBC SNB Interactive, as transactions of SQL that a replica follows and as transactions of a plain
//! database: equal graphs.
//!
//! The plain one begins with the graph's files, the other one with the relations of the same network. Of the relations' mapping
//! only the lists of persons (languages, addresses) are no part, since they are tables of their own.

use crate::data_sets::DataSet;
use crate::follower::{Follower, catch_up};
use crate::server::{TestServer, run_sql};
use crate::snb_updates::{Operation, operations};
use crate::sql_graph::{assert_equal_lines, lines_of_snapshot};
use evergraph::import::options::{ImportOptions, InputFile};
use evergraph::{Database, Snapshot};
use std::path::Path;
use std::process::Command;

/// Transactions that are sent together.
const SENT_TOGETHER: usize = 50;

fn text(text: &str) -> String {
    match text {
        "" => "NULL".to_owned(),
        text => format!("'{}'", text.replace('\'', "''")),
    }
}

fn moment(milliseconds: &str) -> String {
    format!("timestamptz 'epoch' + {milliseconds} * interval '1 millisecond'")
}

/// A number, which is missing as -1.
fn reference(number: &str) -> &str {
    if number == "-1" { "NULL" } else { number }
}

/// Rows of `table` that belong to `id`, one for each part of a list.
fn rows(table: &str, id: &str, list: &str, of_part: impl Fn(&str) -> String) -> String {
    let parts = list.split(';').filter(|part| !part.is_empty());
    parts.map(|part| format!("INSERT INTO \"{table}\" VALUES ({id}, {});", of_part(part))).collect()
}

/// The statements of one operation.
fn sql(operation: &Operation) -> String {
    let arguments: Vec<&str> = operation.arguments.iter().map(String::as_str).collect();
    match (operation.kind, &arguments[..]) {
        (
            1,
            [
                id,
                first,
                last,
                gender,
                birthday,
                date,
                ip,
                browser,
                city,
                languages,
                emails,
                tags,
                study,
                work,
            ],
        ) => {
            let mut sql = format!(
                "INSERT INTO person (id, \"firstName\", \"lastName\", gender, birthday, \"creationDate\", \"locationIP\", \
                 \"browserUsed\", place) VALUES ({id}, {}, {}, {}, date 'epoch' + ({birthday} / 86400000)::int, {}, {}, {}, {city});",
                text(first),
                text(last),
                text(gender),
                moment(date),
                text(ip),
                text(browser)
            );
            sql += &rows("person_speaks_language", id, languages, text);
            sql += &rows("person_email_emailaddress", id, emails, text);
            sql += &rows("person_hasInterest_tag", id, tags, str::to_owned);
            // An organisation and a year.
            sql += &rows("person_studyAt_organisation", id, study, str::to_owned);
            sql + &rows("person_workAt_organisation", id, work, str::to_owned)
        }
        (2, [person, message, date]) => {
            format!("INSERT INTO person_likes_post VALUES ({person}, {message}, {});", moment(date))
        }
        (3, [person, message, date]) => {
            format!("INSERT INTO person_likes_comment VALUES ({person}, {message}, {});", moment(date))
        }
        (4, [id, title, date, moderator, tags]) => {
            let forum = format!(
                "INSERT INTO forum (id, title, \"creationDate\", moderator) VALUES ({id}, {}, {}, {moderator});",
                text(title),
                moment(date)
            );
            forum + &rows("forum_hasTag_tag", id, tags, str::to_owned)
        }
        (5, [forum, person, date]) => {
            format!("INSERT INTO \"forum_hasMember_person\" VALUES ({forum}, {person}, {});", moment(date))
        }
        (6, [id, image, date, ip, browser, language, content, length, author, forum, country, tags]) => {
            let post = format!(
                "INSERT INTO post (id, \"imageFile\", \"creationDate\", \"locationIP\", \"browserUsed\", language, content, length, \
                 creator, \"Forum.id\", place) VALUES ({id}, {}, {}, {}, {}, {}, {}, {length}, {author}, {forum}, {country});",
                text(image),
                moment(date),
                text(ip),
                text(browser),
                text(language),
                text(content)
            );
            post + &rows("post_hasTag_tag", id, tags, str::to_owned)
        }
        (7, [id, date, ip, browser, content, length, author, country, post, comment, tags]) => {
            let own = format!(
                "INSERT INTO comment (id, \"creationDate\", \"locationIP\", \"browserUsed\", content, length, creator, place, \
                 \"replyOfPost\", \"replyOfComment\") VALUES ({id}, {}, {}, {}, {}, {length}, {author}, {country}, {}, {});",
                moment(date),
                text(ip),
                text(browser),
                text(content),
                reference(post),
                reference(comment)
            );
            own + &rows("comment_hasTag_tag", id, tags, str::to_owned)
        }
        (8, [one, other, date]) => {
            format!("INSERT INTO person_knows_person VALUES ({one}, {other}, {});", moment(date))
        }
        (kind, arguments) => panic!("operation {kind} with {} arguments", arguments.len()),
    }
}

/// Lines of vertices and edges, sorted, with the types of values.
fn lines(snapshot: &Snapshot) -> Vec<String> {
    lines_of_snapshot(
        snapshot,
        |value| format!("{value:?}"),
        |label, mut values| {
            let label = label.to_lowercase();
            if label == "person" {
                values.remove("language");
                values.remove("email");
            }
            (format!("{label} {}", values["id"]), format!("{label} {values:?}"))
        },
        |edge_type, mut ends, mut values| {
            if edge_type == "KNOWS" {
                // Without direction: a replica begins at the smaller key, and identifies the edge by both.
                ends.sort();
                values.remove("key");
            }
            format!("{edge_type} {ends:?} {values:?}")
        },
    )
}

#[test]
fn the_update_stream_of_a_social_network_makes_the_same_graph_through_postgresql_and_in_a_plain_database() {
    let Some(server) = TestServer::shared() else { return };
    let Some(data) = DataSet::snb() else { return };
    let operations = operations(|stream| unpacked(&data.folder.join("..").join(stream)));
    let there = server.database();
    data.load(&there);
    let follower = Follower::new(there.settings(), &data.mapping());
    let followed = follower.open();
    let replica = follower.start(&followed);

    let plain = Database::in_memory().unwrap();
    let files = ImportOptions::new([InputFile::new(data.folder.join("../graph"))]);
    plain.import(&files, &|_| ()).unwrap();
    assert_equal_lines(&lines(&followed.snapshot()), &lines(&plain.snapshot()));

    let mut connection = there.connect();
    for part in operations.chunks(SENT_TOGETHER) {
        let sql: String = part.iter().map(|operation| format!("BEGIN; {} COMMIT;", sql(operation))).collect();
        run_sql(&mut connection, &sql);
    }
    for operation in &operations {
        operation.run(&plain).unwrap_or_else(|error| panic!("{operation:?}: {error}"));
    }
    catch_up(&replica);
    assert_equal_lines(&lines(&followed.snapshot()), &lines(&plain.snapshot()));
    assert_eq!(replica.status().transactions, operations.len() as u64);
    replica.stop().unwrap();
}

/// The text of a packed file.
fn unpacked(file: &Path) -> String {
    let output = Command::new("zcat").arg(file).output().unwrap();
    assert!(output.status.success(), "{}: {}", file.display(), String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}
