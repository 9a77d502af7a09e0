//! Texts: LDBC's reads in Gremlin, with what each is asked for.

use crate::workload::interactive::network::{Network, Table, TableRow};
use evergraph::Value;
use evergraph::generate::random::Random;
use evergraph_graph::error::{Error, Result};
use evergraph_graph::value::datetime::DateTime;
use std::path::Path;

const PURPOSE: u64 = 408;
/// So many sets of parameters each, or as many as there are.
const PARAMETERS: usize = 10;
const DAY: i64 = 24 * 3600 * 1000;

/// Values of a text's variables.
pub type Parameters = Vec<(&'static str, Value)>;

/// A query.
pub struct Read {
    /// Its name in figures.
    pub name: &'static str,
    /// What it asks for.
    pub title: &'static str,
    /// Its Gremlin.
    pub text: &'static str,
    /// What it is asked for.
    pub parameters: Vec<Parameters>,
}

const IS1: &str = "g.V().has('Person', 'id', person)
    .project('firstName', 'lastName', 'birthday', 'locationIP', 'browserUsed', 'cityId', 'gender', 'creationDate')
    .by('firstName').by('lastName').by('birthday').by('locationIP').by('browserUsed')
    .by(out('IS_LOCATED_IN').values('id')).by('gender').by('creationDate')";

const IS2: &str = "g.V().has('Person', 'id', person).in('HAS_CREATOR')
    .order().by('creationDate', desc).by('id').limit(10)
    .project('messageId', 'content', 'creationDate', 'post')
    .by('id').by(coalesce(values('content'), values('imageFile'))).by('creationDate')
    .by(until(hasLabel('Post')).repeat(out('REPLY_OF')).as('post').out('HAS_CREATOR')
        .project('postId', 'authorId', 'firstName', 'lastName')
        .by(select('post').values('id')).by('id').by('firstName').by('lastName'))";

const IS3: &str = "g.V().has('Person', 'id', person).bothE('KNOWS').as('knows').otherV()
    .order().by(select('knows').values('creationDate'), desc).by('id')
    .project('personId', 'firstName', 'lastName', 'since')
    .by('id').by('firstName').by('lastName').by(select('knows').values('creationDate'))";

const IS4: &str = "g.V().hasLabel('Post', 'Comment').has('id', message)
    .project('creationDate', 'content').by('creationDate').by(coalesce(values('content'), values('imageFile')))";

const IS5: &str = "g.V().hasLabel('Post', 'Comment').has('id', message).out('HAS_CREATOR')
    .project('personId', 'firstName', 'lastName').by('id').by('firstName').by('lastName')";

const IS6: &str = "g.V().hasLabel('Post', 'Comment').has('id', message)
    .until(hasLabel('Post')).repeat(out('REPLY_OF')).in('CONTAINER_OF').as('forum').out('HAS_MODERATOR')
    .project('forumId', 'title', 'moderatorId', 'firstName', 'lastName')
    .by(select('forum').values('id')).by(select('forum').values('title')).by('id').by('firstName').by('lastName')";

const IS7: &str = "g.V().hasLabel('Post', 'Comment').has('id', message).as('message')
    .out('HAS_CREATOR').as('author').select('message').in('REPLY_OF').as('comment').out('HAS_CREATOR').as('replier')
    .order().by(select('comment').values('creationDate'), desc).by('id').by(select('comment').values('id'))
    .project('commentId', 'content', 'creationDate', 'personId', 'firstName', 'lastName', 'knows')
    .by(select('comment').values('id')).by(select('comment').values('content'))
    .by(select('comment').values('creationDate')).by('id').by('firstName').by('lastName')
    .by(both('KNOWS').where(eq('author')).count())";

const IC1: &str = "g.withSack(0).V().has('Person', 'id', person).as('start')
    .repeat(both('KNOWS').dedup().sack(sum).by(constant(1))).emit().times(3)
    .has('firstName', first).where(neq('start'))
    .order().by(sack()).by('lastName').by('id').dedup().limit(20)
    .project('id', 'lastName', 'distance', 'birthday', 'creationDate', 'gender', 'browserUsed', 'locationIP',
        'emails', 'languages', 'city', 'universities', 'companies')
    .by('id').by('lastName').by(sack()).by('birthday').by('creationDate').by('gender').by('browserUsed')
    .by('locationIP').by(values('email').fold()).by(values('language').fold())
    .by(out('IS_LOCATED_IN').values('name'))
    .by(outE('STUDY_AT').as('at').inV().order().by('id')
        .project('name', 'year', 'place').by('name').by(select('at').values('classYear'))
        .by(out('IS_LOCATED_IN').values('name')).fold())
    .by(outE('WORK_AT').as('at').inV().order().by('id')
        .project('name', 'year', 'place').by('name').by(select('at').values('workFrom'))
        .by(out('IS_LOCATED_IN').values('name')).fold())";

const IC2: &str = "g.V().has('Person', 'id', person).both('KNOWS').as('friend')
    .in('HAS_CREATOR').has('creationDate', lt(before))
    .order().by('creationDate', desc).by('id').limit(20)
    .project('personId', 'firstName', 'lastName', 'messageId', 'content', 'creationDate')
    .by(select('friend').values('id')).by(select('friend').values('firstName'))
    .by(select('friend').values('lastName')).by('id').by(coalesce(values('content'), values('imageFile')))
    .by('creationDate')";

const IC3: &str = "g.V().has('Person', 'id', person).as('start')
    .union(both('KNOWS'), both('KNOWS').both('KNOWS')).dedup().where(neq('start'))
    .not(out('IS_LOCATED_IN').out('IS_PART_OF').has('name', within(x, y)))
    .project('personId', 'firstName', 'lastName', 'x', 'y').by('id').by('firstName').by('lastName')
    .by(__.in('HAS_CREATOR').has('creationDate', between(from, to))
        .where(out('IS_LOCATED_IN').has('type', 'country').has('name', x)).count())
    .by(__.in('HAS_CREATOR').has('creationDate', between(from, to))
        .where(out('IS_LOCATED_IN').has('type', 'country').has('name', y)).count())
    .where(select('x').is(gt(0))).where(select('y').is(gt(0)))
    .order().by(union(select('x'), select('y')).sum(), desc).by(select('personId')).limit(20)";

const IC4: &str = "g.V().has('Person', 'id', person).both('KNOWS').in('HAS_CREATOR').hasLabel('Post')
    .has('creationDate', lt(to)).as('post').out('HAS_TAG')
    .group().by().by(select('post').values('creationDate').fold()).unfold()
    .where(select(values).min(local).is(gte(from)))
    .project('tag', 'posts').by(select(keys).values('name')).by(select(values).count(local))
    .order().by(select('posts'), desc).by(select('tag')).limit(10)";

/// All reads, with parameters of `folder`, and messages of `network` that `seed` draws.
///
/// # Errors
/// What reading the files of parameters meets.
pub fn reads(folder: &Path, network: &Network, seed: u64) -> Result<Vec<Read>> {
    let persons: Vec<Parameters> = asked(folder, 1, |row| Ok(vec![person(row)?]))?;
    let mut random = Random::new(seed, PURPOSE, 0);
    let mut messages = |with_replies: bool| -> Vec<Parameters> {
        let wanted =
            network.messages.iter().filter(|(_, message)| !with_replies || !message.replies.is_empty());
        let ids: Vec<i64> = wanted.map(|(id, _)| *id).collect();
        let mut draw = || ids[random.below(ids.len() as u64) as usize];
        (0..PARAMETERS.min(ids.len())).map(|_| vec![("message", Value::from(draw()))]).collect()
    };
    let [any, answered] = [messages(false), messages(true)];
    let friends = asked(folder, 1, |row| Ok(vec![person(row)?, ("first", row.text("firstName")?.into())]))?;
    let until = asked(folder, 2, |row| Ok(vec![person(row)?, ("before", moment(row.number(1)?)?)]))?;
    let abroad = asked(folder, 3, |row| {
        let countries = [("x", row.text("countryXName")?.into()), ("y", row.text("countryYName")?.into())];
        Ok([person(row)?].into_iter().chain(period(row)?).chain(countries).collect())
    })?;
    let topics = asked(folder, 4, |row| Ok([person(row)?].into_iter().chain(period(row)?).collect()))?;
    let read = |name, title, text, parameters| Read { name, title, text, parameters };
    Ok(vec![
        read("is_1", "IS1: a person", IS1, persons.clone()),
        read(
            "is_2",
            "IS2: the newest messages of a person, and where each thread began",
            IS2,
            persons.clone(),
        ),
        read("is_3", "IS3: the friends of a person", IS3, persons),
        read("is_4", "IS4: a message", IS4, any.clone()),
        read("is_5", "IS5: who wrote a message", IS5, any.clone()),
        read("is_6", "IS6: the forum of a message, and its moderator", IS6, any),
        read("is_7", "IS7: the replies to a message", IS7, answered),
        read("ic_1", "IC1: persons of a name within three hops", IC1, friends),
        read("ic_2", "IC2: the newest messages of friends", IC2, until),
        read("ic_3", "IC3: friends and theirs who wrote from two countries", IC3, abroad),
        read("ic_4", "IC4: new topics of friends' posts", IC4, topics),
    ])
}

fn asked(
    folder: &Path,
    number: u32,
    of: impl Fn(&TableRow<'_>) -> Result<Parameters>,
) -> Result<Vec<Parameters>> {
    let table = Table::read_file(&folder.join(format!("interactive_{number}_param.txt")))?;
    table.rows().take(PARAMETERS).map(|row| of(&row)).collect()
}

fn person(row: &TableRow<'_>) -> Result<(&'static str, Value)> {
    Ok(("person", row.number(0)?.into()))
}

fn period(row: &TableRow<'_>) -> Result<[(&'static str, Value); 2]> {
    let (from, days) = (row.number(1)?, row.number(2)?);
    Ok([("from", moment(from)?), ("to", moment(from + days * DAY)?)])
}

fn moment(milliseconds: i64) -> Result<Value> {
    let moment = DateTime::from_epoch_milliseconds(milliseconds);
    let moment = moment.map_err(|error| Error::invalid("a parameter is no date").because(error))?;
    Ok(moment.into())
}
