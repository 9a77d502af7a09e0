//! Network: a small social network in the files of LDBC's generator, with parameters for its reads.
//!
//! ```text
//! persons    a ring in which each knows the next, and who is three and ten further
//! posts      two of each person, in turn in its own country and abroad; comments answer posts and comments
//! ```

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

const PERSONS: i64 = 40;
const COUNTRIES: i64 = 4;
const TAGS: i64 = 6;
const BEGIN: i64 = 1_275_350_400_000;
const DAY: i64 = 24 * 3600 * 1000;
/// Posts have these ids from here on, comments from twice as much on.
const POSTS: i64 = 1_000;

/// Rows of a file, below their header.
fn file(folder: &Path, name: &str, header: &str, rows: impl IntoIterator<Item = String>) {
    let text = rows.into_iter().fold(format!("{header}\n"), |mut text, row| {
        writeln!(text, "{row}").expect("a text takes every line");
        text
    });
    fs::write(folder.join(name), text).expect("a file is written");
}

/// Writes `graph` and `substitution_parameters` into `folder`.
pub fn write(folder: &Path) {
    let [dynamic, fixed] = ["graph/dynamic", "graph/static"].map(|part| folder.join(part));
    let parameters = folder.join("substitution_parameters");
    for folder in [&dynamic, &fixed, &parameters] {
        fs::create_dir_all(folder).expect("a folder is made");
    }
    places(&fixed);
    persons(&dynamic);
    posts(&dynamic);
    comments(&dynamic);
    let some = || (0..PERSONS).step_by(7);
    let name = |number: i64, header: &str, rows: Vec<String>| {
        file(&parameters, &format!("interactive_{number}_param.txt"), header, rows);
    };
    name(1, "personId|firstName", some().map(|id| format!("{id}|Name{}", id % 3)).collect());
    name(2, "personId|maxDate", some().map(|id| format!("{id}|{}", BEGIN + (20 + id) * DAY)).collect());
    let header = "personId|startDate|durationDays|countryXName|countryYName";
    name(3, header, some().map(|id| format!("{id}|{BEGIN}|60|Country0|Country1")).collect());
    let header = "personId|startDate|durationDays";
    name(4, header, some().map(|id| format!("{id}|{}|20", BEGIN + 30 * DAY)).collect());
}

/// Countries, a city in each, and an organisation in each of both.
fn places(folder: &Path) {
    let kinds = [("country", "Country"), ("city", "City")];
    let all = || (0..2 * COUNTRIES).map(move |id| (id, kinds[(id / COUNTRIES) as usize], id % COUNTRIES));
    let rows = all().map(|(id, (kind, name), number)| format!("{id}|{name}{number}|u|{kind}"));
    file(folder, "place_0_0.csv", "id|name|url|type", rows);
    let parts = (0..COUNTRIES).map(|id| format!("{}|{id}", id + COUNTRIES));
    file(folder, "place_isPartOf_place_0_0.csv", "Place.id|Place.id", parts);
    let rows = all().map(|(id, (kind, _), number)| format!("{id}|{kind}|At{number}|u"));
    file(folder, "organisation_0_0.csv", "id|type|name|url", rows);
    let rows = all().map(|(id, _, _)| format!("{id}|{id}"));
    file(folder, "organisation_isLocatedIn_place_0_0.csv", "Organisation.id|Place.id", rows);
    file(folder, "tag_0_0.csv", "id|name|url", (0..TAGS).map(|id| format!("{id}|Tag{id}|u")));
}

fn persons(folder: &Path) {
    let all = || 0..PERSONS;
    let header = "id|firstName|lastName|gender|birthday|creationDate|locationIP|browserUsed|language|email";
    let row = |id: i64| {
        let (born, created) = (id * 97 * DAY, BEGIN - id * DAY);
        let emails = ["", "a@x", "a@x;b@x"][(id % 3) as usize];
        format!("{id}|Name{}|Last{}|female|{born}|{created}|1.2.3.4|Browser|en;es|{emails}", id % 3, id % 5)
    };
    file(folder, "person_0_0.csv", header, all().map(row));
    let rows = all().map(|id| format!("{id}|{}", COUNTRIES + id % COUNTRIES));
    file(folder, "person_isLocatedIn_place_0_0.csv", "Person.id|Place.id", rows);
    let rows =
        all().filter(|id| id % 2 == 0).map(|id| format!("{id}|{}|{}", COUNTRIES + id % 4, 1990 + id % 9));
    file(folder, "person_studyAt_organisation_0_0.csv", "Person.id|Organisation.id|classYear", rows);
    let rows = all().flat_map(|id| (0..id % 3).map(move |at| format!("{id}|{at}|{}", 2000 + id % 7)));
    file(folder, "person_workAt_organisation_0_0.csv", "Person.id|Organisation.id|workFrom", rows);
    let rows = all().flat_map(|id| {
        [1, 3, 10].map(move |further| {
            format!("{id}|{}|{}", (id + further) % PERSONS, BEGIN + further * id % 4 * DAY)
        })
    });
    file(folder, "person_knows_person_0_0.csv", "Person.id|Person.id|creationDate", rows);
}

/// Two posts of each person, which are in the forum of the person before.
fn posts(folder: &Path) {
    let all = || (0..2 * PERSONS).map(|number| (POSTS + number, number / 2, number));
    let header = "id|imageFile|creationDate|locationIP|browserUsed|language|content|length";
    let row = |(id, _, number): (i64, i64, i64)| {
        let (image, content) = if number % 5 == 0 { ("photo.jpg", "") } else { ("", "says \"this") };
        format!("{id}|{image}|{}|1.2.3.4|Browser|en|{content}|4", BEGIN + number % 50 * DAY)
    };
    file(folder, "post_0_0.csv", header, all().map(row));
    let rows = all().map(|(id, person, _)| format!("{id}|{person}"));
    file(folder, "post_hasCreator_person_0_0.csv", "Post.id|Person.id", rows);
    let rows = all().map(|(id, person, number)| format!("{id}|{}", (person + number % 2) % COUNTRIES));
    file(folder, "post_isLocatedIn_place_0_0.csv", "Post.id|Place.id", rows);
    let rows =
        all().filter(|post| post.2 % 3 > 0).map(|(id, _, number)| format!("{id}|{}", number * 7 / 4 % TAGS));
    file(folder, "post_hasTag_tag_0_0.csv", "Post.id|Tag.id", rows);
    let forums = || (0..PERSONS).map(|id| (POSTS * 9 + id, id));
    let rows = forums().map(|(id, person)| format!("{id}|Wall of {person}|{BEGIN}"));
    file(folder, "forum_0_0.csv", "id|title|creationDate", rows);
    let rows = forums().map(|(id, person)| format!("{id}|{person}"));
    file(folder, "forum_hasModerator_person_0_0.csv", "Forum.id|Person.id", rows);
    let rows = all().map(|(id, person, _)| format!("{}|{id}", POSTS * 9 + (person + PERSONS - 1) % PERSONS));
    file(folder, "forum_containerOf_post_0_0.csv", "Forum.id|Post.id", rows);
}

/// Two comments on each second post, and on each of the first comments another one.
fn comments(folder: &Path) {
    let all = || (0..2 * PERSONS).map(|number| (2 * POSTS + number, (number * 3 + 1) % PERSONS, number));
    let header = "id|creationDate|locationIP|browserUsed|content|length";
    let row = |(id, _, number): (i64, i64, i64)| {
        format!("{id}|{}|1.2.3.4|Browser|yes|3", BEGIN + (number % 40 + 10) * DAY)
    };
    file(folder, "comment_0_0.csv", header, all().map(row));
    let rows = all().map(|(id, person, _)| format!("{id}|{person}"));
    file(folder, "comment_hasCreator_person_0_0.csv", "Comment.id|Person.id", rows);
    let rows = all().map(|(id, person, number)| format!("{id}|{}", (person + number) % COUNTRIES));
    file(folder, "comment_isLocatedIn_place_0_0.csv", "Comment.id|Place.id", rows);
    let on_posts = all().filter(|comment| comment.2 < PERSONS);
    let rows = on_posts.map(|(id, _, number)| format!("{id}|{}", POSTS + number / 2 * 2));
    file(folder, "comment_replyOf_post_0_0.csv", "Comment.id|Post.id", rows);
    let on_comments = all().filter(|comment| comment.2 >= PERSONS);
    let rows = on_comments.map(|(id, _, _)| format!("{id}|{}", id - PERSONS));
    file(folder, "comment_replyOf_comment_0_0.csv", "Comment.id|Comment.id", rows);
}
