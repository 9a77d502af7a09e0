//! SNB in Cypher: IS1 to IS4 and IC1 to IC4 as a knowing user of Neo4j writes them.
//!
//! Posts and comments have a further label `Message`, which the index is on. Columns come in the order of the Gremlin's
//! keys, and in lists of universities and companies all values stand one behind the other.

/// The text of the read `name`; `None` if there is none.
#[must_use]
pub fn text(name: &str) -> Option<&'static str> {
    Some(match name {
        "is_1" => IS1,
        "is_2" => IS2,
        "is_3" => IS3,
        "is_4" => IS4,
        "ic_1" => IC1,
        "ic_2" => IC2,
        "ic_3" => IC3,
        "ic_4" => IC4,
        _ => return None,
    })
}

const IS1: &str = "MATCH (p:Person {id: $person})-[:IS_LOCATED_IN]->(city:Place)
    RETURN p.firstName, p.lastName, p.birthday, p.locationIP, p.browserUsed, city.id, p.gender, p.creationDate";

const IS2: &str = "MATCH (:Person {id: $person})<-[:HAS_CREATOR]-(m:Message)
    WITH m ORDER BY m.creationDate DESC, m.id LIMIT 10
    MATCH (m)-[:REPLY_OF*0..]->(post:Post)-[:HAS_CREATOR]->(author:Person)
    RETURN m.id AS id, coalesce(m.content, m.imageFile), m.creationDate AS created, post.id, author.id,
        author.firstName, author.lastName
    ORDER BY created DESC, id";

const IS3: &str = "MATCH (:Person {id: $person})-[knows:KNOWS]-(friend:Person)
    RETURN friend.id AS id, friend.firstName, friend.lastName, knows.creationDate AS since
    ORDER BY since DESC, id";

const IS4: &str = "MATCH (m:Message {id: $message}) RETURN m.creationDate, coalesce(m.content, m.imageFile)";

const IC1: &str = "MATCH (p:Person {id: $person}), (other:Person {firstName: $first}) WHERE other <> p
    MATCH path = shortestPath((p)-[:KNOWS*1..3]-(other))
    WITH other, length(path) AS distance ORDER BY distance, other.lastName, other.id LIMIT 20
    MATCH (other)-[:IS_LOCATED_IN]->(city:Place)
    OPTIONAL MATCH (other)-[at:STUDY_AT]->(university:Organisation)-[:IS_LOCATED_IN]->(place:Place)
    WITH other, distance, city, at, university, place ORDER BY university.id
    WITH other, distance, city,
        collect(CASE WHEN university IS NULL THEN null ELSE [university.name, at.classYear, place.name] END)
            AS universities
    OPTIONAL MATCH (other)-[at:WORK_AT]->(company:Organisation)-[:IS_LOCATED_IN]->(place:Place)
    WITH other, distance, city, universities, at, company, place ORDER BY company.id
    WITH other, distance, city, universities,
        collect(CASE WHEN company IS NULL THEN null ELSE [company.name, at.workFrom, place.name] END) AS companies
    RETURN other.id AS id, other.lastName AS name, distance, other.birthday, other.creationDate, other.gender,
        other.browserUsed, other.locationIP, coalesce(other.email, []), coalesce(other.language, []), city.name,
        reduce(all = [], university IN universities | all + university),
        reduce(all = [], company IN companies | all + company)
    ORDER BY distance, name, id";

const IC2: &str = "MATCH (:Person {id: $person})-[:KNOWS]-(friend:Person)<-[:HAS_CREATOR]-(m:Message)
    WHERE m.creationDate < $before
    WITH friend, m ORDER BY m.creationDate DESC, m.id LIMIT 20
    RETURN friend.id, friend.firstName, friend.lastName, m.id AS id, coalesce(m.content, m.imageFile),
        m.creationDate AS created
    ORDER BY created DESC, id";

const IC3: &str = "MATCH (p:Person {id: $person})-[:KNOWS*1..2]-(other:Person) WHERE other <> p
    WITH DISTINCT other
    MATCH (other)-[:IS_LOCATED_IN]->(:Place)-[:IS_PART_OF]->(home:Place) WHERE NOT home.name IN [$x, $y]
    MATCH (other)<-[:HAS_CREATOR]-(m:Message)-[:IS_LOCATED_IN]->(country:Place {type: 'country'})
    WHERE m.creationDate >= $from AND m.creationDate < $to AND country.name IN [$x, $y]
    WITH other, sum(CASE country.name WHEN $x THEN 1 ELSE 0 END) AS xs,
        sum(CASE country.name WHEN $y THEN 1 ELSE 0 END) AS ys
    WHERE xs > 0 AND ys > 0
    RETURN other.id AS id, other.firstName, other.lastName, xs, ys ORDER BY xs + ys DESC, id LIMIT 20";

const IC4: &str =
    "MATCH (:Person {id: $person})-[:KNOWS]-(:Person)<-[:HAS_CREATOR]-(post:Post)-[:HAS_TAG]->(tag:Tag)
    WHERE post.creationDate < $to
    WITH tag, min(post.creationDate) AS first, count(*) AS posts WHERE first >= $from
    RETURN tag.name AS name, posts ORDER BY posts DESC, name LIMIT 10";
