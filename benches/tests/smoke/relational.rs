//! Relational: a small social network in the tables of LDBC's interactive workload, in which each of its reads finds something.

use flate2::Compression;
use flate2::write::GzEncoder;
use std::fs::{self, File};
use std::io::Write as _;
use std::path::Path;

const PERSONS: i64 = 40;
const POSTS: i64 = 1_000;
const COMMENTS: i64 = 2_000;
const FORUMS: i64 = 9_000;
/// Days of a year, whose months have 28.
const DAYS: i64 = 12 * 28;

/// A moment as LDBC's relations have it, so many days after the beginning.
fn moment(day: i64) -> String {
    let (month, day) = (1 + day / 28 % 12, 1 + day % 28);
    format!("2010-{month:02}-{day:02}T12:00:00.000+00:00")
}

/// When the message of this number was created: neighbours are far apart, so that each period of a read has some of every tag.
fn spread(number: i64) -> String {
    moment(number * 44 % DAYS)
}

/// Writes `relational` into `folder`.
pub fn write(folder: &Path) {
    let [fixed, dynamic] = ["relational/static", "relational/dynamic"].map(|part| folder.join(part));
    for folder in [&fixed, &dynamic] {
        fs::create_dir_all(folder).expect("a folder is made");
    }
    let file = |folder: &Path, table: &str, header: &str, rows: Vec<String>| {
        let made = File::create(folder.join(format!("{table}_0_0.csv.gz"))).expect("a file is made");
        let mut packed = GzEncoder::new(made, Compression::fast());
        writeln!(packed, "{header}\n{}", rows.join("\n")).expect("a table is written");
        packed.finish().expect("a file is whole");
    };
    // Countries and classes with names that the part network asks for.
    let names = ["China", "India", "Country2", "Country3"];
    let countries = names.iter().enumerate().map(|(id, name)| format!("{id}|{name}|u|country|"));
    let cities = (4..8).map(|id| format!("{id}|City{id}|u|city|{}", id - 4));
    file(&fixed, "place", "id|name|url|type|isPartOf", countries.chain(cities).collect());
    let rows = (0..6).map(|id| format!("{id}|Tag{id}|u|{}", id % 2)).collect();
    file(&fixed, "tag", "id|name|url|hasType", rows);
    let rows = vec!["0|Album|u|".to_owned(), "1|MusicalArtist|u|0".to_owned()];
    file(&fixed, "tagclass", "id|name|url|isSubclassOf", rows);
    let rows = (0..4).map(|id| format!("{id}|company|Company{id}|u|{id}")).collect();
    file(&fixed, "organisation", "id|type|name|url|place", rows);

    let persons = || 0..PERSONS;
    let pairs = |of: fn(i64) -> Vec<i64>| {
        persons().flat_map(move |id| of(id).into_iter().map(move |other| (id, other))).collect::<Vec<_>>()
    };
    let row = |id: i64| {
        let birthday = format!("1985-{:02}-22", 1 + id % 12);
        format!(
            "{id}|Name{}|Last{}|female|{birthday}|{}|1.2.3.4|Browser|{}",
            id % 3,
            id % 5,
            moment(id),
            4 + id % 4
        )
    };
    let header = "id|firstName|lastName|gender|birthday|creationDate|locationIP|browserUsed|place";
    file(&dynamic, "person", header, persons().map(row).collect());
    let rows = persons().map(|id| format!("{id}|{id}@x")).collect();
    file(&dynamic, "person_email_emailaddress", "Person.id|email", rows);
    let rows = persons().map(|id| format!("{id}|en")).collect();
    file(&dynamic, "person_speaks_language", "Person.id|language", rows);
    let plain = |(one, other): &(i64, i64)| format!("{one}|{other}");
    let dated = |(one, other): &(i64, i64)| format!("{one}|{other}|{}", moment((one + other) % 90));
    let knows = pairs(|id| [1, 3, 10].map(|further| (id + further) % PERSONS).to_vec());
    let knows: Vec<(i64, i64)> =
        knows.iter().map(|(one, other)| (*one.min(other), *one.max(other))).collect();
    let header = "Person.id|Person.id|creationDate";
    file(&dynamic, "person_knows_person", header, knows.iter().map(dated).collect());
    let interests = pairs(|id| vec![id % 6, (id + 2) % 6]);
    file(&dynamic, "person_hasInterest_tag", "Person.id|Tag.id", interests.iter().map(plain).collect());
    let likes = pairs(|id| vec![POSTS + id * 7 % 80, POSTS + (id * 11 + 3) % 80]);
    file(&dynamic, "person_likes_post", "Person.id|Post.id|creationDate", likes.iter().map(dated).collect());
    let likes = pairs(|id| vec![COMMENTS + id * 5 % 80]);
    let header = "Person.id|Comment.id|creationDate";
    file(&dynamic, "person_likes_comment", header, likes.iter().map(dated).collect());
    let rows = persons().map(|id| format!("{id}|{}|{}", id % 4, 1990 + id % 9)).collect();
    file(&dynamic, "person_studyAt_organisation", "Person.id|Organisation.id|classYear", rows);
    let rows = persons().map(|id| format!("{id}|{}|{}", (id + 1) % 4, 2000 + id % 9)).collect();
    file(&dynamic, "person_workAt_organisation", "Person.id|Organisation.id|workFrom", rows);

    let rows = persons().map(|id| format!("{}|Wall of {id}|{}|{id}", FORUMS + id, moment(0))).collect();
    file(&dynamic, "forum", "id|title|creationDate|moderator", rows);
    let members = pairs(|id| (1..6).map(|further| (id + further) % PERSONS).collect());
    let row = |(forum, person): &(i64, i64)| {
        format!("{}|{person}|{}", FORUMS + forum, moment((forum * 3 + person) * 4 % DAYS))
    };
    file(
        &dynamic,
        "forum_hasMember_person",
        "Forum.id|Person.id|joinDate",
        members.iter().map(row).collect(),
    );
    let rows = persons().map(|id| format!("{}|{}", FORUMS + id, id % 6)).collect();
    file(&dynamic, "forum_hasTag_tag", "Forum.id|Tag.id", rows);

    let messages = || 0..2 * PERSONS;
    let row = |number: i64| {
        let person = number / 2;
        let (image, content) = if number % 5 == 0 { ("photo.jpg", "") } else { ("", "says 'this'") };
        let (forum, place) = (FORUMS + (person + PERSONS - 1) % PERSONS, (person + number % 2) % 4);
        let created = spread(number);
        format!(
            "{}|{image}|{created}|1.2.3.4|Browser|en|{content}|4|{person}|{forum}|{place}",
            POSTS + number
        )
    };
    let header =
        "id|imageFile|creationDate|locationIP|browserUsed|language|content|length|creator|Forum.id|place";
    file(&dynamic, "post", header, messages().map(row).collect());
    let tags = messages().filter(|number| number % 3 > 0);
    let rows =
        tags.flat_map(|number| [number, number + 1].map(|tag| format!("{}|{}", POSTS + number, tag % 6)));
    file(&dynamic, "post_hasTag_tag", "Post.id|Tag.id", rows.collect());
    let row = |number: i64| {
        let person = (number * 3 + 1) % PERSONS;
        let parent = if number < PERSONS {
            format!("{}|", POSTS + number / 2 * 2)
        } else {
            format!("|{}", COMMENTS + number - PERSONS)
        };
        let created = spread(number + 10);
        format!(
            "{}|{created}|1.2.3.4|Browser|yes|3|{person}|{}|{parent}",
            COMMENTS + number,
            (person + number) % 4
        )
    };
    let header =
        "id|creationDate|locationIP|browserUsed|content|length|creator|place|replyOfPost|replyOfComment";
    file(&dynamic, "comment", header, messages().map(row).collect());
    let rows = messages().map(|number| format!("{}|{}", COMMENTS + number, number % 6)).collect();
    file(&dynamic, "comment_hasTag_tag", "Comment.id|Tag.id", rows);
}
