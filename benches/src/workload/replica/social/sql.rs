//! SQL: LDBC's reads as prepared statements of PostgreSQL, with the views that they read.
//!
//! Posts and comments are tables of their own, as LDBC's relations have them: `message` joins both, `knows` has each friendship in both
//! directions, `likes` those of posts and of comments. PostgreSQL reads such a view by the indexes below it.

use crate::workload::replica::social::plans::{self, Plan};

/// A read: fixed plans of ours and of SQL.
#[derive(Clone, Copy)]
pub struct Read {
    /// Its name for programs, which is that of the prepared statement.
    pub name: &'static str,
    /// What it asks for.
    pub title: &'static str,
    /// Types of its parameters.
    pub types: &'static str,
    /// The statement.
    pub sql: &'static str,
    /// Our plan.
    pub plan: Plan,
}

/// Views of what several relations have, and moments in milliseconds.
pub const VIEWS: &str = r#"
CREATE FUNCTION ms(timestamptz) RETURNS bigint LANGUAGE sql STABLE AS 'SELECT (extract(epoch FROM $1) * 1000)::bigint';
CREATE VIEW knows AS
    SELECT "Person.id" AS a, "Person.id2" AS b, "creationDate" AS since FROM person_knows_person
    UNION ALL SELECT "Person.id2", "Person.id", "creationDate" FROM person_knows_person;
CREATE VIEW message AS
    SELECT id, "creationDate" AS created, coalesce(content, "imageFile", '') AS content, creator, place,
        NULL::bigint AS parent, "Forum.id" AS forum FROM post
    UNION ALL SELECT id, "creationDate", coalesce(content, ''), creator, place,
        coalesce("replyOfPost", "replyOfComment"), NULL::bigint FROM comment;
CREATE VIEW likes AS
    SELECT "Person.id" AS liker, "Post.id" AS message, "creationDate" AS at FROM person_likes_post
    UNION ALL SELECT "Person.id", "Comment.id", "creationDate" FROM person_likes_comment;"#;

const IS_1: &str = r#"SELECT "firstName", "lastName", birthday, "locationIP", "browserUsed", place, gender, ms("creationDate")
    FROM person WHERE id = $1"#;
const IS_2: &str = r#"WITH RECURSIVE newest AS (SELECT * FROM message WHERE creator = $1 ORDER BY created DESC, id LIMIT 10),
    thread AS (SELECT id AS start, id, creator, parent FROM newest
        UNION ALL SELECT t.start, m.id, m.creator, m.parent FROM thread t JOIN message m ON m.id = t.parent)
    SELECT n.id, n.content, ms(n.created), t.id, p.id, p."firstName", p."lastName" FROM newest n
    JOIN thread t ON t.start = n.id AND t.parent IS NULL JOIN person p ON p.id = t.creator ORDER BY n.created DESC, n.id"#;
const IS_3: &str = r#"SELECT p.id, p."firstName", p."lastName", ms(k.since) FROM knows k JOIN person p ON p.id = k.b
    WHERE k.a = $1 ORDER BY k.since DESC, p.id"#;
const IS_4: &str = "SELECT ms(created), content FROM message WHERE id = $1";
const IS_5: &str = r#"SELECT p.id, p."firstName", p."lastName" FROM message m JOIN person p ON p.id = m.creator WHERE m.id = $1"#;
const IS_6: &str = r#"WITH RECURSIVE thread AS (SELECT id, parent, forum FROM message WHERE id = $1
        UNION ALL SELECT m.id, m.parent, m.forum FROM thread t JOIN message m ON m.id = t.parent)
    SELECT f.id, f.title, p.id, p."firstName", p."lastName" FROM thread t JOIN forum f ON f.id = t.forum
    JOIN person p ON p.id = f.moderator WHERE t.parent IS NULL"#;
const IS_7: &str = r#"SELECT c.id, coalesce(c.content, ''), ms(c."creationDate"), p.id, p."firstName", p."lastName",
        CASE WHEN EXISTS (SELECT FROM knows k WHERE k.a = m.creator AND k.b = p.id) THEN 1 ELSE 0 END
    FROM message m JOIN comment c ON c."replyOfPost" = m.id OR c."replyOfComment" = m.id JOIN person p ON p.id = c.creator
    WHERE m.id = $1 ORDER BY c."creationDate" DESC, p.id, c.id"#;

const IC_1: &str = r#"WITH RECURSIVE near(id, distance) AS (SELECT $1, 0
        UNION SELECT k.b, n.distance + 1 FROM near n JOIN knows k ON k.a = n.id WHERE n.distance < 3)
    SELECT p.id, p."lastName", min(n.distance), p.birthday, ms(p."creationDate"), p.gender, p."browserUsed", p."locationIP", c.name
    FROM near n JOIN person p ON p.id = n.id JOIN place c ON c.id = p.place
    WHERE p."firstName" = $2 AND p.id <> $1 GROUP BY p.id, c.name ORDER BY 3, 2, 1 LIMIT 20"#;
const IC_2: &str = r#"SELECT p.id, p."firstName", p."lastName", m.id, m.content, ms(m.created)
    FROM knows k JOIN person p ON p.id = k.b JOIN message m ON m.creator = p.id
    WHERE k.a = $1 AND m.created < $2 ORDER BY m.created DESC, m.id LIMIT 20"#;
macro_rules! within_circle {
    ($rest:literal) => {
        concat!(
            "WITH RECURSIVE circle AS (SELECT b AS id FROM knows WHERE a = $1 UNION SELECT two.b FROM knows one \
             JOIN knows two ON two.a = one.b WHERE one.a = $1 AND two.b <> $1) ",
            $rest
        )
    };
}
const IC_3: &str = within_circle!(
    r#"SELECT p.id, p."firstName", p."lastName", count(*) FILTER (WHERE c.name = $4), count(*) FILTER (WHERE c.name = $5)
    FROM circle JOIN person p ON p.id = circle.id JOIN place city ON city.id = p.place JOIN place home ON home.id = city."isPartOf"
    JOIN message m ON m.creator = p.id JOIN place c ON c.id = m.place
    WHERE home.name NOT IN ($4, $5) AND m.created >= $2 AND m.created < $3 AND c.name IN ($4, $5)
    GROUP BY p.id HAVING count(*) FILTER (WHERE c.name = $4) > 0 AND count(*) FILTER (WHERE c.name = $5) > 0
    ORDER BY count(*) DESC, p.id LIMIT 20"#
);
const IC_4: &str = r#"SELECT t.name, count(*) FROM knows k JOIN post p ON p.creator = k.b JOIN "post_hasTag_tag" h ON h."Post.id" = p.id
    JOIN tag t ON t.id = h."Tag.id" WHERE k.a = $1 AND p."creationDate" < $3
    GROUP BY t.id HAVING min(p."creationDate") >= $2 ORDER BY 2 DESC, 1 LIMIT 10"#;
const IC_5: &str = within_circle!(
    r#"SELECT f.id, f.title, count(p.id) FROM circle JOIN "forum_hasMember_person" j ON j."Person.id" = circle.id
    JOIN forum f ON f.id = j."Forum.id" LEFT JOIN post p ON p."Forum.id" = f.id AND p.creator = circle.id
    WHERE j."joinDate" > $2 GROUP BY f.id ORDER BY 3 DESC, 1 LIMIT 20"#
);
const IC_6: &str = within_circle!(
    r#"SELECT t.name, count(*) FROM tag x JOIN "post_hasTag_tag" h ON h."Tag.id" = x.id JOIN post p ON p.id = h."Post.id"
    JOIN circle ON circle.id = p.creator JOIN "post_hasTag_tag" o ON o."Post.id" = p.id JOIN tag t ON t.id = o."Tag.id"
    WHERE x.name = $2 AND t.id <> x.id GROUP BY t.id ORDER BY 2 DESC, 1 LIMIT 10"#
);
const IC_7: &str = r#"SELECT id, "firstName", "lastName", at, message, content, minutes, is_new FROM (
        SELECT DISTINCT ON (p.id) p.id, p."firstName", p."lastName", ms(l.at) AS at, m.id AS message, m.content,
            (ms(l.at) - ms(m.created)) / 60000 AS minutes,
            CASE WHEN EXISTS (SELECT FROM knows k WHERE k.a = $1 AND k.b = p.id) THEN 0 ELSE 1 END AS is_new
        FROM message m JOIN likes l ON l.message = m.id JOIN person p ON p.id = l.liker WHERE m.creator = $1
        ORDER BY p.id, l.at DESC, m.id) newest ORDER BY at DESC, id LIMIT 20"#;
const IC_8: &str = r#"SELECT p.id, p."firstName", p."lastName", ms(c."creationDate"), c.id, coalesce(c.content, '') FROM (
        SELECT c.* FROM post m JOIN comment c ON c."replyOfPost" = m.id WHERE m.creator = $1
        UNION ALL SELECT c.* FROM comment m JOIN comment c ON c."replyOfComment" = m.id WHERE m.creator = $1) c
    JOIN person p ON p.id = c.creator ORDER BY c."creationDate" DESC, c.id LIMIT 20"#;
const IC_9: &str = within_circle!(
    r#"SELECT p.id, p."firstName", p."lastName", m.id, m.content, ms(m.created) FROM circle JOIN person p ON p.id = circle.id
    JOIN message m ON m.creator = p.id WHERE m.created < $2 ORDER BY m.created DESC, m.id LIMIT 20"#
);
const IC_10: &str = within_circle!(
    r#"SELECT p.id, p."firstName", p."lastName", (SELECT coalesce(sum(CASE WHEN EXISTS (SELECT FROM "post_hasTag_tag" h
            JOIN "person_hasInterest_tag" i ON i."Tag.id" = h."Tag.id" WHERE h."Post.id" = post.id AND i."Person.id" = $1)
            THEN 1 ELSE -1 END), 0) FROM post WHERE post.creator = p.id), p.gender, city.name
    FROM circle JOIN person p ON p.id = circle.id JOIN place city ON city.id = p.place
    WHERE NOT EXISTS (SELECT FROM knows k WHERE k.a = $1 AND k.b = p.id)
        AND ((extract(month FROM p.birthday) = $2 AND extract(day FROM p.birthday) >= 21)
            OR (extract(month FROM p.birthday) = $2 % 12 + 1 AND extract(day FROM p.birthday) < 22))
    ORDER BY 4 DESC, 1 LIMIT 10"#
);
const IC_11: &str = within_circle!(
    r#"SELECT p.id, p."firstName", p."lastName", o.name, w."workFrom" FROM circle JOIN person p ON p.id = circle.id
    JOIN "person_workAt_organisation" w ON w."Person.id" = p.id JOIN organisation o ON o.id = w."Organisation.id"
    JOIN place c ON c.id = o.place WHERE c.name = $2 AND w."workFrom" < $3 ORDER BY w."workFrom", p.id, o.name DESC LIMIT 10"#
);
const IC_12: &str = r#"WITH RECURSIVE classes AS (SELECT id FROM tagclass WHERE name = $2
        UNION SELECT t.id FROM tagclass t JOIN classes c ON t."isSubclassOf" = c.id)
    SELECT p.id, p."firstName", p."lastName", count(*) FROM knows k JOIN person p ON p.id = k.b JOIN comment c ON c.creator = p.id
    WHERE k.a = $1 AND EXISTS (SELECT FROM "post_hasTag_tag" h JOIN tag t ON t.id = h."Tag.id"
        WHERE h."Post.id" = c."replyOfPost" AND t."hasType" IN (SELECT id FROM classes))
    GROUP BY p.id ORDER BY 4 DESC, 1 LIMIT 20"#;
// It ends at the first row that is the other person: rows come by distance.
const IC_13: &str = r#"WITH RECURSIVE near(id, distance) AS (SELECT $1, 0
        UNION SELECT k.b, n.distance + 1 FROM near n JOIN knows k ON k.a = n.id WHERE n.distance < 12)
    SELECT coalesce((SELECT distance FROM near WHERE id = $2 LIMIT 1), -1)"#;
// The wave that has the other person is the last one; paths go back from there, a wave at a time.
const IC_14: &str = r#"WITH RECURSIVE near(id, distance, is_last) AS (SELECT $1, 0, $1 = $2
        UNION SELECT k.b, n.distance + 1, bool_or(k.b = $2) OVER () FROM near n JOIN knows k ON k.a = n.id
        WHERE NOT n.is_last AND n.distance < 12),
    wave AS (SELECT id, min(distance) AS distance FROM near GROUP BY id),
    path(ids, id, distance) AS (SELECT ARRAY[id], id, distance FROM wave WHERE id = $2
        UNION ALL SELECT k.b || p.ids, k.b, w.distance FROM path p JOIN knows k ON k.a = p.id
        JOIN wave w ON w.id = k.b AND w.distance = p.distance - 1),
    step AS (SELECT p.ids, p.ids[n] AS a, p.ids[n + 1] AS b FROM path p
        LEFT JOIN LATERAL generate_series(1, array_length(p.ids, 1) - 1) n ON true WHERE p.distance = 0),
    doubled AS (SELECT a, b, 2 * (SELECT count(*) FROM comment c JOIN post m ON m.id = c."replyOfPost"
                WHERE (c.creator, m.creator) IN ((a, b), (b, a)))
            + (SELECT count(*) FROM comment c JOIN comment m ON m.id = c."replyOfComment"
                WHERE (c.creator, m.creator) IN ((a, b), (b, a))) AS weight
        FROM (SELECT DISTINCT a, b FROM step) pair)
    SELECT array_to_string(s.ids, ' '), round(coalesce(sum(d.weight), 0) / 2.0, 1) FROM step s
    LEFT JOIN doubled d ON d.a = s.a AND d.b = s.b GROUP BY s.ids ORDER BY 2 DESC, s.ids"#;

/// The short reads.
pub const SHORT: [Read; 7] = [
    read("is_1", "IS1: a person", "bigint", IS_1, plans::is_1),
    read("is_2", "IS2: the newest messages of a person", "bigint", IS_2, plans::is_2),
    read("is_3", "IS3: friends", "bigint", IS_3, plans::is_3),
    read("is_4", "IS4: a message", "bigint", IS_4, plans::is_4),
    read("is_5", "IS5: who wrote a message", "bigint", IS_5, plans::is_5),
    read("is_6", "IS6: the forum of a message", "bigint", IS_6, plans::is_6),
    read("is_7", "IS7: replies to a message", "bigint", IS_7, plans::is_7),
];

/// The complex reads.
pub const COMPLEX: [Read; 14] = [
    read("ic_1", "IC1: persons of a name within three hops", "bigint, text", IC_1, plans::ic_1),
    read("ic_2", "IC2: the newest messages of friends", "bigint, timestamptz", IC_2, plans::ic_2),
    read(
        "ic_3",
        "IC3: who wrote from two countries",
        "bigint, timestamptz, timestamptz, text, text",
        IC_3,
        plans::ic_3,
    ),
    read("ic_4", "IC4: new topics", "bigint, timestamptz, timestamptz", IC_4, plans::ic_4),
    read("ic_5", "IC5: new forums of friends and theirs", "bigint, timestamptz", IC_5, plans::ic_5),
    read("ic_6", "IC6: tags beside a tag", "bigint, text", IC_6, plans::ic_6),
    read("ic_7", "IC7: who liked last", "bigint", IC_7, plans::ic_7),
    read("ic_8", "IC8: the newest replies to a person", "bigint", IC_8, plans::ic_8),
    read("ic_9", "IC9: the newest messages of friends and theirs", "bigint, timestamptz", IC_9, plans::ic_9),
    read("ic_10", "IC10: whom to know", "bigint, bigint", IC_10, plans::ic_10),
    read("ic_11", "IC11: who works in a country", "bigint, text, bigint", IC_11, plans::ic_11),
    read("ic_12", "IC12: who replies to posts of a class", "bigint, text", IC_12, plans::ic_12),
    read("ic_13", "IC13: how far two persons are apart", "bigint, bigint", IC_13, plans::ic_13),
    read("ic_14", "IC14: shortest paths by weight", "bigint, bigint", IC_14, plans::ic_14),
];

const fn read(
    name: &'static str,
    title: &'static str,
    types: &'static str,
    sql: &'static str,
    plan: Plan,
) -> Read {
    Read { name, title, types, sql, plan }
}
