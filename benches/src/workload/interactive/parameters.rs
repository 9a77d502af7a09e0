//! Parameters: what each read is asked for: LDBC's sets, then drawn ones until there are ten.
//!
//! ```text
//! drawn for IC1, IC2, IC4   a message, who wrote it, and one who knows that person: there is something to find
//! drawn for IC3             a person who wrote from two other countries, and one who knows that person
//! ```

use crate::workload::interactive::network::{Message, Network, Person, Table, TableRow};
use evergraph::Value;
use evergraph::generate::random::Random;
use evergraph_graph::error::{Error, Result};
use evergraph_graph::value::datetime::DateTime;
use std::path::Path;

const PURPOSE: u64 = 408;
/// So many sets each.
const SETS: usize = 10;
const DAY: i64 = 24 * 3600 * 1000;
/// How long a drawn period is.
const PERIOD: i64 = 30 * DAY;

/// Values of a text's variables.
pub type Parameters = Vec<(&'static str, Value)>;

/// The sets of all reads.
pub struct Sets {
    /// Of IS1 to IS3.
    pub persons: Vec<Parameters>,
    /// Of IS4 to IS6.
    pub messages: Vec<Parameters>,
    /// Of IS7: messages that somebody answered.
    pub answered: Vec<Parameters>,
    /// Of IC1.
    pub names: Vec<Parameters>,
    /// Of IC2.
    pub before: Vec<Parameters>,
    /// Of IC3.
    pub countries: Vec<Parameters>,
    /// Of IC4.
    pub periods: Vec<Parameters>,
}

impl Sets {
    /// Those in `folder`, and what `seed` draws from `network`.
    ///
    /// # Errors
    /// What reading the files meets; `invalid` for a network without anything to ask for.
    pub fn new(folder: &Path, network: &Network, seed: u64) -> Result<Self> {
        let mut draw = Drawing { network, random: Random::new(seed, PURPOSE, 0) };
        let messages: Vec<i64> = network.messages.keys().copied().collect();
        let is_answered = |id: &i64| !network.messages[id].replies.is_empty();
        let is_tagged = |id: &i64| network.messages[id].is_post && !network.messages[id].tags.is_empty();
        let only =
            |wanted: &dyn Fn(&i64) -> bool| messages.iter().copied().filter(wanted).collect::<Vec<_>>();
        let (answered, tagged, travels) = (only(&is_answered), only(&is_tagged), draw.travels());
        Ok(Self {
            persons: filled(asked(folder, 1, |row| Ok(vec![person(row)?]))?, || {
                Ok(vec![("person", draw.friend_of_author(&messages)?.0.into())])
            })?,
            messages: filled(Vec::new(), || Ok(vec![("message", draw.one(&messages)?.into())]))?,
            answered: filled(Vec::new(), || Ok(vec![("message", draw.one(&answered)?.into())]))?,
            names: filled(
                asked(folder, 1, |row| Ok(vec![person(row)?, ("first", row.text("firstName")?.into())]))?,
                || {
                    let (friend, message) = draw.friend_of_author(&messages)?;
                    let name = &network.persons[&message.creator].columns["firstName"];
                    Ok(vec![("person", friend.into()), ("first", name.as_str().into())])
                },
            )?,
            before: filled(
                asked(folder, 2, |row| Ok(vec![person(row)?, ("before", moment(row.number(1)?)?)]))?,
                || {
                    let (friend, message) = draw.friend_of_author(&messages)?;
                    Ok(vec![("person", friend.into()), ("before", moment(message.created + 1)?)])
                },
            )?,
            countries: filled(
                asked(folder, 3, |row| {
                    let [x, y] = [row.text("countryXName")?, row.text("countryYName")?];
                    let to = row.number(1)? + row.number(2)? * DAY;
                    Ok([vec![person(row)?], period(row.number(1)?, to)?, between(&x, &y)].concat())
                })?,
                || {
                    let [one, other] = draw.one(&travels)?;
                    let friend = draw.friend(one.creator)?;
                    let name = |message: &Message| &network.places[&message.country].name;
                    let period = period(one.created.min(other.created), one.created.max(other.created) + 1)?;
                    Ok([vec![("person", friend.into())], period, between(name(one), name(other))].concat())
                },
            )?,
            periods: filled(
                asked(folder, 4, |row| {
                    let to = row.number(1)? + row.number(2)? * DAY;
                    Ok([vec![person(row)?], period(row.number(1)?, to)?].concat())
                })?,
                || {
                    let (friend, message) = draw.friend_of_author(&tagged)?;
                    let period = period(message.created, message.created + PERIOD)?;
                    Ok([vec![("person", friend.into())], period].concat())
                },
            )?,
        })
    }
}

/// Draws from a network.
struct Drawing<'n> {
    network: &'n Network,
    random: Random,
}

impl<'n> Drawing<'n> {
    fn one<T: Copy>(&mut self, of: &[T]) -> Result<T> {
        let at = self.random.below(of.len().max(1) as u64) as usize;
        of.get(at).copied().ok_or_else(|| Error::invalid("the network has nothing to be asked for"))
    }

    fn friend(&mut self, person: i64) -> Result<i64> {
        Ok(self.one(&self.network.persons[&person].knows)?.0)
    }

    /// One of the messages, and somebody who knows its author.
    fn friend_of_author(&mut self, messages: &[i64]) -> Result<(i64, &'n Message)> {
        loop {
            let message = &self.network.messages[&self.one(messages)?];
            if !self.network.persons[&message.creator].knows.is_empty() {
                return Ok((self.friend(message.creator)?, message));
            }
        }
    }

    /// Of each person who wrote from two countries, neither of which is home, and who knows somebody: the first message from
    /// either.
    fn travels(&self) -> Vec<[&'n Message; 2]> {
        let of = |person: &'n Person| {
            let home = self.network.places[&person.city].part_of;
            let mut abroad = person
                .messages
                .iter()
                .map(|id| &self.network.messages[id])
                .filter(|message| Some(message.country) != home);
            let first = abroad.next()?;
            let second = abroad.find(|message| message.country != first.country)?;
            (!person.knows.is_empty()).then_some([first, second])
        };
        self.network.persons.values().filter_map(of).collect()
    }
}

/// `sets`, and drawn ones behind them.
fn filled(
    mut sets: Vec<Parameters>,
    mut draw: impl FnMut() -> Result<Parameters>,
) -> Result<Vec<Parameters>> {
    while sets.len() < SETS {
        sets.push(draw()?);
    }
    Ok(sets)
}

fn asked(
    folder: &Path,
    number: u32,
    of: impl Fn(&TableRow<'_>) -> Result<Parameters>,
) -> Result<Vec<Parameters>> {
    let table = Table::read_file(&folder.join(format!("interactive_{number}_param.txt")))?;
    table.rows().take(SETS).map(|row| of(&row)).collect()
}

fn person(row: &TableRow<'_>) -> Result<(&'static str, Value)> {
    Ok(("person", row.number(0)?.into()))
}

fn period(from: i64, to: i64) -> Result<Parameters> {
    Ok(vec![("from", moment(from)?), ("to", moment(to)?)])
}

fn between(x: &str, y: &str) -> Parameters {
    vec![("x", x.into()), ("y", y.into())]
}

fn moment(milliseconds: i64) -> Result<Value> {
    let moment = DateTime::from_epoch_milliseconds(milliseconds);
    let moment = moment.map_err(|error| Error::invalid("a parameter is not a valid date").because(error))?;
    Ok(moment.into())
}
