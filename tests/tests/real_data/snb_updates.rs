//! The update streams of LDBC SNB Interactive: operations in the order of time, each one transaction.
//!
//! ```text
//! time|dependency|op|arguments
//! 1 person    id|first|last|gender|birthday|date|ip|browser|city|languages|emails|tags|study|work
//! 2, 3 like   person|message|date                                       (a post, a comment)
//! 4 forum     id|title|date|moderator|tags
//! 5 member    forum|person|date
//! 6 post      id|image|date|ip|browser|language|content|length|author|forum|country|tags
//! 7 comment   id|date|ip|browser|content|length|author|country|post or -1|comment or -1|tags
//! 8 knows     person|person|date
//! ```
//!
//! Labels, types and keys are those that the import gives the graph's files.

use evergraph::graph::value::collection::List;
use evergraph::graph::value::date::Date;
use evergraph::graph::value::datetime::DateTime;
use evergraph::{Database, Result, Transaction, Value, VertexId};

/// Days have so many milliseconds.
const DAY: i64 = 86_400_000;

/// One operation.
#[derive(Debug)]
pub struct Operation {
    time: i64,
    /// From 1 to 8.
    pub kind: u8,
    pub arguments: Vec<String>,
}

/// The files of both streams, below the data set's folder.
pub const STREAMS: [&str; 2] =
    ["update_streams/updateStream_0_0_person.csv.gz", "update_streams/updateStream_0_0_forum.csv.gz"];

/// The operations of both streams, whose texts `read` gives, merged by time.
pub fn operations(read: impl Fn(&str) -> String) -> Vec<Operation> {
    let mut operations: Vec<Operation> = Vec::new();
    for stream in STREAMS {
        let text = read(stream);
        operations.extend(text.lines().map(|line| {
            let words: Vec<&str> = line.split('|').collect();
            Operation {
                time: words[0].parse().unwrap(),
                kind: words[2].parse().unwrap(),
                arguments: words[3..].iter().map(|word| (*word).to_owned()).collect(),
            }
        }));
    }
    operations.sort_by_key(|operation| operation.time);
    operations
}

fn moment(text: &str) -> Value {
    Value::DateTime(DateTime::from_epoch_milliseconds(text.parse().unwrap()).unwrap())
}

fn day(text: &str) -> Value {
    let milliseconds: i64 = text.parse().unwrap();
    assert_eq!(milliseconds % DAY, 0, "a birthday begins at midnight");
    Value::Date(Date::from_days(i32::try_from(milliseconds / DAY).unwrap()))
}

fn whole(text: &str) -> Value {
    Value::I32(text.parse().unwrap())
}

fn texts(list: &str) -> Value {
    Value::List(List::new(list.split(';').map(Value::from).collect()).unwrap())
}

/// The parts of a list that may be empty.
fn parts(list: &str) -> impl Iterator<Item = &str> {
    list.split(';').filter(|part| !part.is_empty())
}

/// The vertex of `label` with the id `id`.
fn find(tx: &Transaction, label: &str, id: &str) -> Result<VertexId> {
    let found = tx.find(label, "id", id.parse::<i64>().unwrap())?;
    Ok(found.unwrap_or_else(|| panic!("{label} {id} isn't there yet")))
}

impl Operation {
    /// Runs this operation as one transaction.
    pub fn run(&self, db: &Database) -> Result<()> {
        db.transact(|tx| self.apply(tx))
    }

    fn apply(&self, tx: &mut Transaction) -> Result<()> {
        let arguments: Vec<&str> = self.arguments.iter().map(String::as_str).collect();
        match self.kind {
            1 => add_person(tx, &arguments),
            2 | 3 => {
                let message = find(tx, if self.kind == 2 { "Post" } else { "Comment" }, arguments[1])?;
                let person = find(tx, "Person", arguments[0])?;
                link(tx, person, "LIKES", message, &[("creationDate", moment(arguments[2]))])
            }
            4 => add_forum(tx, &arguments),
            5 => {
                let (forum, person) = (find(tx, "Forum", arguments[0])?, find(tx, "Person", arguments[1])?);
                link(tx, forum, "HAS_MEMBER", person, &[("joinDate", moment(arguments[2]))])
            }
            6 => add_post(tx, &arguments),
            7 => add_comment(tx, &arguments),
            8 => {
                let (one, other) = (find(tx, "Person", arguments[0])?, find(tx, "Person", arguments[1])?);
                link(tx, one, "KNOWS", other, &[("creationDate", moment(arguments[2]))])
            }
            other => panic!("operation {other}"),
        }
    }
}

fn link(
    tx: &mut Transaction,
    source: VertexId,
    edge_type: &str,
    target: VertexId,
    properties: &[(&str, Value)],
) -> Result<()> {
    tx.add_edge(source, edge_type, target, properties).map(drop)
}

/// Adds a vertex with its id, the properties that have a text, and others.
fn add(
    tx: &mut Transaction,
    label: &str,
    id: &str,
    texts: &[(&str, &str)],
    others: &[(&str, Value)],
) -> Result<VertexId> {
    let mut properties = vec![("id", Value::I64(id.parse().unwrap()))];
    let there = texts.iter().filter(|(_, text)| !text.is_empty());
    properties.extend(there.map(|(key, text)| (*key, Value::from(*text))));
    properties.extend_from_slice(others);
    tx.add_vertex(label, &properties)
}

/// Links `source` to each tag of a list.
fn tag(tx: &mut Transaction, source: VertexId, edge_type: &str, tags: &str) -> Result<()> {
    for id in parts(tags) {
        let tag = find(tx, "Tag", id)?;
        link(tx, source, edge_type, tag, &[])?;
    }
    Ok(())
}

fn add_person(tx: &mut Transaction, arguments: &[&str]) -> Result<()> {
    let [id, first, last, gender, birthday, date, ip, browser, city, languages, emails, tags, rest @ ..] =
        arguments
    else {
        panic!("a person with {} arguments", arguments.len());
    };
    let own_texts = [
        ("firstName", *first),
        ("lastName", last),
        ("gender", gender),
        ("locationIP", ip),
        ("browserUsed", browser),
    ];
    let others = [
        ("birthday", day(birthday)),
        ("creationDate", moment(date)),
        ("language", texts(languages)),
        ("email", texts(emails)),
    ];
    let person = add(tx, "Person", id, &own_texts, &others)?;
    let city = find(tx, "Place", city)?;
    link(tx, person, "IS_LOCATED_IN", city, &[])?;
    tag(tx, person, "HAS_INTEREST", tags)?;
    for (list, (edge_type, key)) in rest.iter().zip([("STUDY_AT", "classYear"), ("WORK_AT", "workFrom")]) {
        for part in parts(list) {
            let (organisation, year) = part.split_once(',').unwrap();
            let organisation = find(tx, "Organisation", organisation)?;
            link(tx, person, edge_type, organisation, &[(key, whole(year))])?;
        }
    }
    Ok(())
}

fn add_forum(tx: &mut Transaction, arguments: &[&str]) -> Result<()> {
    let [id, title, date, moderator, tags] = arguments else { panic!("{} arguments", arguments.len()) };
    let forum = add(tx, "Forum", id, &[("title", title)], &[("creationDate", moment(date))])?;
    let moderator = find(tx, "Person", moderator)?;
    link(tx, forum, "HAS_MODERATOR", moderator, &[])?;
    tag(tx, forum, "HAS_TAG", tags)
}

fn add_post(tx: &mut Transaction, arguments: &[&str]) -> Result<()> {
    let [id, image, date, ip, browser, language, content, length, author, forum, country, tags] = arguments
    else {
        panic!("a post with {} arguments", arguments.len());
    };
    let texts = [
        ("imageFile", *image),
        ("locationIP", ip),
        ("browserUsed", browser),
        ("language", language),
        ("content", content),
    ];
    let others = [("creationDate", moment(date)), ("length", whole(length))];
    let post = add(tx, "Post", id, &texts, &others)?;
    let forum = find(tx, "Forum", forum)?;
    link(tx, forum, "CONTAINER_OF", post, &[])?;
    place_message(tx, post, author, country, tags)
}

fn add_comment(tx: &mut Transaction, arguments: &[&str]) -> Result<()> {
    let [id, date, ip, browser, content, length, author, country, post, comment, tags] = arguments else {
        panic!("a comment with {} arguments", arguments.len());
    };
    let texts = [("locationIP", *ip), ("browserUsed", browser), ("content", content)];
    let others = [("creationDate", moment(date)), ("length", whole(length))];
    let own = add(tx, "Comment", id, &texts, &others)?;
    let replied = match (*post, *comment) {
        ("-1", comment) => find(tx, "Comment", comment)?,
        (post, _) => find(tx, "Post", post)?,
    };
    link(tx, own, "REPLY_OF", replied, &[])?;
    place_message(tx, own, author, country, tags)
}

fn place_message(
    tx: &mut Transaction,
    message: VertexId,
    author: &str,
    country: &str,
    tags: &str,
) -> Result<()> {
    let (author, country) = (find(tx, "Person", author)?, find(tx, "Place", country)?);
    link(tx, message, "HAS_CREATOR", author, &[])?;
    link(tx, message, "IS_LOCATED_IN", country, &[])?;
    tag(tx, message, "HAS_TAG", tags)
}
