//! Updates: LDBC's eight inserts, as a transaction of SQL and as one of ours.
//!
//! What is added joins what the same client added before with what was there, so that nothing comes twice, whoever is first. How often
//! each occurs is as in LDBC's stream of 6,920.

use crate::workload::replica::social::parameters::Pools;
use evergraph::generate::random::Random;
use evergraph::transaction::Transaction;
use evergraph::{Value, VertexId};
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::value::date::Date;
use evergraph_graph::value::datetime::DateTime;
use std::collections::HashSet;

/// How often of 6,920: persons, likes of posts, of comments, forums, members, posts, comments, friendships.
const COUNTS: [u64; 8] = [28, 818, 656, 155, 2507, 1271, 1296, 189];
/// Ids of what is added begin here, a range for each client.
const FIRST_ID: i64 = 8_000_000_000_000_000_000;
const IDS_OF_A_CLIENT: i64 = 1_000_000_000;
/// 2013-01-01, in milliseconds: later than the network. Each addition is a second after the one before.
const BEGIN: i64 = 1_356_998_400_000;
/// 1990-01-01.
const BIRTHDAY: i32 = 7305;

/// An insert.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Update {
    at: i64,
    kind: Kind,
}

#[derive(Clone, PartialEq, Eq, Debug)]
enum Kind {
    Person { id: i64, city: i64, interest: i64 },
    Forum { id: i64, moderator: i64, tag: i64 },
    Post { id: i64, creator: i64, forum: i64, place: i64, tag: i64 },
    Comment { id: i64, creator: i64, place: i64, parent: i64, is_post: bool, tag: i64 },
    Like { person: i64, message: i64, is_post: bool },
    Member { forum: i64, person: i64 },
    Knows { one: i64, other: i64 },
}

/// Draws the inserts of one client.
pub struct Updater {
    random: Random,
    next: i64,
    added: i64,
    persons: Vec<i64>,
    forums: Vec<i64>,
    posts: Vec<i64>,
    comments: Vec<i64>,
    pairs: HashSet<(u64, i64, i64)>,
}

impl Updater {
    /// Of the client of this number.
    #[must_use]
    pub fn new(random: Random, client: usize) -> Self {
        let next = FIRST_ID + client as i64 * IDS_OF_A_CLIENT;
        Self {
            random,
            next,
            added: 0,
            persons: Vec::new(),
            forums: Vec::new(),
            posts: Vec::new(),
            comments: Vec::new(),
            pairs: HashSet::new(),
        }
    }

    /// The next insert.
    pub fn next(&mut self, pools: &Pools) -> Update {
        let mut drawn = self.random.below(COUNTS.iter().sum());
        let mut kind = 0;
        while drawn >= COUNTS[kind] {
            drawn -= COUNTS[kind];
            kind += 1;
        }
        self.added += 1;
        let at = BEGIN + self.added * 1000;
        Update { at, kind: self.of_kind(kind, pools) }
    }

    /// One of the kind, or one of what it needs first.
    fn of_kind(&mut self, kind: usize, pools: &Pools) -> Kind {
        let random = &mut self.random;
        let mut one = |of: &[i64]| of[random.below(of.len() as u64) as usize];
        let (person, tag, place) = (one(&pools.persons), one(&pools.tags), one(&pools.places));
        let made = match kind {
            1 => newest(&self.posts).map(|message| Kind::Like { person, message, is_post: true }),
            2 => newest(&self.comments).map(|message| Kind::Like { person, message, is_post: false }),
            4 => newest(&self.forums).map(|forum| Kind::Member { forum, person }),
            7 => newest(&self.persons)
                .map(|other| Kind::Knows { one: person.min(other), other: person.max(other) }),
            _ => None,
        };
        let pair = match made {
            Some(Kind::Like { person, message, .. }) => Some((1, person, message)),
            Some(Kind::Member { forum, person }) => Some((4, forum, person)),
            Some(Kind::Knows { one, other }) => Some((7, one, other)),
            _ => None,
        };
        if let (Some(made), Some(pair)) = (made, pair)
            && self.pairs.insert(pair)
        {
            return made;
        }
        let forum = newest(&self.forums);
        let parent = if self.added % 2 == 0 { newest(&self.posts) } else { None };
        let (parent, is_post) = match parent {
            Some(post) => (post, true),
            None => (one(&pools.posts), true),
        };
        self.next += 1;
        let id = self.next;
        match kind {
            0 | 7 => {
                self.persons.push(id);
                Kind::Person { id, city: place, interest: tag }
            }
            3 | 4 => {
                self.forums.push(id);
                Kind::Forum { id, moderator: person, tag }
            }
            1 | 5 => {
                self.posts.push(id);
                let forum = forum.unwrap_or_else(|| one(&pools.forums));
                Kind::Post { id, creator: person, forum, place, tag }
            }
            _ => {
                self.comments.push(id);
                Kind::Comment { id, creator: person, place, parent, is_post, tag }
            }
        }
    }
}

fn newest(of: &[i64]) -> Option<i64> {
    of.last().copied()
}

impl Update {
    /// As a transaction of SQL.
    #[must_use]
    pub fn sql(&self) -> String {
        let at = format!("'{}'", moment(self.at));
        let statements = match &self.kind {
            Kind::Person { id, city, interest } => format!(
                r#"INSERT INTO person (id, "firstName", "lastName", gender, birthday, "creationDate", "locationIP", "browserUsed", place)
                 VALUES ({id}, 'New', 'Person', 'female', '1990-01-01', {at}, '1.2.3.4', 'Browser', {city});
                 INSERT INTO "person_hasInterest_tag" VALUES ({id}, {interest})"#
            ),
            Kind::Forum { id, moderator, tag } => format!(
                r#"INSERT INTO forum (id, title, "creationDate", moderator) VALUES ({id}, 'New forum', {at}, {moderator});
                 INSERT INTO "forum_hasTag_tag" VALUES ({id}, {tag})"#
            ),
            Kind::Post { id, creator, forum, place, tag } => format!(
                r#"INSERT INTO post (id, "creationDate", content, creator, "Forum.id", place)
                 VALUES ({id}, {at}, 'A new post', {creator}, {forum}, {place});
                 INSERT INTO "post_hasTag_tag" VALUES ({id}, {tag})"#
            ),
            Kind::Comment { id, creator, place, parent, is_post, tag } => {
                let column = if *is_post { "replyOfPost" } else { "replyOfComment" };
                format!(
                    r#"INSERT INTO comment (id, "creationDate", content, creator, place, "{column}")
                     VALUES ({id}, {at}, 'A new comment', {creator}, {place}, {parent});
                     INSERT INTO "comment_hasTag_tag" VALUES ({id}, {tag})"#
                )
            }
            Kind::Like { person, message, is_post } => {
                let of = if *is_post { "post" } else { "comment" };
                format!("INSERT INTO person_likes_{of} VALUES ({person}, {message}, {at})")
            }
            Kind::Member { forum, person } => {
                format!(r#"INSERT INTO "forum_hasMember_person" VALUES ({forum}, {person}, {at})"#)
            }
            Kind::Knows { one, other } => {
                format!("INSERT INTO person_knows_person VALUES ({one}, {other}, {at})")
            }
        };
        format!("BEGIN; {statements}; COMMIT")
    }

    /// The same in a transaction of ours.
    ///
    /// # Errors
    /// `corrupt` if an end is not there; those of the transaction.
    pub fn apply(&self, to: &mut Transaction) -> Result<()> {
        let at = || Value::from(moment(self.at));
        match &self.kind {
            Kind::Person { id, city, interest } => {
                let properties = [
                    ("id", Value::from(*id)),
                    ("firstName", "New".into()),
                    ("lastName", "Person".into()),
                    ("gender", "female".into()),
                    ("birthday", Date::from_days(BIRTHDAY).into()),
                    ("creationDate", at()),
                    ("locationIP", "1.2.3.4".into()),
                    ("browserUsed", "Browser".into()),
                ];
                let person = to.add_vertex("Person", &properties)?;
                let (city, interest) = (find(to, "Place", *city)?, find(to, "Tag", *interest)?);
                to.add_edge(person, "IS_LOCATED_IN", city, &[])?;
                to.add_edge(person, "HAS_INTEREST", interest, &[])?;
            }
            Kind::Forum { id, moderator, tag } => {
                let properties =
                    [("id", Value::from(*id)), ("title", "New forum".into()), ("creationDate", at())];
                let forum = to.add_vertex("Forum", &properties)?;
                let (moderator, tag) = (find(to, "Person", *moderator)?, find(to, "Tag", *tag)?);
                to.add_edge(forum, "HAS_MODERATOR", moderator, &[])?;
                to.add_edge(forum, "HAS_TAG", tag, &[])?;
            }
            Kind::Post { id, creator, forum, place, tag } => {
                let post = add_message(to, "Post", (*id, "A new post", at()), (*creator, *place, *tag))?;
                let forum = find(to, "Forum", *forum)?;
                to.add_edge(forum, "CONTAINER_OF", post, &[])?;
            }
            Kind::Comment { id, creator, place, parent, is_post, tag } => {
                let parent = find(to, if *is_post { "Post" } else { "Comment" }, *parent)?;
                let comment = (*id, "A new comment", at());
                let comment = add_message(to, "Comment", comment, (*creator, *place, *tag))?;
                to.add_edge(comment, "REPLY_OF", parent, &[])?;
            }
            Kind::Like { person, message, is_post } => {
                let message = find(to, if *is_post { "Post" } else { "Comment" }, *message)?;
                let person = find(to, "Person", *person)?;
                to.add_edge(person, "LIKES", message, &[("creationDate", at())])?;
            }
            Kind::Member { forum, person } => {
                let (forum, person) = (find(to, "Forum", *forum)?, find(to, "Person", *person)?);
                to.add_edge(forum, "HAS_MEMBER", person, &[("joinDate", at())])?;
            }
            Kind::Knows { one, other } => {
                let (one, other) = (find(to, "Person", *one)?, find(to, "Person", *other)?);
                to.add_edge(one, "KNOWS", other, &[("creationDate", at())])?;
            }
        }
        Ok(())
    }
}

fn add_message(
    to: &mut Transaction,
    label: &str,
    (id, content, at): (i64, &str, Value),
    (creator, place, tag): (i64, i64, i64),
) -> Result<VertexId> {
    let properties = [("id", Value::from(id)), ("creationDate", at), ("content", content.into())];
    let message = to.add_vertex(label, &properties)?;
    let (creator, place, tag) =
        (find(to, "Person", creator)?, find(to, "Place", place)?, find(to, "Tag", tag)?);
    to.add_edge(message, "HAS_CREATOR", creator, &[])?;
    to.add_edge(message, "IS_LOCATED_IN", place, &[])?;
    to.add_edge(message, "HAS_TAG", tag, &[])?;
    Ok(message)
}

fn find(to: &Transaction, label: &str, id: i64) -> Result<VertexId> {
    let missing = || Error::new(ErrorKind::Corrupt, format!("there is no {label} with the id {id}"));
    to.find(label, "id", id)?.ok_or_else(missing)
}

fn moment(milliseconds: i64) -> DateTime {
    DateTime::from_epoch_milliseconds(milliseconds).expect("a moment of our time")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_added_twice_and_everything_of_the_mixture_occurs() {
        let mut pools = Pools::default();
        pools.persons = (1..9).collect();
        (pools.posts, pools.forums) = (vec![100], vec![200]);
        (pools.tags, pools.places) = (vec![300], vec![400]);
        let mut updater = Updater::new(Random::new(1, 2, 3), 4);
        let updates: Vec<Update> = (0..3000).map(|_| updater.next(&pools)).collect();
        let statements: HashSet<String> = updates.iter().map(Update::sql).collect();
        assert_eq!(statements.len(), updates.len());
        let mut pairs = HashSet::new();
        for update in &updates {
            if let Kind::Like { person: one, message: other, .. }
            | Kind::Member { forum: one, person: other }
            | Kind::Knows { one, other } = update.kind
            {
                assert!(pairs.insert((one, other)), "{update:?}");
            }
        }
        for table in ["person ", "forum ", "post ", "comment ", "person_likes_post", "person_knows_person"] {
            let begins = format!("BEGIN; INSERT INTO {table}");
            assert!(statements.iter().any(|sql| sql.starts_with(&begins)), "{table}");
        }
    }
}
