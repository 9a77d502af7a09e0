//! Plans: LDBC's seven short reads and fourteen complex reads as fixed plans on a snapshot.
//!
//! A plan is what an application would write: steps over lists, batches of properties, a sort. Rows and their order are those of the
//! SQL in [`sql`](crate::workload::replica::social::sql); of ties the smaller id comes first.

use crate::workload::replica::question::Rows;
use crate::workload::replica::social::graph::Graph;
use evergraph::{ReadByName as _, Value};
use evergraph_graph::column::Column;
use evergraph_graph::error::{Error, Result};
use evergraph_graph::id::{Direction, VertexId};
use evergraph_graph::value::ValueType;
use evergraph_graph::view::GraphView as _;
use std::cmp::Reverse;
use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap, HashSet};

/// A plan: the rows of the answer to a read that is asked with these values.
pub type Plan = fn(&Graph<'_>, &[Value]) -> Result<Rows>;

fn number(value: &Value) -> Result<i64> {
    match value {
        Value::DateTime(moment) => Ok(moment.epoch_milliseconds()),
        other => other.as_i64().ok_or_else(|| Error::invalid("a parameter is a number or a moment")),
    }
}

fn text(value: &Value) -> Result<&str> {
    value.as_str().ok_or_else(|| Error::invalid("a parameter is a text"))
}

/// The first rows by their sort keys, each made into a row when it is known to be among them.
fn first<K: Ord, T>(
    mut found: Vec<(K, T)>,
    limit: usize,
    row: impl Fn(&K, &T) -> Result<Vec<String>>,
) -> Result<Rows> {
    found.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
    found.truncate(limit);
    found.iter().map(|(key, item)| row(key, item)).collect()
}

pub fn is_1(graph: &Graph<'_>, asked: &[Value]) -> Result<Rows> {
    let Some(person) = graph.person(&asked[0])? else { return Ok(Vec::new()) };
    let keys = &graph.keys;
    let city = graph.each_out(&[person], graph.types.located)?[0];
    Ok(vec![vec![
        graph.text(person, keys.first)?,
        graph.text(person, keys.last)?,
        graph.text(person, keys.birthday)?,
        graph.text(person, keys.address)?,
        graph.text(person, keys.browser)?,
        graph.text(city, keys.id)?,
        graph.text(person, keys.gender)?,
        graph.moments(&[person])?[0].to_string(),
    ]])
}

pub fn is_2(graph: &Graph<'_>, asked: &[Value]) -> Result<Rows> {
    let Some(person) = graph.person(&asked[0])? else { return Ok(Vec::new()) };
    first(newest(graph, &[person], i64::MAX)?, 10, |(Reverse(created), id), (message, _)| {
        let post = graph.root(*message)?;
        let author = graph.each_out(&[post], graph.types.creator)?[0];
        let row = vec![id.to_string(), graph.content(*message)?, created.to_string()];
        Ok([row, vec![graph.text(post, graph.keys.id)?], graph.name_of(author)?].concat())
    })
}

pub fn is_3(graph: &Graph<'_>, asked: &[Value]) -> Result<Rows> {
    let Some(person) = graph.person(&asked[0])? else { return Ok(Vec::new()) };
    let batch = graph.step(&[person], graph.types.knows, Direction::Both)?;
    let (ids, since) = (graph.ids(&batch.neighbors)?, graph.moments_of(&batch.edges, graph.keys.created)?);
    let keys = since.iter().zip(&ids).map(|(since, id)| (Reverse(*since), *id));
    first(keys.zip(batch.neighbors).collect(), usize::MAX, |(Reverse(since), _), friend| {
        Ok([graph.name_of(*friend)?, vec![since.to_string()]].concat())
    })
}

pub fn is_4(graph: &Graph<'_>, asked: &[Value]) -> Result<Rows> {
    let Some((message, _)) = graph.message(&asked[0])? else { return Ok(Vec::new()) };
    Ok(vec![vec![graph.moments(&[message])?[0].to_string(), graph.content(message)?]])
}

pub fn is_5(graph: &Graph<'_>, asked: &[Value]) -> Result<Rows> {
    let Some((message, _)) = graph.message(&asked[0])? else { return Ok(Vec::new()) };
    Ok(vec![graph.name_of(graph.each_out(&[message], graph.types.creator)?[0])?])
}

pub fn is_6(graph: &Graph<'_>, asked: &[Value]) -> Result<Rows> {
    let Some((message, _)) = graph.message(&asked[0])? else { return Ok(Vec::new()) };
    let post = graph.root(message)?;
    let forums = graph.back(&[post], graph.types.container)?;
    let row = |forum: &VertexId| -> Result<Vec<String>> {
        let moderator = graph.each_out(&[*forum], graph.types.moderator)?[0];
        let row = vec![graph.text(*forum, graph.keys.id)?, graph.text(*forum, graph.keys.title)?];
        Ok([row, graph.name_of(moderator)?].concat())
    };
    forums.iter().map(row).collect()
}

pub fn is_7(graph: &Graph<'_>, asked: &[Value]) -> Result<Rows> {
    let Some((message, _)) = graph.message(&asked[0])? else { return Ok(Vec::new()) };
    let author = graph.each_out(&[message], graph.types.creator)?[0];
    let friends: HashSet<VertexId> = graph.friends(author)?.into_iter().collect();
    let replies = graph.back(&[message], graph.types.reply)?;
    let (ids, created) = (graph.ids(&replies)?, graph.moments(&replies)?);
    let repliers = graph.each_out(&replies, graph.types.creator)?;
    let of_repliers = graph.ids(&repliers)?;
    let found = (0..replies.len())
        .map(|at| ((Reverse(created[at]), of_repliers[at], ids[at]), (replies[at], repliers[at])))
        .collect();
    first(found, usize::MAX, |(Reverse(created), _, id), (reply, replier)| {
        let row = vec![id.to_string(), graph.content(*reply)?, created.to_string()];
        let knows = u8::from(friends.contains(replier)).to_string();
        Ok([row, graph.name_of(*replier)?, vec![knows]].concat())
    })
}

/// A message's sort key: the newest first, then its id.
type ByTime = (Reverse<i64>, i64);

/// The newest twenty messages of `persons` before `end`, with their authors; where several are as old as the last one, more.
fn newest(graph: &Graph<'_>, persons: &[VertexId], end: i64) -> Result<Vec<(ByTime, (VertexId, VertexId))>> {
    let batch = graph.step(persons, graph.types.creator, Direction::In)?;
    let created = graph.moments(&batch.neighbors)?;
    let mut places: Vec<usize> = (0..created.len()).filter(|at| created[*at] < end).collect();
    if places.len() > 20 {
        let (_, last, _) = places.select_nth_unstable_by_key(19, |at| Reverse(created[*at]));
        let oldest = created[*last];
        places.retain(|at| created[*at] >= oldest);
    }
    let messages: Vec<VertexId> = places.iter().map(|at| batch.neighbors[*at]).collect();
    let ids = graph.ids(&messages)?;
    let found = places.iter().zip(ids).zip(messages).map(|((at, id), message)| {
        ((Reverse(created[*at]), id), (message, persons[batch.rows[*at] as usize]))
    });
    Ok(found.collect())
}

fn messages_of(graph: &Graph<'_>, persons: &[VertexId], end: i64) -> Result<Rows> {
    first(newest(graph, persons, end)?, 20, |(Reverse(created), id), (message, person)| {
        let row = vec![id.to_string(), graph.content(*message)?, created.to_string()];
        Ok([graph.name_of(*person)?, row].concat())
    })
}

pub fn ic_1(graph: &Graph<'_>, asked: &[Value]) -> Result<Rows> {
    let Some(start) = graph.person(&asked[0])? else { return Ok(Vec::new()) };
    let name = text(&asked[1])?;
    let (mut seen, mut last, mut found) = (HashSet::from([start]), vec![start], Vec::new());
    for distance in 1..=3 {
        let mut next = graph.step(&last, graph.types.knows, Direction::Both)?.neighbors;
        next.retain(|person| seen.insert(*person));
        let names = graph.texts(&next, graph.keys.first)?;
        let of_name: Vec<VertexId> =
            next.iter().zip(names).filter(|(_, of)| of == name).map(|(person, _)| *person).collect();
        let (ids, lasts) = (graph.ids(&of_name)?, graph.texts(&of_name, graph.keys.last)?);
        found.extend(lasts.into_iter().zip(ids).map(|(last, id)| (distance, last, id)).zip(of_name));
        last = next;
    }
    first(found, 20, |(distance, last, id), person| {
        let keys = &graph.keys;
        let city = graph.each_out(&[*person], graph.types.located)?[0];
        Ok(vec![
            id.to_string(),
            last.clone(),
            distance.to_string(),
            graph.text(*person, keys.birthday)?,
            graph.moments(&[*person])?[0].to_string(),
            graph.text(*person, keys.gender)?,
            graph.text(*person, keys.browser)?,
            graph.text(*person, keys.address)?,
            graph.text(city, keys.name)?,
        ])
    })
}

pub fn ic_2(graph: &Graph<'_>, asked: &[Value]) -> Result<Rows> {
    let Some(start) = graph.person(&asked[0])? else { return Ok(Vec::new()) };
    messages_of(graph, &graph.friends(start)?, number(&asked[1])?)
}

pub fn ic_3(graph: &Graph<'_>, asked: &[Value]) -> Result<Rows> {
    let Some(start) = graph.person(&asked[0])? else { return Ok(Vec::new()) };
    let (from, to) = (number(&asked[1])?, number(&asked[2])?);
    let countries = [text(&asked[3])?, text(&asked[4])?];
    let circle = graph.circle(start)?;
    let homes = graph.each_out(&graph.each_out(&circle, graph.types.located)?, graph.types.part)?;
    let homes = graph.texts(&homes, graph.keys.name)?;
    let circle: Vec<VertexId> = circle
        .into_iter()
        .zip(homes)
        .filter(|(_, home)| !countries.contains(&home.as_str()))
        .map(|(person, _)| person)
        .collect();
    let batch = graph.step(&circle, graph.types.creator, Direction::In)?;
    let created = graph.moments(&batch.neighbors)?;
    let within: Vec<usize> = (0..created.len()).filter(|at| (from..to).contains(&created[*at])).collect();
    let messages: Vec<VertexId> = within.iter().map(|at| batch.neighbors[*at]).collect();
    let places = graph.texts(&graph.each_out(&messages, graph.types.located)?, graph.keys.name)?;
    let mut counts: HashMap<VertexId, [i64; 2]> = HashMap::new();
    for (at, place) in within.iter().zip(places) {
        if let Some(country) = countries.iter().position(|country| *country == place) {
            counts.entry(circle[batch.rows[*at] as usize]).or_default()[country] += 1;
        }
    }
    let both: Vec<(VertexId, [i64; 2])> = counts.into_iter().filter(|(_, [x, y])| *x > 0 && *y > 0).collect();
    let ids = graph.ids(&both.iter().map(|(person, _)| *person).collect::<Vec<_>>())?;
    let found = both
        .into_iter()
        .zip(ids)
        .map(|((person, counts), id)| ((Reverse(counts[0] + counts[1]), id), (person, counts)));
    first(found.collect(), 20, |_, (person, [x, y])| {
        Ok([graph.name_of(*person)?, vec![x.to_string(), y.to_string()]].concat())
    })
}

pub fn ic_4(graph: &Graph<'_>, asked: &[Value]) -> Result<Rows> {
    let Some(start) = graph.person(&asked[0])? else { return Ok(Vec::new()) };
    let (from, to) = (number(&asked[1])?, number(&asked[2])?);
    let messages = graph.back(&graph.friends(start)?, graph.types.creator)?;
    let created = graph.moments(&messages)?;
    let before: Vec<(VertexId, i64)> =
        messages.into_iter().zip(created).filter(|(_, created)| *created < to).collect();
    let posts = posts_among(graph, &before.iter().map(|(message, _)| *message).collect::<Vec<_>>())?;
    let before: Vec<(VertexId, i64)> =
        before.into_iter().filter(|(message, _)| posts.contains(message)).collect();
    let vertices: Vec<VertexId> = before.iter().map(|(post, _)| *post).collect();
    let batch = graph.step(&vertices, graph.types.tag, Direction::Out)?;
    let mut tags: HashMap<VertexId, (i64, i64)> = HashMap::new();
    for (row, tag) in batch.rows.iter().zip(&batch.neighbors) {
        let created = before[*row as usize].1;
        let (oldest, count) = tags.entry(*tag).or_insert((i64::MAX, 0));
        (*oldest, *count) = ((*oldest).min(created), *count + 1);
    }
    let fresh =
        tags.into_iter().filter(|(_, (oldest, _))| *oldest >= from).map(|(tag, (_, count))| (tag, count));
    by_count_and_name(graph, fresh.collect())
}

/// The ten most frequent tags.
fn by_count_and_name(graph: &Graph<'_>, counts: Vec<(VertexId, i64)>) -> Result<Rows> {
    let names = graph.texts(&counts.iter().map(|(tag, _)| *tag).collect::<Vec<_>>(), graph.keys.name)?;
    let found = counts.into_iter().zip(names).map(|((_, count), name)| ((Reverse(count), name), ()));
    first(found.collect(), 10, |(Reverse(count), name), ()| Ok(vec![name.clone(), count.to_string()]))
}

/// Those of `messages` that are posts.
fn posts_among(graph: &Graph<'_>, messages: &[VertexId]) -> Result<HashSet<VertexId>> {
    let mut labels = Vec::with_capacity(messages.len());
    graph.view.labels(messages, &mut labels)?;
    let post = graph.view.catalogue().label("Post");
    Ok(messages.iter().zip(labels).filter(|(_, label)| *label == post).map(|(message, _)| *message).collect())
}

pub fn ic_5(graph: &Graph<'_>, asked: &[Value]) -> Result<Rows> {
    let Some(start) = graph.person(&asked[0])? else { return Ok(Vec::new()) };
    let after = number(&asked[1])?;
    let circle = graph.circle(start)?;
    let batch = graph.step(&circle, graph.types.member, Direction::In)?;
    let joined = graph.moments_of(&batch.edges, graph.keys.joined)?;
    let (mut members, mut posts) = (HashSet::new(), HashMap::new());
    for at in (0..joined.len()).filter(|at| joined[*at] > after) {
        members.insert((batch.neighbors[at], circle[batch.rows[at] as usize]));
        posts.entry(batch.neighbors[at]).or_insert(0_i64);
    }
    let written = graph.step(&circle, graph.types.creator, Direction::In)?;
    let contained = graph.step(&written.neighbors, graph.types.container, Direction::In)?;
    for (row, forum) in contained.rows.iter().zip(&contained.neighbors) {
        let author = circle[written.rows[*row as usize] as usize];
        if members.contains(&(*forum, author))
            && let Some(count) = posts.get_mut(forum)
        {
            *count += 1;
        }
    }
    let forums: Vec<VertexId> = posts.keys().copied().collect();
    let ids = graph.ids(&forums)?;
    let found = forums.into_iter().zip(ids).map(|(forum, id)| ((Reverse(posts[&forum]), id), forum));
    first(found.collect(), 20, |(Reverse(count), id), forum| {
        Ok(vec![id.to_string(), graph.text(*forum, graph.keys.title)?, count.to_string()])
    })
}

pub fn ic_6(graph: &Graph<'_>, asked: &[Value]) -> Result<Rows> {
    let Some(start) = graph.person(&asked[0])? else { return Ok(Vec::new()) };
    let tags = graph.view.find_all("Tag", "name", text(&asked[1])?)?;
    let circle: HashSet<VertexId> = graph.circle(start)?.into_iter().collect();
    let tagged = graph.back(&tags, graph.types.tag)?;
    let posts = posts_among(graph, &tagged)?;
    let posts: Vec<VertexId> = posts.into_iter().collect();
    let authors = graph.each_out(&posts, graph.types.creator)?;
    let posts: Vec<VertexId> = posts
        .into_iter()
        .zip(authors)
        .filter(|(_, author)| circle.contains(author))
        .map(|(post, _)| post)
        .collect();
    let mut counts: HashMap<VertexId, i64> = HashMap::new();
    for tag in graph.out(&posts, graph.types.tag)? {
        if !tags.contains(&tag) {
            *counts.entry(tag).or_default() += 1;
        }
    }
    by_count_and_name(graph, counts.into_iter().collect())
}

pub fn ic_7(graph: &Graph<'_>, asked: &[Value]) -> Result<Rows> {
    let Some(start) = graph.person(&asked[0])? else { return Ok(Vec::new()) };
    let friends: HashSet<VertexId> = graph.friends(start)?.into_iter().collect();
    let messages = graph.back(&[start], graph.types.creator)?;
    let (ids, created) = (graph.ids(&messages)?, graph.moments(&messages)?);
    let batch = graph.step(&messages, graph.types.likes, Direction::In)?;
    let moments = graph.moments_of(&batch.edges, graph.keys.created)?;
    let mut newest: HashMap<VertexId, (ByTime, usize)> = HashMap::new();
    for ((row, liker), moment) in batch.rows.iter().zip(&batch.neighbors).zip(moments) {
        let row = *row as usize;
        let like = ((Reverse(moment), ids[row]), row);
        newest.entry(*liker).and_modify(|known| *known = (*known).min(like)).or_insert(like);
    }
    let likers: Vec<VertexId> = newest.keys().copied().collect();
    let of_likers = graph.ids(&likers)?;
    let found = likers.into_iter().zip(of_likers).map(|(liker, id)| {
        let ((moment, _), row) = newest[&liker];
        ((moment, id), (liker, row))
    });
    first(found.collect(), 20, |(Reverse(moment), _), (liker, row)| {
        let minutes = (moment - created[*row]) / 60_000;
        let is_new = u8::from(!friends.contains(liker));
        let row = vec![moment.to_string(), ids[*row].to_string(), graph.content(messages[*row])?];
        Ok([graph.name_of(*liker)?, row, vec![minutes.to_string(), is_new.to_string()]].concat())
    })
}

pub fn ic_8(graph: &Graph<'_>, asked: &[Value]) -> Result<Rows> {
    let Some(start) = graph.person(&asked[0])? else { return Ok(Vec::new()) };
    let replies = graph.back(&graph.back(&[start], graph.types.creator)?, graph.types.reply)?;
    let (ids, created) = (graph.ids(&replies)?, graph.moments(&replies)?);
    let keys = created.into_iter().zip(ids).map(|(created, id)| (Reverse(created), id));
    first(keys.zip(replies).collect(), 20, |(Reverse(created), id), reply| {
        let author = graph.each_out(&[*reply], graph.types.creator)?[0];
        let row = vec![created.to_string(), id.to_string(), graph.content(*reply)?];
        Ok([graph.name_of(author)?, row].concat())
    })
}

pub fn ic_9(graph: &Graph<'_>, asked: &[Value]) -> Result<Rows> {
    let Some(start) = graph.person(&asked[0])? else { return Ok(Vec::new()) };
    messages_of(graph, &graph.circle(start)?, number(&asked[1])?)
}

pub fn ic_10(graph: &Graph<'_>, asked: &[Value]) -> Result<Rows> {
    let Some(start) = graph.person(&asked[0])? else { return Ok(Vec::new()) };
    let month = number(&asked[1])?;
    let friends: HashSet<VertexId> = graph.friends(start)?.into_iter().collect();
    let further: Vec<VertexId> =
        graph.circle(start)?.into_iter().filter(|person| !friends.contains(person)).collect();
    let birthdays = graph.column(&further, graph.keys.birthday)?;
    let is_due = |row: usize| match birthdays.get(row) {
        Some(Value::Date(date)) => {
            let (_, of, day) = date.to_calendar();
            (i64::from(of) == month && day >= 21) || (i64::from(of) == month % 12 + 1 && day < 22)
        }
        _ => false,
    };
    let due: Vec<VertexId> = (0..further.len()).filter(|row| is_due(*row)).map(|row| further[row]).collect();
    let interests: HashSet<VertexId> = graph.out(&[start], graph.types.interest)?.into_iter().collect();
    let batch = graph.step(&due, graph.types.creator, Direction::In)?;
    let posts = posts_among(graph, &batch.neighbors)?;
    let tags = graph.step(&batch.neighbors, graph.types.tag, Direction::Out)?;
    let mut is_common = vec![false; batch.len()];
    for (row, tag) in tags.rows.iter().zip(&tags.neighbors) {
        is_common[*row as usize] |= interests.contains(tag);
    }
    let mut similarity = vec![0_i64; due.len()];
    for at in (0..batch.len()).filter(|at| posts.contains(&batch.neighbors[*at])) {
        similarity[batch.rows[at] as usize] += if is_common[at] { 1 } else { -1 };
    }
    let ids = graph.ids(&due)?;
    let found = similarity.into_iter().zip(ids).map(|(similarity, id)| (Reverse(similarity), id)).zip(due);
    first(found.collect(), 10, |(Reverse(similarity), _), person| {
        let city = graph.each_out(&[*person], graph.types.located)?[0];
        let gender = graph.text(*person, graph.keys.gender)?;
        let row = vec![similarity.to_string(), gender, graph.text(city, graph.keys.name)?];
        Ok([graph.name_of(*person)?, row].concat())
    })
}

pub fn ic_11(graph: &Graph<'_>, asked: &[Value]) -> Result<Rows> {
    let Some(start) = graph.person(&asked[0])? else { return Ok(Vec::new()) };
    let (country, before) = (text(&asked[1])?, number(&asked[2])?);
    let circle = graph.circle(start)?;
    let batch = graph.step(&circle, graph.types.works, Direction::Out)?;
    let mut years = Column::new(ValueType::Any);
    graph.view.edge_properties(&batch.edges, graph.keys.from, &mut years)?;
    let countries = graph.texts(&graph.each_out(&batch.neighbors, graph.types.located)?, graph.keys.name)?;
    let (ids, names) = (graph.ids(&circle)?, graph.texts(&batch.neighbors, graph.keys.name)?);
    let found = (0..batch.len()).filter_map(|at| {
        let year = years.get(at)?.as_i64()?;
        let row = batch.rows[at] as usize;
        let key = (year, ids[row], Reverse(names[at].clone()));
        (countries[at] == country && year < before).then_some((key, circle[row]))
    });
    first(found.collect(), 10, |(year, _, Reverse(name)), person| {
        Ok([graph.name_of(*person)?, vec![name.clone(), year.to_string()]].concat())
    })
}

pub fn ic_12(graph: &Graph<'_>, asked: &[Value]) -> Result<Rows> {
    let Some(start) = graph.person(&asked[0])? else { return Ok(Vec::new()) };
    let mut last = graph.view.find_all("TagClass", "name", text(&asked[1])?)?;
    let mut classes: HashSet<VertexId> = last.iter().copied().collect();
    while !last.is_empty() {
        last = graph.back(&last, graph.types.subclass)?;
        last.retain(|class| classes.insert(*class));
    }
    let classes: Vec<VertexId> = classes.into_iter().collect();
    let tags: HashSet<VertexId> = graph.back(&classes, graph.types.class)?.into_iter().collect();
    let friends = graph.friends(start)?;
    let batch = graph.step(&friends, graph.types.creator, Direction::In)?;
    let parents = graph.step(&batch.neighbors, graph.types.reply, Direction::Out)?;
    let posts = posts_among(graph, &parents.neighbors)?;
    let of_parents = graph.step(&parents.neighbors, graph.types.tag, Direction::Out)?;
    let mut is_about = vec![false; parents.len()];
    for (row, tag) in of_parents.rows.iter().zip(&of_parents.neighbors) {
        is_about[*row as usize] |= tags.contains(tag);
    }
    let mut counts: BTreeMap<u32, i64> = BTreeMap::new();
    for at in (0..parents.len()).filter(|at| is_about[*at] && posts.contains(&parents.neighbors[*at])) {
        *counts.entry(batch.rows[parents.rows[at] as usize]).or_default() += 1;
    }
    let ids = graph.ids(&friends)?;
    let found = counts.into_iter().map(|(row, count)| {
        let row = row as usize;
        ((Reverse(count), ids[row]), friends[row])
    });
    first(found.collect(), 20, |(Reverse(count), _), person| {
        Ok([graph.name_of(*person)?, vec![count.to_string()]].concat())
    })
}

pub fn ic_13(graph: &Graph<'_>, asked: &[Value]) -> Result<Rows> {
    let ends = [graph.person(&asked[0])?, graph.person(&asked[1])?];
    let [Some(one), Some(other)] = ends else { return Ok(vec![vec!["-1".to_owned()]]) };
    // From both ends in turn: the smaller wave takes the next step.
    let mut seen = [HashSet::from([one]), HashSet::from([other])];
    let (mut waves, mut length) = ([vec![one], vec![other]], 0);
    if one == other {
        return Ok(vec![vec!["0".to_owned()]]);
    }
    while waves.iter().all(|wave| !wave.is_empty()) {
        let side = usize::from(waves[1].len() < waves[0].len());
        length += 1;
        let mut next = graph.step(&waves[side], graph.types.knows, Direction::Both)?.neighbors;
        if next.iter().any(|person| seen[1 - side].contains(person)) {
            return Ok(vec![vec![length.to_string()]]);
        }
        next.retain(|person| seen[side].insert(*person));
        waves[side] = next;
    }
    Ok(vec![vec!["-1".to_owned()]])
}

pub fn ic_14(graph: &Graph<'_>, asked: &[Value]) -> Result<Rows> {
    let ends = [graph.person(&asked[0])?, graph.person(&asked[1])?];
    let [Some(one), Some(other)] = ends else { return Ok(Vec::new()) };
    let paths = shortest_paths(graph, one, other)?;
    let on_paths: HashSet<VertexId> = paths.iter().flatten().copied().collect();
    let persons: Vec<VertexId> = on_paths.into_iter().collect();
    let ids: HashMap<VertexId, i64> = persons.iter().copied().zip(graph.ids(&persons)?).collect();
    // Twice the weight that each person's replies to another one's messages have.
    let mut doubled: HashMap<(VertexId, VertexId), i64> = HashMap::new();
    let written = graph.step(&persons, graph.types.creator, Direction::In)?;
    let parents = graph.step(&written.neighbors, graph.types.reply, Direction::Out)?;
    let posts = posts_among(graph, &parents.neighbors)?;
    let authors = graph.each_out(&parents.neighbors, graph.types.creator)?;
    for at in 0..parents.len() {
        let replier = persons[written.rows[parents.rows[at] as usize] as usize];
        let weight = if posts.contains(&parents.neighbors[at]) { 2 } else { 1 };
        *doubled.entry((replier, authors[at])).or_default() += weight;
    }
    let between = |one, other| doubled.get(&(one, other)).copied().unwrap_or(0);
    let found = paths.iter().map(|path| {
        let weight: i64 =
            path.windows(2).map(|pair| between(pair[0], pair[1]) + between(pair[1], pair[0])).sum();
        let ids: Vec<i64> = path.iter().map(|person| ids[person]).collect();
        ((Reverse(weight), ids), ())
    });
    first(found.collect(), usize::MAX, |(Reverse(weight), ids), ()| {
        let ids: Vec<String> = ids.iter().map(i64::to_string).collect();
        Ok(vec![ids.join(" "), format!("{}.{}", weight / 2, weight % 2 * 5)])
    })
}

/// All shortest paths between two persons, each with both ends.
fn shortest_paths(graph: &Graph<'_>, one: VertexId, other: VertexId) -> Result<Vec<Vec<VertexId>>> {
    // From both ends in turn, as in `ic_13`: how far each person is that a search has reached.
    let mut distances = [HashMap::from([(one, 0)]), HashMap::from([(other, 0)])];
    let (mut waves, mut side) = ([vec![one], vec![other]], 0);
    loop {
        let is_met = |person: &&VertexId| distances[1 - side].contains_key(*person);
        let middle: Vec<VertexId> = waves[side].iter().filter(is_met).copied().collect();
        if !middle.is_empty() || waves[side].is_empty() {
            let [front, back] = distances.each_ref().map(|of| earlier_persons(graph, of, &middle));
            let (front, back) = (front?, back?);
            return Ok(middle.iter().flat_map(|person| paths_through(&front, &back, *person)).collect());
        }
        side = usize::from(waves[1].len() < waves[0].len());
        let mut next = graph.step(&waves[side], graph.types.knows, Direction::Both)?.neighbors;
        let distance = distances[side][&waves[side][0]] + 1;
        next.retain(|person| match distances[side].entry(*person) {
            Entry::Vacant(place) => {
                place.insert(distance);
                true
            }
            Entry::Occupied(_) => false,
        });
        waves[side] = next;
    }
}

/// Persons on shortest paths, each with those who come before; where a search began nobody does.
type Earlier = HashMap<VertexId, Vec<VertexId>>;

/// Those on the way from where a search began to `last`.
fn earlier_persons(
    graph: &Graph<'_>,
    distances: &HashMap<VertexId, u32>,
    last: &[VertexId],
) -> Result<Earlier> {
    let (mut earlier, mut wave) = (Earlier::new(), last.to_vec());
    while !wave.is_empty() {
        let batch = graph.step(&wave, graph.types.knows, Direction::Both)?;
        let mut next = HashSet::new();
        for (row, person) in batch.rows.iter().zip(&batch.neighbors) {
            let of = wave[*row as usize];
            if distances.get(person).is_some_and(|distance| distance + 1 == distances[&of]) {
                earlier.entry(of).or_default().push(*person);
                next.insert(*person);
            }
        }
        wave = next.into_iter().collect();
    }
    Ok(earlier)
}

/// The shortest paths on which both searches met at `person`.
fn paths_through(front: &Earlier, back: &Earlier, person: VertexId) -> Vec<Vec<VertexId>> {
    let (fronts, backs) = (paths_to(front, person), paths_to(back, person));
    let with_backs = |front: &Vec<VertexId>| -> Vec<Vec<VertexId>> {
        backs.iter().map(|back| front.iter().chain(back.iter().rev().skip(1)).copied().collect()).collect()
    };
    fronts.iter().flat_map(with_backs).collect()
}

/// The paths from where a search began to `person`.
fn paths_to(earlier: &Earlier, person: VertexId) -> Vec<Vec<VertexId>> {
    let Some(before) = earlier.get(&person) else { return vec![vec![person]] };
    let paths = before.iter().flat_map(|before| paths_to(earlier, *before));
    paths.map(|path| path.into_iter().chain([person]).collect()).collect()
}
