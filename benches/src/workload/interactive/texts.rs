//! Texts: LDBC's reads in Gremlin.

use crate::workload::interactive::parameters::{Parameters, Sets};

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

/// All reads.
#[must_use]
pub fn reads(sets: &Sets) -> Vec<Read> {
    let read = |name, title, text, parameters: &[Parameters]| Read {
        name,
        title,
        text,
        parameters: parameters.to_vec(),
    };
    vec![
        read("is_1", "IS1: a person", IS1, &sets.persons),
        read("is_2", "IS2: the newest messages of a person, and where each thread began", IS2, &sets.persons),
        read("is_3", "IS3: the friends of a person", IS3, &sets.persons),
        read("is_4", "IS4: a message", IS4, &sets.messages),
        read("is_5", "IS5: who wrote a message", IS5, &sets.messages),
        read("is_6", "IS6: the forum of a message, and its moderator", IS6, &sets.messages),
        read("is_7", "IS7: the replies to a message", IS7, &sets.answered),
        read("ic_1", "IC1: persons of a name within three hops", IC1, &sets.names),
        read("ic_2", "IC2: the newest messages of friends", IC2, &sets.before),
        read("ic_3", "IC3: friends and theirs who wrote from two countries", IC3, &sets.countries),
        read("ic_4", "IC4: new topics of friends' posts", IC4, &sets.periods),
    ]
}
