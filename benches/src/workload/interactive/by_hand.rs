//! By hand: the answers to LDBC's reads, by plain loops over the network.

use crate::workload::interactive::network::{Network, Person};
use evergraph::Value;
use evergraph_graph::value::date::Date;
use evergraph_graph::value::datetime::DateTime;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// A result: its values as text, lists in brackets.
pub type Row = Vec<String>;

/// How a database has dates.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Dates {
    /// As dates and moments.
    Typed,
    /// As the files have them: whole numbers, of milliseconds.
    Milliseconds,
}

/// The rows of the read `name`, in order.
///
/// # Panics
/// For a name that is none, and a network that is not whole: both are told by whoever reads it.
#[must_use]
pub fn answer(network: &Network, name: &str, parameters: &[(&'static str, Value)], dates: Dates) -> Vec<Row> {
    let asked = Asked { network, parameters, dates };
    match name {
        "is_1" => asked.profile(),
        "is_2" => asked.newest_messages(),
        "is_3" => asked.friends(),
        "is_4" => asked.message(),
        "is_5" => asked.author(),
        "is_6" => asked.forum(),
        "is_7" => asked.replies(),
        "ic_1" => asked.namesakes(),
        "ic_2" => asked.messages_of_friends(),
        "ic_3" => asked.abroad(),
        "ic_4" => asked.new_topics(),
        _ => unreachable!("every read has its loop"),
    }
}

struct Asked<'a> {
    network: &'a Network,
    parameters: &'a [(&'static str, Value)],
    dates: Dates,
}

impl<'a> Asked<'a> {
    fn value(&self, name: &str) -> &'a Value {
        let found = self.parameters.iter().find(|(known, _)| *known == name);
        &found.expect("a read is given its parameters").1
    }

    fn number(&self, name: &str) -> i64 {
        self.value(name).as_i64().expect("ids are whole numbers")
    }

    fn text(&self, name: &str) -> &'a str {
        self.value(name).as_str().expect("names are texts")
    }

    fn moment_of(&self, name: &str) -> i64 {
        let Value::DateTime(moment) = self.value(name) else { unreachable!("dates are moments") };
        moment.epoch_milliseconds()
    }

    fn moment(&self, milliseconds: i64) -> String {
        match self.dates {
            Dates::Milliseconds => milliseconds.to_string(),
            Dates::Typed => {
                DateTime::from_epoch_milliseconds(milliseconds).expect("a moment of our time").to_string()
            }
        }
    }

    /// The day of a birthday, which is told in milliseconds.
    fn day(&self, milliseconds: &str) -> String {
        match self.dates {
            Dates::Milliseconds => milliseconds.to_owned(),
            Dates::Typed => {
                let days = number(milliseconds).div_euclid(24 * 3600 * 1000);
                Date::from_days(i32::try_from(days).expect("a day of our time")).to_string()
            }
        }
    }

    /// The person that is asked for, if there is one.
    fn start(&self) -> Option<(i64, &'a Person)> {
        let id = self.number("person");
        self.network.persons.get(&id).map(|person| (id, person))
    }

    fn name_of(&self, person: i64) -> Row {
        let columns = &self.network.persons[&person].columns;
        vec![person.to_string(), columns["firstName"].clone(), columns["lastName"].clone()]
    }

    /// The post at which the thread of `message` began.
    fn post_of(&self, mut message: i64) -> i64 {
        while let Some(parent) = self.network.messages[&message].reply_of {
            message = parent;
        }
        message
    }

    fn content(&self, message: i64) -> Option<String> {
        self.network.messages[&message].content.clone()
    }

    fn created(&self, message: i64) -> i64 {
        self.network.messages[&message].created
    }

    fn profile(&self) -> Vec<Row> {
        let row = |(_, person): (i64, &Person)| {
            let column = |name: &str| person.columns.get(name).cloned();
            [
                column("firstName"),
                column("lastName"),
                column("birthday").map(|birthday| self.day(&birthday)),
                column("locationIP"),
                column("browserUsed"),
                Some(person.city.to_string()),
                column("gender"),
                column("creationDate").map(|created| self.moment(number(&created))),
            ]
            .into_iter()
            .flatten()
            .collect()
        };
        self.start().map(row).into_iter().collect()
    }

    fn newest_messages(&self) -> Vec<Row> {
        let Some((_, person)) = self.start() else { return Vec::new() };
        let mut messages = person.messages.clone();
        messages.sort_unstable_by_key(|message| (Reverse(self.created(*message)), *message));
        messages.truncate(10);
        let row = |message: &i64| {
            let mut row = vec![message.to_string()];
            row.extend(self.content(*message));
            row.push(self.moment(self.created(*message)));
            let post = self.post_of(*message);
            row.push(post.to_string());
            row.extend(self.name_of(self.network.messages[&post].creator));
            row
        };
        messages.iter().map(row).collect()
    }

    fn friends(&self) -> Vec<Row> {
        let Some((_, person)) = self.start() else { return Vec::new() };
        let mut friends = person.knows.clone();
        friends.sort_unstable_by_key(|(friend, since)| (Reverse(*since), *friend));
        friends
            .iter()
            .map(|(friend, since)| [self.name_of(*friend), vec![self.moment(*since)]].concat())
            .collect()
    }

    fn message(&self) -> Vec<Row> {
        let message = self.number("message");
        let mut row = vec![self.moment(self.created(message))];
        row.extend(self.content(message));
        vec![row]
    }

    fn author(&self) -> Vec<Row> {
        vec![self.name_of(self.network.messages[&self.number("message")].creator)]
    }

    fn forum(&self) -> Vec<Row> {
        let forum = self.network.messages[&self.post_of(self.number("message"))].forum;
        let (title, moderator) = &self.network.forums[&forum];
        vec![[vec![forum.to_string(), title.clone()], self.name_of(*moderator)].concat()]
    }

    fn replies(&self) -> Vec<Row> {
        let message = &self.network.messages[&self.number("message")];
        let creator = |comment: &i64| self.network.messages[comment].creator;
        let mut replies = message.replies.clone();
        replies.sort_unstable_by_key(|comment| (Reverse(self.created(*comment)), creator(comment), *comment));
        let row = |comment: &i64| {
            let mut row = vec![comment.to_string()];
            row.extend(self.content(*comment));
            row.push(self.moment(self.created(*comment)));
            row.extend(self.name_of(creator(comment)));
            let known = &self.network.persons[&creator(comment)].knows;
            let times = known.iter().filter(|(friend, _)| *friend == message.creator).count();
            row.push(times.to_string());
            row
        };
        replies.iter().map(row).collect()
    }

    /// Everyone within so many hops of `start`, by distance.
    fn around(&self, start: i64, hops: usize) -> BTreeMap<i64, usize> {
        let mut distances = BTreeMap::from([(start, 0)]);
        let mut last = vec![start];
        for distance in 1..=hops {
            let mut next = Vec::new();
            for person in last {
                for (friend, _) in &self.network.persons[&person].knows {
                    distances.entry(*friend).or_insert_with(|| {
                        next.push(*friend);
                        distance
                    });
                }
            }
            last = next;
        }
        distances.remove(&start);
        distances
    }

    fn namesakes(&self) -> Vec<Row> {
        let Some((start, _)) = self.start() else { return Vec::new() };
        let persons = &self.network.persons;
        let mut found: Vec<(i64, usize)> = self.around(start, 3).into_iter().collect();
        found.retain(|(person, _)| persons[person].columns["firstName"] == self.text("first"));
        found.sort_by_key(|(person, distance)| (*distance, &persons[person].columns["lastName"], *person));
        found.truncate(20);
        found.into_iter().map(|(person, distance)| self.portrait(person, distance)).collect()
    }

    fn portrait(&self, id: i64, distance: usize) -> Row {
        let person = &self.network.persons[&id];
        let column = |name: &str| person.columns.get(name).cloned();
        let list = |name: &str| {
            let all = column(name);
            let all = all.iter().flat_map(|all| all.split(';').map(str::to_owned));
            bracketed(all.collect())
        };
        let mut row = vec![id.to_string()];
        row.extend(column("lastName"));
        row.push(distance.to_string());
        row.extend(column("birthday").map(|birthday| self.day(&birthday)));
        row.extend(column("creationDate").map(|created| self.moment(number(&created))));
        row.extend([column("gender"), column("browserUsed"), column("locationIP")].into_iter().flatten());
        row.extend(list("email"));
        row.extend(list("language"));
        row.push(self.network.places[&person.city].name.clone());
        for mut years in [person.studies.clone(), person.works.clone()] {
            years.sort_unstable();
            let at = |(organisation, year): &(i64, i64)| {
                let (name, place) = &self.network.organisations[organisation];
                [name.clone(), year.to_string(), self.network.places[place].name.clone()]
            };
            row.extend(bracketed(years.iter().flat_map(at).collect()));
        }
        row
    }

    fn messages_of_friends(&self) -> Vec<Row> {
        let Some((_, person)) = self.start() else { return Vec::new() };
        let before = self.moment_of("before");
        let of = |friend: i64| {
            self.network.persons[&friend].messages.iter().map(move |message| (*message, friend))
        };
        let mut messages: Vec<(i64, i64)> = person.knows.iter().flat_map(|(friend, _)| of(*friend)).collect();
        messages.retain(|(message, _)| self.created(*message) < before);
        messages.sort_unstable_by_key(|(message, _)| (Reverse(self.created(*message)), *message));
        messages.truncate(20);
        let row = |(message, friend): &(i64, i64)| {
            let mut row = self.name_of(*friend);
            row.push(message.to_string());
            row.extend(self.content(*message));
            row.push(self.moment(self.created(*message)));
            row
        };
        messages.iter().map(row).collect()
    }

    fn abroad(&self) -> Vec<Row> {
        let Some((start, _)) = self.start() else { return Vec::new() };
        let (from, to) = (self.moment_of("from"), self.moment_of("to"));
        let countries = [self.text("x"), self.text("y")];
        let places = &self.network.places;
        let counts = |person: i64| {
            let at_home = places[&self.network.persons[&person].city].part_of;
            if at_home.is_some_and(|country| countries.contains(&places[&country].name.as_str())) {
                return None;
            }
            let written = |country: &str| {
                let messages = self.network.persons[&person].messages.iter();
                let messages = messages.map(|message| &self.network.messages[message]);
                let there = messages.filter(|message| {
                    let place = &places[&message.country];
                    (from..to).contains(&message.created) && place.kind == "country" && place.name == country
                });
                there.count()
            };
            let [x, y] = countries.map(written);
            (x > 0 && y > 0).then_some((person, x, y))
        };
        let mut found: Vec<_> = self.around(start, 2).into_keys().filter_map(counts).collect();
        found.sort_unstable_by_key(|(person, x, y)| (Reverse(x + y), *person));
        found.truncate(20);
        let row = |(person, x, y): &(i64, usize, usize)| {
            [self.name_of(*person), vec![x.to_string(), y.to_string()]].concat()
        };
        found.iter().map(row).collect()
    }

    fn new_topics(&self) -> Vec<Row> {
        let Some((_, person)) = self.start() else { return Vec::new() };
        let (from, to) = (self.moment_of("from"), self.moment_of("to"));
        let (mut old, mut new) = (BTreeSet::new(), BTreeMap::<i64, usize>::new());
        for (friend, _) in &person.knows {
            for message in &self.network.persons[friend].messages {
                let message = &self.network.messages[message];
                for tag in message.tags.iter().filter(|_| message.is_post) {
                    if message.created < from {
                        old.insert(*tag);
                    } else if message.created < to {
                        *new.entry(*tag).or_default() += 1;
                    }
                }
            }
        }
        let mut found: Vec<(usize, &String)> = new
            .iter()
            .filter(|(tag, _)| !old.contains(tag))
            .map(|(tag, posts)| (*posts, &self.network.tags[tag]))
            .collect();
        found.sort_unstable_by_key(|(posts, tag)| (Reverse(*posts), *tag));
        found.truncate(10);
        found.into_iter().map(|(posts, tag)| vec![tag.clone(), posts.to_string()]).collect()
    }
}

fn number(text: &str) -> i64 {
    text.parse().expect("a column of numbers")
}

fn bracketed(texts: Vec<String>) -> Row {
    [vec!["[".to_owned()], texts, vec!["]".to_owned()]].concat()
}
