//! Queries: q1 to q9, each as counts carried along paths, products of degrees, or intersected lists.
//!
//! What they take from LDBC's schema: two persons know each other by one edge at most and nobody himself;
//! a message has a tag once; a person lives in one city, a city lies in one country. Labels at the other
//! end of an edge follow from its type and its source, so they are not looked at again; places, whose
//! type leads from cities to countries and from countries to continents, are.

use crate::lsqb::names::members;
use crate::lsqb::walks::{Counts, Lists, common, degrees, edges_between};
use evergraph::Direction::{Both, In, Out};
use evergraph::{GraphView, VertexId};

/// The number of matches of each query, q1 first.
///
/// # Panics
/// As [`count`].
#[must_use]
pub fn count_all<V: GraphView>(view: &V) -> [u64; 9] {
    std::array::from_fn(|index| count(view, index + 1))
}

/// The number of matches of query `number`, from 1 to 9.
///
/// # Panics
/// If reading fails, there is no such query, or the graph breaks a rule of the schema that the query
/// notices.
#[must_use]
pub fn count<V: GraphView>(view: &V, number: usize) -> u64 {
    match number {
        1 => forum_paths(view),
        2 => replies_among_friends(view),
        3 => triangles_in_a_country(view),
        4 => message_stars(view, |likes, replies| likes * replies),
        5 => tag_pairs(view, |tags, reply_tags, common| tags * reply_tags - common),
        6 => interests_of_friends_friends(view),
        7 => message_stars(view, |likes, replies| likes.max(1) * replies.max(1)),
        8 => tag_pairs(view, |tags, reply_tags, common| (tags - common) * reply_tags),
        9 => interests_of_friends_friends(view) - interests_in_triangles(view),
        _ => panic!("LSQB has queries 1 to 9, not {number}"),
    }
}

fn messages<V: GraphView>(view: &V) -> Vec<VertexId> {
    let mut messages = [members(view, "Post"), members(view, "Comment")].concat();
    messages.sort_unstable();
    messages
}

/// q1: for each forum, (ways on through its members) * (ways on through its posts).
fn forum_paths<V: GraphView>(view: &V) -> u64 {
    let carry = |rows: &[VertexId], edge_type, direction, next: &Counts| {
        Counts::carried(view, rows, edge_type, direction, next)
    };
    let forums = members(view, "Forum");
    let countries = Counts::ones(&members(view, "Country"));
    let cities = carry(&members(view, "City"), "isPartOf", Out, &countries);
    let persons = carry(&members(view, "Person"), "isLocatedIn", Out, &cities);
    let through_members = carry(&forums, "hasMember", Out, &persons);
    let classes = Counts::ones(&members(view, "TagClass"));
    let tags = carry(&members(view, "Tag"), "hasType", Out, &classes);
    let comments = carry(&members(view, "Comment"), "hasTag", Out, &tags);
    let posts = carry(&members(view, "Post"), "replyOf", In, &comments);
    let through_posts = carry(&forums, "containerOf", Out, &posts);
    forums.iter().map(|forum| through_members.of(*forum) * through_posts.of(*forum)).sum()
}

/// q2: each comment on a post gives a pair of creators; how many edges are between them?
fn replies_among_friends<V: GraphView>(view: &V) -> u64 {
    let (posts, comments) = (members(view, "Post"), members(view, "Comment"));
    let creators = Lists::read(view, &messages(view), "hasCreator", Out, |_, _| true);
    let comments_of = Lists::read(view, &posts, "replyOf", In, |_, _| true);
    let mut pairs = Vec::with_capacity(comments.len());
    for post in posts {
        for author in creators.of(post) {
            let replying = comments_of.of(post).iter().flat_map(|comment| creators.of(*comment));
            pairs.extend(replying.map(|replying| (*replying, *author)));
        }
    }
    edges_between(view, &pairs, "knows")
}

/// q3: a triangle matches in each of its six orders.
fn triangles_in_a_country<V: GraphView>(view: &V) -> u64 {
    let (persons, cities) = (members(view, "Person"), members(view, "City"));
    let city_of = Lists::read(view, &persons, "isLocatedIn", Out, |_, _| true);
    let country_of = Lists::read(view, &cities, "isPartOf", Out, |_, _| true);
    let country = |person| only(city_of.of(person)).and_then(|city| only(country_of.of(city)));
    let mut matches = 0;
    for_each_triangle(
        view,
        &persons,
        |one, other| country(one).is_some() && country(one) == country(other),
        |_| matches += 6,
    );
    matches
}

/// q4 and q7: around each message, tags * creators * what `ways` makes of likes and replies.
fn message_stars<V: GraphView>(view: &V, ways: impl Fn(u64, u64) -> u64) -> u64 {
    let messages = messages(view);
    let [tags, creators] = ["hasTag", "hasCreator"].map(|name| degrees(view, &messages, name, Out));
    let [likes, replies] = ["likes", "replyOf"].map(|name| degrees(view, &messages, name, In));
    let rows = 0..messages.len();
    rows.map(|row| tags[row] * creators[row] * ways(likes[row], replies[row])).sum()
}

/// q5 and q8: for each reply, what `pairs` makes of the number of tags of the message, of the reply, and
/// of both.
fn tag_pairs<V: GraphView>(view: &V, pairs: impl Fn(u64, u64, u64) -> u64) -> u64 {
    let messages = messages(view);
    let tags = Lists::read(view, &messages, "hasTag", Out, |_, _| true);
    let replies = Lists::read(view, &messages, "replyOf", In, |_, _| true);
    let mut matches = 0;
    for message in messages {
        let own = tags.of(message);
        for reply in replies.of(message).iter().filter(|_| !own.is_empty()) {
            let theirs = tags.of(*reply);
            let both = common(own, theirs).count();
            matches += pairs(own.len() as u64, theirs.len() as u64, both as u64);
        }
    }
    matches
}

/// q6: b in the middle; each friend c with his interests, once for every other friend a.
fn interests_of_friends_friends<V: GraphView>(view: &V) -> u64 {
    let persons = members(view, "Person");
    let interests = interests(view, &persons);
    let of_friends = Counts::carried(view, &persons, "knows", Both, &interests);
    let friends = degrees(view, &persons, "knows", Both);
    let matches = |(person, friends): (&VertexId, u64)| of_friends.of(*person) * friends.saturating_sub(1);
    persons.iter().zip(friends).map(matches).sum()
}

/// What q6 counts and q9 doesn't, since a knows c: in a triangle, each of the three is c twice.
fn interests_in_triangles<V: GraphView>(view: &V) -> u64 {
    let persons = members(view, "Person");
    let interests = interests(view, &persons);
    let mut matches = 0;
    for_each_triangle(
        view,
        &persons,
        |_, _| true,
        |triangle| {
            matches += 2 * triangle.iter().map(|person| interests.of(*person)).sum::<u64>();
        },
    );
    matches
}

fn interests<V: GraphView>(view: &V, persons: &[VertexId]) -> Counts {
    Counts::carried(view, persons, "hasInterest", Out, &Counts::ones(&members(view, "Tag")))
}

/// Visits each three of `persons` who know each other once, along friendships that `keep` says yes to.
///
/// A friendship is listed at the end with fewer friends only, so that nobody's list is long.
fn for_each_triangle<V: GraphView>(
    view: &V,
    persons: &[VertexId],
    keep: impl Fn(VertexId, VertexId) -> bool,
    mut visit: impl FnMut([VertexId; 3]),
) {
    let ones = Counts::ones(persons);
    let friends = Counts::carried(view, persons, "knows", Both, &ones);
    let rank = |person| (friends.of(person), person);
    let upwards = |one, other| rank(one) < rank(other) && keep(one, other);
    let lists = Lists::read(view, persons, "knows", Both, upwards);
    for one in persons {
        let friends = lists.of(*one);
        assert!(friends.is_sorted_by(|a, b| a < b), "{one} knows somebody twice");
        for other in friends {
            common(friends, lists.of(*other)).for_each(|third| visit([*one, *other, third]));
        }
    }
}

/// The only vertex of a list.
fn only(list: &[VertexId]) -> Option<VertexId> {
    assert!(list.len() <= 1, "one place at most: {list:?}");
    list.first().copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use evergraph::Database;
    use proptest::prelude::*;
    use std::collections::{BTreeMap, BTreeSet};

    /// A part and a number in it.
    type Item = (&'static str, usize);

    /// Vertices of each part.
    const SIZES: [(&str, usize); 10] = [
        ("Person", 5),
        ("City", 3),
        ("Country", 2),
        ("Continent", 1),
        ("Forum", 2),
        ("Post", 3),
        ("Comment", 4),
        ("Tag", 3),
        ("TagClass", 2),
        ("Message", 0),
    ];

    const EDGES: [(&str, &str, &str); 17] = [
        ("Person", "knows", "Person"),
        ("Person", "isLocatedIn", "City"),
        ("City", "isPartOf", "Country"),
        ("Country", "isPartOf", "Continent"),
        ("Forum", "hasMember", "Person"),
        ("Forum", "containerOf", "Post"),
        ("Forum", "hasTag", "Tag"),
        ("Post", "hasTag", "Tag"),
        ("Comment", "hasTag", "Tag"),
        ("Post", "hasCreator", "Person"),
        ("Comment", "hasCreator", "Person"),
        ("Comment", "replyOf", "Post"),
        ("Comment", "replyOf", "Comment"),
        ("Person", "likes", "Post"),
        ("Person", "likes", "Comment"),
        ("Person", "hasInterest", "Tag"),
        ("Tag", "hasType", "TagClass"),
    ];

    fn size(part: &str) -> usize {
        SIZES.iter().find(|(name, _)| *name == part).unwrap().1
    }

    #[derive(Debug, Default)]
    struct Network(BTreeSet<(Item, &'static str, Item)>);

    impl Network {
        /// Of any edges those that the schema's rules allow beside the ones before.
        fn new(choices: &[(usize, usize, usize)]) -> Self {
            let mut network = Self::default();
            for (kind, source, target) in choices {
                let (from, edge_type, to) = EDGES[kind % EDGES.len()];
                let (source, target) = ((from, source % size(from)), (to, target % size(to)));
                let placed = |(own, name, _): &(Item, &str, Item)| *own == source && *name == edge_type;
                let refused = match edge_type {
                    "knows" => source == target || network.has(source, "knows", target),
                    "isLocatedIn" | "isPartOf" => network.0.iter().any(placed),
                    _ => false,
                };
                if !refused {
                    network.0.insert((source, edge_type, target));
                }
            }
            network
        }

        fn has(&self, one: Item, edge_type: &'static str, other: Item) -> bool {
            self.0.contains(&(one, edge_type, other))
                || edge_type == "knows" && self.0.contains(&(other, edge_type, one))
        }

        /// As a database, in the spelling of LSQB's files or as SNB's are imported.
        fn database(&self, as_snb: bool) -> Database {
            let db = Database::in_memory().unwrap();
            db.transact(|tx| {
                let mut vertices = BTreeMap::new();
                for (part, number) in
                    SIZES.iter().flat_map(|(part, size)| (0..*size).map(move |n| (*part, n)))
                {
                    let vertex = match part {
                        "City" | "Country" | "Continent" if as_snb => {
                            tx.add_vertex("Place", &[("type", part.to_lowercase().into())])?
                        }
                        part => tx.add_vertex(part, &[])?,
                    };
                    vertices.insert((part, number), vertex);
                }
                for (source, edge_type, target) in &self.0 {
                    let snb: String = edge_type
                        .chars()
                        .flat_map(|letter| {
                            let before = letter.is_uppercase().then_some('_');
                            before.into_iter().chain(letter.to_uppercase())
                        })
                        .collect();
                    let name = if as_snb { &snb } else { *edge_type };
                    tx.add_edge(vertices[source], name, vertices[target], &[])?;
                }
                Ok(())
            })
            .unwrap();
            db
        }

        /// The matches of a pattern, found by trying everything. Variables are taken in their order; one
        /// with a `?` is `None` where nothing fits.
        fn matches(
            &self,
            variables: &[&'static str],
            edges: &[(usize, &'static str, usize)],
            rule: &dyn Fn(&[Option<Item>]) -> bool,
            found: &mut Vec<Option<Item>>,
        ) -> u64 {
            let Some(part) = variables.get(found.len()) else { return u64::from(rule(found)) };
            let parts = match part.trim_end_matches('?') {
                "Message" => vec!["Post", "Comment"],
                part => vec![SIZES.iter().find(|(name, _)| *name == part).unwrap().0],
            };
            let candidates =
                parts.into_iter().flat_map(|part| (0..size(part)).map(move |number| (part, number)));
            let (mut count, mut fitted) = (0, false);
            for candidate in candidates {
                found.push(Some(candidate));
                let held = |(one, edge_type, other): &(usize, &'static str, usize)| {
                    let ends = (found.get(*one), found.get(*other));
                    let (Some(Some(one)), Some(Some(other))) = ends else { return true };
                    self.has(*one, edge_type, *other)
                };
                if edges.iter().all(held) {
                    fitted = true;
                    count += self.matches(variables, edges, rule, found);
                }
                found.pop();
            }
            if part.ends_with('?') && !fitted {
                found.push(None);
                count += self.matches(variables, edges, rule, found);
                found.pop();
            }
            count
        }

        fn count(&self, number: usize) -> u64 {
            let any: &dyn Fn(&[Option<Item>]) -> bool = &|_| true;
            let tags_differ: &dyn Fn(&[Option<Item>]) -> bool = &|found| found[2] != found[3];
            let ends_differ: &dyn Fn(&[Option<Item>]) -> bool = &|found| found[0] != found[2];
            let (variables, edges, rule): (&[_], &[_], _) = match number {
                1 => (
                    &["Country", "City", "Person", "Forum", "Post", "Comment", "Tag", "TagClass"],
                    &[
                        (1, "isPartOf", 0),
                        (2, "isLocatedIn", 1),
                        (3, "hasMember", 2),
                        (3, "containerOf", 4),
                        (5, "replyOf", 4),
                        (5, "hasTag", 6),
                        (6, "hasType", 7),
                    ],
                    any,
                ),
                2 => (
                    &["Person", "Person", "Comment", "Post"],
                    &[(0, "knows", 1), (2, "hasCreator", 0), (2, "replyOf", 3), (3, "hasCreator", 1)],
                    any,
                ),
                3 => (
                    &["Country", "City", "City", "City", "Person", "Person", "Person"],
                    &[
                        (1, "isPartOf", 0),
                        (2, "isPartOf", 0),
                        (3, "isPartOf", 0),
                        (4, "isLocatedIn", 1),
                        (5, "isLocatedIn", 2),
                        (6, "isLocatedIn", 3),
                        (4, "knows", 5),
                        (5, "knows", 6),
                        (6, "knows", 4),
                    ],
                    any,
                ),
                4 => (
                    &["Message", "Tag", "Person", "Person", "Comment"],
                    &[(0, "hasTag", 1), (0, "hasCreator", 2), (3, "likes", 0), (4, "replyOf", 0)],
                    any,
                ),
                7 => (
                    &["Message", "Tag", "Person", "Person?", "Comment?"],
                    &[(0, "hasTag", 1), (0, "hasCreator", 2), (3, "likes", 0), (4, "replyOf", 0)],
                    any,
                ),
                5 | 8 => (
                    &["Message", "Comment", "Tag", "Tag"],
                    &[(1, "replyOf", 0), (0, "hasTag", 2), (1, "hasTag", 3)],
                    match number {
                        5 => tags_differ,
                        _ => &|found| {
                            tags_differ(found) && !self.has(found[1].unwrap(), "hasTag", found[2].unwrap())
                        },
                    },
                ),
                _ => (
                    &["Person", "Person", "Person", "Tag"],
                    &[(0, "knows", 1), (1, "knows", 2), (2, "hasInterest", 3)],
                    match number {
                        6 => ends_differ,
                        _ => &|found| {
                            ends_differ(found) && !self.has(found[0].unwrap(), "knows", found[2].unwrap())
                        },
                    },
                ),
            };
            self.matches(variables, edges, rule, &mut Vec::new())
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn every_query_counts_what_trying_everything_finds(
            choices in proptest::collection::vec((0..17_usize, 0..8_usize, 0..8_usize), 0..160),
            as_snb: bool,
        ) {
            let network = Network::new(&choices);
            let snapshot = network.database(as_snb).snapshot();
            for number in 1..=9 {
                prop_assert_eq!(count(&snapshot, number), network.count(number), "q{}", number);
            }
        }
    }

    #[test]
    fn a_graph_of_other_things_has_no_match() {
        assert_eq!(count_all(&Database::in_memory().unwrap().snapshot()), [0; 9]);
    }
}
