//! Network: the files of LDBC's generator as plain maps, read without anything of ours.
//!
//! ```text
//! graph/dynamic/person_0_0.csv[.gz]    id|firstName|...            no quotes: every character is one of a value
//! graph/static/place_0_0.csv[.gz]      id|name|url|type            knows is there once a pair
//! ```

use evergraph_graph::error::{Error, ErrorKind, Result};
use flate2::read::GzDecoder;
use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// A person, with its columns as they are written.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Person {
    /// Column by name; empty ones are left out.
    pub columns: HashMap<String, String>,
    /// The city.
    pub city: i64,
    /// Organisation and year of each.
    pub studies: Vec<(i64, i64)>,
    /// The same.
    pub works: Vec<(i64, i64)>,
    /// Who is known, and since when.
    pub knows: Vec<(i64, i64)>,
    /// What was written.
    pub messages: Vec<i64>,
}

/// A post or a comment.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Message {
    /// What it says, or the file of its picture.
    pub content: Option<String>,
    /// In milliseconds.
    pub created: i64,
    /// Who wrote it.
    pub creator: i64,
    /// Where.
    pub country: i64,
    /// What it answers; `None` for a post.
    pub reply_of: Option<i64>,
    /// What answers it.
    pub replies: Vec<i64>,
    /// Whether it is a post.
    pub is_post: bool,
    /// The forum of a post.
    pub forum: i64,
    /// What a post is about.
    pub tags: Vec<i64>,
}

/// A city, a country or a continent.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Place {
    /// Its name.
    pub name: String,
    /// Which of these it is.
    pub kind: String,
    /// What it is a part of.
    pub part_of: Option<i64>,
}

/// All that is asked for.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Network {
    /// By id.
    pub persons: BTreeMap<i64, Person>,
    /// Posts and comments, whose ids differ.
    pub messages: BTreeMap<i64, Message>,
    /// Title and moderator of each.
    pub forums: HashMap<i64, (String, i64)>,
    /// By id.
    pub places: HashMap<i64, Place>,
    /// Name and place of each.
    pub organisations: HashMap<i64, (String, i64)>,
    /// Name of each.
    pub tags: HashMap<i64, String>,
}

impl Network {
    /// Reads the folders `dynamic` and `static` below `folder`.
    ///
    /// # Errors
    /// `io` for a file that can't be read; `invalid` for a row that refers to nothing or isn't one.
    pub fn read(folder: &Path) -> Result<Self> {
        let mut network = Self::default();
        let [dynamic, fixed] = ["dynamic", "static"].map(|part| folder.join(part));
        for row in Table::read(&fixed, "place")?.rows() {
            let place = Place { name: row.text("name")?, kind: row.text("type")?, part_of: None };
            network.places.insert(row.number(0)?, place);
        }
        for row in Table::read(&fixed, "place_isPartOf_place")?.rows() {
            found(network.places.get_mut(&row.number(0)?), &row)?.part_of = Some(row.number(1)?);
        }
        for row in Table::read(&fixed, "organisation")?.rows() {
            network.organisations.insert(row.number(0)?, (row.text("name")?, 0));
        }
        for row in Table::read(&fixed, "organisation_isLocatedIn_place")?.rows() {
            found(network.organisations.get_mut(&row.number(0)?), &row)?.1 = row.number(1)?;
        }
        for row in Table::read(&fixed, "tag")?.rows() {
            network.tags.insert(row.number(0)?, row.text("name")?);
        }
        network.read_persons(&dynamic)?;
        network.read_messages(&dynamic)?;
        for row in Table::read(&dynamic, "forum")?.rows() {
            network.forums.insert(row.number(0)?, (row.text("title")?, 0));
        }
        for row in Table::read(&dynamic, "forum_hasModerator_person")?.rows() {
            found(network.forums.get_mut(&row.number(0)?), &row)?.1 = row.number(1)?;
        }
        for row in Table::read(&dynamic, "forum_containerOf_post")?.rows() {
            found(network.messages.get_mut(&row.number(1)?), &row)?.forum = row.number(0)?;
        }
        Ok(network)
    }

    fn read_persons(&mut self, dynamic: &Path) -> Result<()> {
        let persons = Table::read(dynamic, "person")?;
        for row in persons.rows() {
            let columns = persons.columns.iter().zip(row.fields).filter(|(_, field)| !field.is_empty());
            let columns = columns.map(|(column, field)| (column.clone(), field.clone())).collect();
            self.persons.insert(row.number(0)?, Person { columns, ..Person::default() });
        }
        for row in Table::read(dynamic, "person_isLocatedIn_place")?.rows() {
            self.person(&row, 0)?.city = row.number(1)?;
        }
        for row in Table::read(dynamic, "person_studyAt_organisation")?.rows() {
            self.person(&row, 0)?.studies.push((row.number(1)?, row.number(2)?));
        }
        for row in Table::read(dynamic, "person_workAt_organisation")?.rows() {
            self.person(&row, 0)?.works.push((row.number(1)?, row.number(2)?));
        }
        for row in Table::read(dynamic, "person_knows_person")?.rows() {
            let (one, other, since) = (row.number(0)?, row.number(1)?, row.number(2)?);
            self.person(&row, 0)?.knows.push((other, since));
            self.person(&row, 1)?.knows.push((one, since));
        }
        Ok(())
    }

    fn read_messages(&mut self, dynamic: &Path) -> Result<()> {
        for kind in ["post", "comment"] {
            for row in Table::read(dynamic, kind)?.rows() {
                let filled = |text: String| (!text.is_empty()).then_some(text);
                let mut content = filled(row.text("content")?);
                if content.is_none() && kind == "post" {
                    content = filled(row.text("imageFile")?);
                }
                let created = row.text("creationDate")?.parse().map_err(|_| row.wrong("a date"))?;
                let message = Message { content, created, is_post: kind == "post", ..Message::default() };
                if self.messages.insert(row.number(0)?, message).is_some() {
                    return Err(row.wrong("an id of its own"));
                }
            }
            for row in Table::read(dynamic, &format!("{kind}_hasCreator_person"))?.rows() {
                self.message(&row, 0)?.creator = row.number(1)?;
                self.person(&row, 1)?.messages.push(row.number(0)?);
            }
            for row in Table::read(dynamic, &format!("{kind}_isLocatedIn_place"))?.rows() {
                self.message(&row, 0)?.country = row.number(1)?;
            }
        }
        for row in Table::read(dynamic, "post_hasTag_tag")?.rows() {
            self.message(&row, 0)?.tags.push(row.number(1)?);
        }
        for parent in ["post", "comment"] {
            for row in Table::read(dynamic, &format!("comment_replyOf_{parent}"))?.rows() {
                self.message(&row, 0)?.reply_of = Some(row.number(1)?);
                self.message(&row, 1)?.replies.push(row.number(0)?);
            }
        }
        Ok(())
    }

    fn person(&mut self, row: &TableRow<'_>, at: usize) -> Result<&mut Person> {
        found(self.persons.get_mut(&row.number(at)?), row)
    }

    fn message(&mut self, row: &TableRow<'_>, at: usize) -> Result<&mut Message> {
        found(self.messages.get_mut(&row.number(at)?), row)
    }
}

/// A file of LDBC's.
pub struct Table {
    name: String,
    /// Names of columns.
    pub columns: Vec<String>,
    rows: Vec<Vec<String>>,
}

/// A row of one.
pub struct TableRow<'t> {
    table: &'t Table,
    /// A field a column.
    pub fields: &'t [String],
}

impl Table {
    /// Reads `folder/NAME_0_0.csv`, packed or not.
    fn read(folder: &Path, name: &str) -> Result<Self> {
        Self::read_file(&folder.join(format!("{name}_0_0.csv")))
    }

    /// Reads `path`, or the same with `.gz` behind it.
    ///
    /// # Errors
    /// `io`, naming the file; `invalid` for a row with other columns than the header.
    pub fn read_file(path: &Path) -> Result<Self> {
        let mut text = String::new();
        let packed = path.with_added_extension("gz");
        let read = match File::open(&packed) {
            Ok(file) => GzDecoder::new(file).read_to_string(&mut text),
            Err(_) => File::open(path).and_then(|mut file| file.read_to_string(&mut text)),
        };
        let failed = |error| Error::new(ErrorKind::Io, format!("{}: {error}", path.display()));
        read.map_err(failed)?;
        let split = |line: &str| line.split('|').map(str::to_owned).collect::<Vec<_>>();
        let mut lines = text.lines();
        let columns = lines.next().map(split).unwrap_or_default();
        let rows: Vec<_> = lines.map(split).collect();
        let table = Self { name: path.display().to_string(), columns, rows };
        let wrong = table.rows().find(|row| row.fields.len() != table.columns.len());
        let wrong = wrong.map(|row| row.wrong("as many fields as the header"));
        wrong.map_or(Ok(table), Err)
    }

    /// The rows below the header.
    pub fn rows(&self) -> impl Iterator<Item = TableRow<'_>> {
        self.rows.iter().map(|fields| TableRow { table: self, fields })
    }
}

impl TableRow<'_> {
    /// The whole number in a column.
    ///
    /// # Errors
    /// `invalid` if it is none.
    pub fn number(&self, at: usize) -> Result<i64> {
        let number = self.fields.get(at).and_then(|field| field.parse().ok());
        number.ok_or_else(|| self.wrong("a whole number"))
    }

    /// The text in the column `name`.
    ///
    /// # Errors
    /// `invalid` if there is no such column.
    pub fn text(&self, name: &str) -> Result<String> {
        let at = self.table.columns.iter().position(|column| column == name);
        at.map(|at| self.fields[at].clone()).ok_or_else(|| self.wrong(&format!("a column {name}")))
    }

    fn wrong(&self, expected: &str) -> Error {
        Error::invalid(format!("{}: {:?}: expected {expected}", self.table.name, self.fields))
    }
}

fn found<'a, T>(entry: Option<&'a mut T>, row: &TableRow<'_>) -> Result<&'a mut T> {
    entry.ok_or_else(|| row.wrong("ids that are there"))
}
