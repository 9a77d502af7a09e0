//! Parameters: what LDBC's reads are asked for, drawn from the source's rows by a seed.

use crate::plan::wrong;
use crate::workload::replica::source_server::run;
use evergraph::Value;
use evergraph::generate::random::Random;
use evergraph_graph::error::{Error, Result};
use evergraph_graph::value::datetime::DateTime;
use evergraph_replica::source::postgres::connection::Connection;

/// Rows of a sample.
const SAMPLE: usize = 2000;
const DAY: i64 = 24 * 3600 * 1000;
/// How long a period is.
const PERIOD: i64 = 60 * DAY;

/// Friends of persons who wrote from two countries other than their own, with both.
const TRAVELS: &str = r#"SELECT k.b, min(p.name), max(p.name) FROM message m JOIN place p ON p.id = m.place
    JOIN person c ON c.id = m.creator JOIN place city ON city.id = c.place JOIN knows k ON k.a = c.id
    WHERE city."isPartOf" <> m.place GROUP BY c.id, k.b HAVING count(DISTINCT p.id) > 1
    ORDER BY hashint8extended(c.id, {seed}), c.id, k.b LIMIT 2000"#;

/// Messages that somebody answered.
const ANSWERED: &str =
    r#"(SELECT DISTINCT coalesce("replyOfPost", "replyOfComment") AS id FROM comment) answered"#;

/// What is drawn from.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Pools {
    /// Ids of persons.
    pub persons: Vec<i64>,
    /// Ids of posts and of comments.
    pub messages: Vec<i64>,
    /// Ids of messages that somebody answered.
    answered: Vec<i64>,
    /// Ids of posts.
    pub posts: Vec<i64>,
    /// Ids of forums.
    pub forums: Vec<i64>,
    /// Ids of tags.
    pub tags: Vec<i64>,
    /// Ids of places where posts were written.
    pub places: Vec<i64>,
    /// First names, as often as persons have them.
    first_names: Vec<String>,
    /// Names of the tags that most posts have.
    tag_names: Vec<String>,
    /// Names of classes of tags that posts have.
    classes: Vec<String>,
    /// Names of the countries where most messages were written.
    countries: Vec<String>,
    /// Persons who know somebody who wrote from two countries abroad, and both countries.
    travels: Vec<(i64, [String; 2])>,
    /// When messages were created, in milliseconds: the first quarter, the middle, the last quarter.
    quarters: [i64; 3],
}

impl Pools {
    /// What the source has.
    ///
    /// # Errors
    /// What the server says; `corrupt` if it has nothing of a kind.
    pub fn read(connection: &mut Connection, seed: u64) -> Result<Self> {
        let seed = seed & 0xffff;
        let sample = |column: &str, from: &str| {
            format!("SELECT {column} FROM {from} ORDER BY hashint8extended(id, {seed}), id LIMIT {SAMPLE}")
        };
        let moments = numbers(
            connection,
            "SELECT unnest(percentile_disc(ARRAY[0.25, 0.5, 0.75]) WITHIN GROUP (ORDER BY ms(created))) FROM message",
        )?;
        let quarters = moments.as_slice().try_into();
        let travels = run(connection, &TRAVELS.replace("{seed}", &seed.to_string()))?;
        let travel = |row: Vec<Option<String>>| {
            let mut cells = row.into_iter().flatten();
            Some((cells.next()?.parse::<i64>().ok()?, [cells.next()?, cells.next()?]))
        };
        let travels: Vec<(i64, [String; 2])> = travels.into_iter().filter_map(travel).collect();
        if travels.is_empty() {
            return Err(Error::invalid("nobody in the network wrote from two countries abroad"));
        }
        Ok(Self {
            persons: numbers(connection, &sample("id", "person"))?,
            messages: numbers(connection, &sample("id", "message"))?,
            answered: numbers(connection, &sample("id", ANSWERED))?,
            posts: numbers(connection, &sample("id", "post"))?,
            forums: numbers(connection, &sample("id", "forum"))?,
            tags: numbers(connection, &sample("id", "tag"))?,
            places: numbers(
                connection,
                "SELECT DISTINCT place FROM post WHERE place IS NOT NULL ORDER BY 1",
            )?,
            first_names: texts(connection, &sample("\"firstName\"", "person"))?,
            tag_names: texts(
                connection,
                r#"SELECT t.name FROM tag t JOIN "post_hasTag_tag" h ON h."Tag.id" = t.id
                 GROUP BY t.id ORDER BY count(*) DESC, t.id LIMIT 20"#,
            )?,
            classes: texts(
                connection,
                r#"SELECT c.name FROM tagclass c JOIN tag t ON t."hasType" = c.id JOIN "post_hasTag_tag" h ON h."Tag.id" = t.id
                 GROUP BY c.id ORDER BY count(*) DESC, c.id LIMIT 20"#,
            )?,
            countries: texts(
                connection,
                "SELECT p.name FROM message m JOIN place p ON p.id = m.place GROUP BY p.id ORDER BY count(*) DESC, p.id LIMIT 6",
            )?,
            travels,
            quarters: quarters.map_err(|_| wrong("postgres", "quarters of moments", &moments, "three"))?,
        })
    }

    /// Parameters of the read `name`.
    ///
    /// # Panics
    /// For a name that is none.
    pub fn draw(&self, name: &str, random: &mut Random) -> Vec<Value> {
        let mut at = |len: usize| random.below(len.max(1) as u64) as usize;
        let person = Value::from(self.persons[at(self.persons.len())]);
        let [from, middle, late] = self.quarters;
        let early = moment(from - 10 * PERIOD);
        let (from, middle, late, to) =
            (moment(from), moment(middle), moment(late + PERIOD), moment(from + PERIOD));
        match name {
            "is_7" => vec![self.answered[at(self.answered.len())].into()],
            "is_4" | "is_5" | "is_6" => vec![self.messages[at(self.messages.len())].into()],
            "ic_1" => vec![person, self.first_names[at(self.first_names.len())].as_str().into()],
            "ic_2" | "ic_9" => vec![person, late],
            "ic_3" => {
                let (person, countries) = &self.travels[at(self.travels.len())];
                let [x, y] = countries.each_ref().map(|country| country.as_str().into());
                vec![(*person).into(), early, late, x, y]
            }
            "ic_4" => vec![person, from, to],
            "ic_5" => vec![person, middle],
            "ic_6" => vec![person, self.tag_names[at(self.tag_names.len())].as_str().into()],
            "ic_10" => vec![person, (at(12) as i64 + 1).into()],
            "ic_11" => {
                vec![person, self.countries[at(self.countries.len())].as_str().into(), 2010_i64.into()]
            }
            "ic_12" => vec![person, self.classes[at(self.classes.len())].as_str().into()],
            "ic_13" | "ic_14" => vec![person, self.persons[at(self.persons.len())].into()],
            "is_1" | "is_2" | "is_3" | "ic_7" | "ic_8" => vec![person],
            _ => unreachable!("{name} is no read"),
        }
    }
}

fn moment(milliseconds: i64) -> Value {
    DateTime::from_epoch_milliseconds(milliseconds).expect("a moment of our time").into()
}

fn texts(connection: &mut Connection, sql: &str) -> Result<Vec<String>> {
    let rows = run(connection, sql)?;
    let texts: Vec<String> = rows.into_iter().filter_map(|row| row.into_iter().next().flatten()).collect();
    if texts.is_empty() {
        Err(Error::invalid(format!("the network has no rows for {sql}")))
    } else {
        Ok(texts)
    }
}

fn numbers(connection: &mut Connection, sql: &str) -> Result<Vec<i64>> {
    let number = |text: String| text.parse().map_err(|_| wrong("postgres", sql, text, "a whole number"));
    texts(connection, sql)?.into_iter().map(number).collect()
}
