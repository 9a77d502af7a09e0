//! Arrays: what each read of the network needs in static arrays, and the read as a loop over them.
//!
//! ```text
//! IS-3   Friendships       person -> (person, creationDate)                            names
//! BI-2   TagUses           class -> tag, tag -> message                                creationDate of messages
//! BI-3   ModeratedForums   place -> place, place -> person, person -> forum,           names of places and classes
//!                          forum -> post, message -> reply, message -> tag, tag -> class
//! ```
//!
//! The vertices of a label are numbered in the order of their rows; messages are posts first, comments behind them. A type of
//! edges is compressed sparse rows, in the direction that the read follows. An edge without one of its ends is left out, as a join
//! in SQL leaves it out.

use crate::goals::baseline::RELOAD;
use crate::plan::wrong;
use crate::workload::replica::question::Rows;
use crate::workload::replica::reload::copy_texts;
use evergraph::Value;
use evergraph_graph::error::{Error, Result};
use evergraph_graph::value::datetime::DateTime;
use evergraph_replica::source::postgres::settings::ConnectionSettings;
use std::cmp::Reverse;
use std::collections::HashMap;

/// Values of a read's variables, by name.
type Parameters = [(&'static str, Value)];

/// Tables whose columns are read by name.
pub trait ReadTables {
    /// Reads columns as texts, row by row; `None` is null.
    ///
    /// # Errors
    /// Those of the tables, and of `each`.
    fn read<const N: usize>(
        &self,
        table: &str,
        columns: [&str; N],
        each: impl FnMut([Option<&str>; N]) -> Result<()>,
    ) -> Result<()>;
}

/// By COPY.
impl ReadTables for ConnectionSettings {
    fn read<const N: usize>(
        &self,
        table: &str,
        columns: [&str; N],
        each: impl FnMut([Option<&str>; N]) -> Result<()>,
    ) -> Result<()> {
        copy_texts(self, table, columns, each)
    }
}

/// A read on arrays that hold what it needs, and nothing else.
pub trait StaticRead: Sized {
    /// Fills the arrays.
    ///
    /// # Errors
    /// Those of the tables; `corrupt` for a cell of another type.
    fn load(tables: &impl ReadTables) -> Result<Self>;

    /// The rows of the answer.
    ///
    /// # Errors
    /// `invalid` if a parameter is missing.
    fn answer(&self, parameters: &Parameters) -> Result<Rows>;
}

/// IS-3: who knows whom, and since when.
pub struct Friendships {
    persons: Numbering,
    names: Vec<[String; 2]>,
    knows: CompressedRows<(u32, i64)>,
}

impl StaticRead for Friendships {
    fn load(tables: &impl ReadTables) -> Result<Self> {
        let (mut persons, mut names, mut knows) = (Numbering::default(), Vec::new(), Vec::new());
        tables.read("person", ["id", "firstName", "lastName"], |[id, first, last]| {
            persons.add(id)?;
            names.push([first, last].map(text));
            Ok(())
        })?;
        let columns = ["Person.id", "Person.id2", "creationDate"];
        tables.read("person_knows_person", columns, |[one, other, since]| {
            let since = moment(since)?;
            if let (Some(one), Some(other)) = (persons.find(one)?, persons.find(other)?) {
                knows.extend([(one, (other, since)), (other, (one, since))]);
            }
            Ok(())
        })?;
        Ok(Self { knows: CompressedRows::new(persons.len(), &knows), persons, names })
    }

    fn answer(&self, parameters: &Parameters) -> Result<Rows> {
        let person = parameter(parameters, "person", Value::as_i64)?;
        let Some(person) = self.persons.number(person) else { return Ok(Rows::new()) };
        let mut friends = self.knows.of(person).to_vec();
        friends.sort_unstable_by_key(|(friend, since)| (Reverse(*since), self.persons.id(*friend)));
        let row = |(friend, _): &(u32, i64)| {
            let [first, last] = &self.names[*friend as usize];
            vec![self.persons.id(*friend).to_string(), first.clone(), last.clone()]
        };
        Ok(friends.iter().map(row).collect())
    }
}

/// BI-2: tags by class, messages by tag.
pub struct TagUses {
    tags: Tags,
    tags_of_class: CompressedRows<u32>,
    messages_of_tag: CompressedRows<u32>,
    /// When each message was created.
    created: Vec<i64>,
}

impl StaticRead for TagUses {
    fn load(tables: &impl ReadTables) -> Result<Self> {
        let tags = Tags::load(tables)?;
        let (mut messages, mut created) = (Messages::default(), Vec::new());
        for (table, numbering) in [("post", &mut messages.posts), ("comment", &mut messages.comments)] {
            tables.read(table, ["id", "creationDate"], |[id, date]| {
                numbering.add(id)?;
                created.push(moment(date)?);
                Ok(())
            })?;
        }
        let of_class = tags.class_of.iter().zip(0..).filter_map(|(class, tag)| Some(((*class)?, tag)));
        let tags_of_class = CompressedRows::new(tags.classes.len(), &of_class.collect::<Vec<_>>());
        let used: Vec<(u32, u32)> =
            messages.tags(tables, &tags)?.into_iter().map(|(message, tag)| (tag, message)).collect();
        let messages_of_tag = CompressedRows::new(tags.numbering.len(), &used);
        Ok(Self { tags, tags_of_class, messages_of_tag, created })
    }

    fn answer(&self, parameters: &Parameters) -> Result<Rows> {
        let class = parameter(parameters, "class", Value::as_str)?;
        let moment = |name| {
            parameter(parameters, name, |value| match value {
                Value::DateTime(moment) => Some(microseconds(*moment)),
                _ => None,
            })
        };
        let (start, middle, end) = (moment("start")?, moment("middle")?, moment("end")?);
        let mut tags = Vec::new();
        for class in named(&self.tags.classes, class) {
            tags.extend_from_slice(self.tags_of_class.of(class));
        }
        tags.sort_unstable_by_key(|tag| self.tags.numbering.id(*tag));
        let row = |tag: &u32| {
            let (mut first, mut second) = (0_u64, 0_u64);
            for message in self.messages_of_tag.of(*tag) {
                let created = self.created[*message as usize];
                first += u64::from((start..middle).contains(&created));
                second += u64::from((middle..end).contains(&created));
            }
            vec![self.tags.numbering.id(*tag).to_string(), first.to_string(), second.to_string()]
        };
        Ok(tags.iter().map(row).collect())
    }
}

/// BI-3: from a country to the forums of its moderators, and to the messages in them.
pub struct ModeratedForums {
    places: Vec<String>,
    parts_of_place: CompressedRows<u32>,
    residents: CompressedRows<u32>,
    forums_of_person: CompressedRows<u32>,
    forums: Numbering,
    posts_of_forum: CompressedRows<u32>,
    replies: CompressedRows<u32>,
    tags_of_message: CompressedRows<u32>,
    tags: Tags,
}

impl StaticRead for ModeratedForums {
    fn load(tables: &impl ReadTables) -> Result<Self> {
        let tags = Tags::load(tables)?;
        let (mut places, mut names, mut wholes) = (Numbering::default(), Vec::new(), Vec::new());
        tables.read("place", ["id", "name", "isPartOf"], |[id, name, whole]| {
            wholes.push((places.add(id)?, reference(whole)?));
            names.push(text(name));
            Ok(())
        })?;
        let parts = wholes.into_iter().filter_map(|(part, whole)| Some((places.number(whole?)?, part)));
        let parts_of_place = CompressedRows::new(places.len(), &parts.collect::<Vec<_>>());

        let (mut persons, mut residents) = (Numbering::default(), Vec::new());
        tables.read("person", ["id", "place"], |[id, place]| {
            let person = persons.add(id)?;
            residents.extend(places.find(place)?.map(|place| (place, person)));
            Ok(())
        })?;
        let (mut forums, mut moderated) = (Numbering::default(), Vec::new());
        tables.read("forum", ["id", "moderator"], |[id, moderator]| {
            let forum = forums.add(id)?;
            moderated.extend(persons.find(moderator)?.map(|person| (person, forum)));
            Ok(())
        })?;

        let (mut messages, mut contained) = (Messages::default(), Vec::new());
        tables.read("post", ["id", "Forum.id"], |[id, forum]| {
            let post = messages.posts.add(id)?;
            contained.extend(forums.find(forum)?.map(|forum| (forum, post)));
            Ok(())
        })?;
        let (mut replies, mut further) = (Vec::new(), Vec::new());
        tables.read("comment", ["id", "replyOfPost", "replyOfComment"], |[id, post, comment]| {
            let comments_number = messages.comments.add(id)?;
            let reply = messages.comment(comments_number);
            replies.extend(messages.posts.find(post)?.map(|post| (post, reply)));
            further.push((reply, reference(comment)?));
            Ok(())
        })?;
        // The comment that is replied to may be of a later row.
        replies.extend(further.into_iter().filter_map(|(reply, comment)| {
            let comment = messages.comments.number(comment?)?;
            Some((messages.comment(comment), reply))
        }));
        Ok(Self {
            places: names,
            parts_of_place,
            residents: CompressedRows::new(places.len(), &residents),
            forums_of_person: CompressedRows::new(persons.len(), &moderated),
            posts_of_forum: CompressedRows::new(forums.len(), &contained),
            forums,
            replies: CompressedRows::new(messages.len(), &replies),
            tags_of_message: CompressedRows::new(messages.len(), &messages.tags(tables, &tags)?),
            tags,
        })
    }

    fn answer(&self, parameters: &Parameters) -> Result<Rows> {
        let country = parameter(parameters, "country", Value::as_str)?;
        let class = parameter(parameters, "class", Value::as_str)?;
        let mut forums = Vec::new();
        for country in named(&self.places, country) {
            for city in self.parts_of_place.of(country) {
                for person in self.residents.of(*city) {
                    forums.extend_from_slice(self.forums_of_person.of(*person));
                }
            }
        }
        forums.sort_unstable_by_key(|forum| self.forums.id(*forum));
        let mut is_asked_for = vec![false; self.tags.classes.len()];
        for class in named(&self.tags.classes, class) {
            is_asked_for[class as usize] = true;
        }
        let is_about = |tag: &u32| {
            let class = self.tags.class_of[*tag as usize];
            class.is_some_and(|class| is_asked_for[class as usize])
        };
        let row = |forum: &u32| {
            let (mut count, mut unread) = (0_u64, self.posts_of_forum.of(*forum).to_vec());
            while let Some(message) = unread.pop() {
                count += u64::from(self.tags_of_message.of(message).iter().any(is_about));
                unread.extend_from_slice(self.replies.of(message));
            }
            vec![self.forums.id(*forum).to_string(), count.to_string()]
        };
        Ok(forums.iter().map(row).collect())
    }
}

/// Tags, and the class of each.
struct Tags {
    numbering: Numbering,
    /// By a tag's number.
    class_of: Vec<Option<u32>>,
    /// Names of classes.
    classes: Vec<String>,
}

impl Tags {
    fn load(tables: &impl ReadTables) -> Result<Self> {
        let (mut class_numbers, mut classes) = (Numbering::default(), Vec::new());
        tables.read("tagclass", ["id", "name"], |[id, name]| {
            class_numbers.add(id)?;
            classes.push(text(name));
            Ok(())
        })?;
        let (mut numbering, mut class_of) = (Numbering::default(), Vec::new());
        tables.read("tag", ["id", "hasType"], |[id, class]| {
            numbering.add(id)?;
            class_of.push(class_numbers.find(class)?);
            Ok(())
        })?;
        Ok(Self { numbering, class_of, classes })
    }
}

/// Posts, and behind them comments: a post and a comment may have the same id.
#[derive(Default)]
struct Messages {
    posts: Numbering,
    comments: Numbering,
}

impl Messages {
    fn len(&self) -> usize {
        self.posts.len() + self.comments.len()
    }

    /// The number among messages of a comment; all posts are there.
    fn comment(&self, comment: u32) -> u32 {
        self.posts.len() as u32 + comment
    }

    /// From each message to its tags.
    fn tags(&self, tables: &impl ReadTables, tags: &Tags) -> Result<Vec<(u32, u32)>> {
        let mut edges = Vec::new();
        tables.read("post_hasTag_tag", ["Post.id", "Tag.id"], |[post, tag]| {
            edges.extend(self.posts.find(post)?.zip(tags.numbering.find(tag)?));
            Ok(())
        })?;
        tables.read("comment_hasTag_tag", ["Comment.id", "Tag.id"], |[comment, tag]| {
            let comment = self.comments.find(comment)?.map(|comment| self.comment(comment));
            edges.extend(comment.zip(tags.numbering.find(tag)?));
            Ok(())
        })?;
        Ok(edges)
    }
}

/// Numbers of a label's vertices, in the order of their rows.
#[derive(Default)]
struct Numbering {
    ids: Vec<i64>,
    numbers: HashMap<i64, u32>,
}

impl Numbering {
    /// The number of the next row, whose id stands in a cell.
    fn add(&mut self, cell: Option<&str>) -> Result<u32> {
        let (id, next) = (number(cell)?, self.ids.len() as u32);
        self.ids.push(id);
        self.numbers.insert(id, next);
        Ok(next)
    }

    /// The vertex that a cell names, if it names one that is there.
    fn find(&self, cell: Option<&str>) -> Result<Option<u32>> {
        Ok(reference(cell)?.and_then(|id| self.number(id)))
    }

    fn number(&self, id: i64) -> Option<u32> {
        self.numbers.get(&id).copied()
    }

    fn id(&self, number: u32) -> i64 {
        self.ids[number as usize]
    }

    fn len(&self) -> usize {
        self.ids.len()
    }
}

/// Compressed sparse rows: what the edges of each vertex lead to, vertex by vertex.
struct CompressedRows<T> {
    /// Where each vertex's entries begin; one more than there are vertices.
    offsets: Vec<usize>,
    entries: Vec<T>,
}

impl<T: Copy + Default> CompressedRows<T> {
    /// Of `edges`, each a vertex and an entry; those of a vertex keep their order.
    fn new(vertices: usize, edges: &[(u32, T)]) -> Self {
        let mut offsets = vec![0_usize; vertices + 1];
        for (vertex, _) in edges {
            offsets[*vertex as usize + 1] += 1;
        }
        let mut sum = 0;
        for offset in &mut offsets {
            sum += *offset;
            *offset = sum;
        }
        let (mut next, mut entries) = (offsets.clone(), vec![T::default(); edges.len()]);
        for (vertex, entry) in edges {
            let place = &mut next[*vertex as usize];
            entries[*place] = *entry;
            *place += 1;
        }
        Self { offsets, entries }
    }

    fn of(&self, vertex: u32) -> &[T] {
        let vertex = vertex as usize;
        &self.entries[self.offsets[vertex]..self.offsets[vertex + 1]]
    }
}

/// The numbers of those with a name.
fn named(names: &[String], name: &str) -> impl Iterator<Item = u32> {
    names.iter().zip(0..).filter(move |(own, _)| own.as_str() == name).map(|(_, number)| number)
}

/// What `read` makes of the parameter `name`.
fn parameter<'p, T>(
    parameters: &'p Parameters,
    name: &str,
    read: impl FnOnce(&'p Value) -> Option<T>,
) -> Result<T> {
    let value = parameters.iter().find(|(of, _)| *of == name).map(|(_, value)| value);
    value
        .and_then(read)
        .ok_or_else(|| Error::invalid(format!("no value of its type for the parameter {name}")))
}

fn text(cell: Option<&str>) -> String {
    cell.unwrap_or_default().to_owned()
}

fn number(cell: Option<&str>) -> Result<i64> {
    let number = cell.and_then(|cell| cell.parse::<i64>().ok());
    number.ok_or_else(|| wrong(RELOAD, "a cell of COPY", cell, "a whole number"))
}

/// The id that a cell names, if it names one.
fn reference(cell: Option<&str>) -> Result<Option<i64>> {
    cell.map(|_| number(cell)).transpose()
}

fn moment(cell: Option<&str>) -> Result<i64> {
    let moment = cell.and_then(|cell| cell.parse::<DateTime>().ok()).map(microseconds);
    moment.ok_or_else(|| wrong(RELOAD, "a cell of COPY", cell, "a moment"))
}

/// Since 1970: as exact as PostgreSQL's.
fn microseconds(moment: DateTime) -> i64 {
    moment.seconds() * 1_000_000 + i64::from(moment.nanoseconds() / 1_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tables by name; the first line of each names its columns, and an empty cell is null.
    struct WrittenTables(&'static [(&'static str, &'static [&'static str])]);

    impl ReadTables for WrittenTables {
        fn read<const N: usize>(
            &self,
            table: &str,
            columns: [&str; N],
            mut each: impl FnMut([Option<&str>; N]) -> Result<()>,
        ) -> Result<()> {
            let (_, lines) = self.0.iter().find(|(name, _)| *name == table).expect("the table was written");
            let header: Vec<&str> = lines[0].split('|').collect();
            let place = |column: &str| header.iter().position(|name| *name == column);
            let places = columns.map(|column| place(column).expect("the table has the column"));
            lines[1..].iter().try_for_each(|line| {
                let cells: Vec<&str> = line.split('|').collect();
                each(places.map(|place| Some(cells[place]).filter(|cell| !cell.is_empty())))
            })
        }
    }

    /// Anna lives in Alba and moderates a forum, Bela lives in Bora and moderates two. Post 1 and comment 1 are two messages.
    /// Some rows name what is not there.
    const NETWORK: WrittenTables = WrittenTables(&[
        (
            "person",
            &["id|firstName|lastName|place", "30|Anna|A|4", "10|Bela||5", "20|Cleo|C|4", "40|Dora|D|"],
        ),
        (
            "person_knows_person",
            &[
                "Person.id|Person.id2|creationDate",
                "20|30|2010-02-01 00:00:00.001+00",
                "30|10|2010-02-01 00:00:00.001+00",
                "40|30|2010-02-01 00:00:00.002+00",
                "30|99|2010-03-01 00:00:00+00",
                "10|20|2010-04-01 00:00:00+00",
            ],
        ),
        // A city stands before the country that it is part of.
        ("place", &["id|name|isPartOf", "4|Alba City|2", "2|Alba|", "3|Bora|", "5|Bora City|3"]),
        ("tagclass", &["id|name", "7|Song", "8|Film"]),
        ("tag", &["id|hasType", "72|7", "71|7", "81|8", "73|7", "99|"]),
        ("forum", &["id|moderator", "300|30", "102|10", "101|10", "999|"]),
        (
            "post",
            &[
                "id|creationDate|Forum.id",
                "1|2010-01-01 00:00:00+00|300",
                "2|2010-06-01 00:00:00+00|101",
                "3|2010-12-01 00:00:00+00|300",
            ],
        ),
        (
            "comment",
            &[
                "id|creationDate|replyOfPost|replyOfComment",
                "5|2010-07-01 00:00:00+00||1",
                "1|2010-05-31 23:59:59.999+00|1|",
                "6|2010-07-01 00:00:00+00|2|",
            ],
        ),
        ("post_hasTag_tag", &["Post.id|Tag.id", "1|71", "1|72", "2|81", "3|71", "3|404", "3|99"]),
        ("comment_hasTag_tag", &["Comment.id|Tag.id", "1|71", "5|71", "5|81", "6|71", "404|71"]),
    ]);

    fn answer<R: StaticRead>(parameters: &Parameters) -> Vec<String> {
        let rows = R::load(&NETWORK).and_then(|read| read.answer(parameters)).unwrap();
        rows.iter().map(|row| row.join(" ")).collect()
    }

    #[test]
    fn compressed_rows_keep_the_order_of_edges_and_have_vertices_without_one() {
        let rows = CompressedRows::new(4, &[(2, 'b'), (0, 'x'), (2, 'a'), (0, 'y')]);
        let found: Vec<String> = (0..4).map(|vertex| rows.of(vertex).iter().collect()).collect();
        assert_eq!(found, ["xy", "", "ba", ""]);
    }

    #[test]
    fn friends_come_the_newest_first_and_those_of_the_same_moment_by_id() {
        let of = |person: i64| answer::<Friendships>(&[("person", Value::from(person))]);
        assert_eq!(of(30), ["40 Dora D", "10 Bela ", "20 Cleo C"]);
        assert_eq!(of(40), ["30 Anna A"]);
        assert!(of(99).is_empty());
    }

    #[test]
    fn uses_of_tags_are_counted_in_two_periods_and_unused_tags_have_none() {
        let of = |class: &str, end: &str| {
            let moment = |text: &str| Value::from(text.parse::<DateTime>().unwrap());
            answer::<TagUses>(&[
                ("class", Value::from(class)),
                ("start", moment("2010-01-01")),
                ("middle", moment("2010-06-01")),
                ("end", moment(end)),
            ])
        };
        assert_eq!(of("Song", "2010-12-01"), ["71 2 2", "72 1 0", "73 0 0"]);
        assert_eq!(of("Song", "2010-12-02"), ["71 2 3", "72 1 0", "73 0 0"]);
        assert_eq!(of("Film", "2010-12-01"), ["81 0 2"]);
        assert!(of("Book", "2010-12-01").is_empty());
    }

    #[test]
    fn threads_of_moderated_forums_are_counted_to_their_ends_and_a_message_once() {
        let of = |country: &str, class: &str| {
            answer::<ModeratedForums>(&[("country", Value::from(country)), ("class", Value::from(class))])
        };
        assert_eq!(of("Alba", "Song"), ["300 4"]);
        assert_eq!(of("Alba", "Film"), ["300 1"]);
        assert_eq!(of("Bora", "Song"), ["101 1", "102 0"]);
        assert_eq!(of("Bora", "Film"), ["101 1", "102 0"]);
        assert!(of("Alba City", "Song").is_empty());
    }

    #[test]
    fn a_parameter_that_is_missing_or_of_another_type_is_an_error() {
        let read = Friendships::load(&NETWORK).unwrap();
        assert!(read.answer(&[]).is_err());
        assert!(read.answer(&[("person", Value::from("30"))]).is_err());
    }
}
