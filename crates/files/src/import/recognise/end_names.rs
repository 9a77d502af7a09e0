//! End names: the two columns of a header that name the ends of edges.
//!
//! ```text
//! source        target              two names that differ in one word, and that word is one of a pair:
//! FromNodeId    ToNodeId            from | to        node id
//! nameOrig      nameDest            orig | dest      name
//! txId1         txId2               1    | 2         tx id
//! ```
//!
//! Some pairs are clear: nobody calls anything else `source` and `target`. Others also count or measure
//! things (`phone1`, `phone2`; `start`, `end`): they mean edges if a word beside them says that they are
//! ids, or if they are the first two columns of a file without ids of its own.

use crate::import::recognise::sample::ColumnSample;
use std::cmp::Reverse;

/// How sure it is that two columns are the ends of edges; the surest is the greatest.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Rank {
    /// The first columns, called by words that mean other things as well: `hero1`, `hero2`.
    Weak,
    /// Such words beside one that says they are ids: `id_1`, `id_2`.
    Likely,
    /// Words that mean nothing else.
    Clear,
}

/// Two columns whose names say that edges begin and end there.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NamedEnds {
    /// The columns of sources and targets.
    pub columns: [usize; 2],
    /// How sure it is.
    pub rank: Rank,
    /// What both are ids of, as far as the names say: `airport` of `source_airport_id`.
    pub subject: Option<String>,
    /// Two more columns, which name the label of each end: `start_vertex_type`, `end_vertex_type`.
    pub label_columns: Option<[usize; 2]>,
}

/// Words that begin and end edges, and mean little else.
const CLEAR: [(&str, &str); 39] = [
    ("source", "target"),
    ("source", "destination"),
    ("source", "dest"),
    ("source", "sink"),
    ("src", "dst"),
    ("src", "dest"),
    ("src", "tgt"),
    ("src", "trg"),
    ("src", "target"),
    ("src", "destination"),
    ("from", "to"),
    ("origin", "destination"),
    ("origin", "dest"),
    ("orig", "dest"),
    ("orig", "dst"),
    ("subject", "object"),
    ("subj", "obj"),
    ("query", "subject"),
    ("sender", "receiver"),
    ("sender", "recipient"),
    ("follower", "followee"),
    ("follower", "followed"),
    ("follower", "following"),
    ("citing", "cited"),
    ("caller", "callee"),
    ("parent", "child"),
    ("payer", "payee"),
    ("rater", "ratee"),
    ("trustor", "trustee"),
    ("truster", "trustee"),
    ("buyer", "seller"),
    ("donor", "recipient"),
    ("lender", "borrower"),
    ("predecessor", "successor"),
    ("importer", "imported"),
    ("package", "dependency"),
    ("dependent", "dependency"),
    ("name", "dependency"),
    ("startnode", "endnode"),
];

/// Words that begin and end edges, and other things as well.
const LIKELY: [(&str, &str); 20] = [
    ("start", "end"),
    ("head", "tail"),
    ("begin", "end"),
    ("left", "right"),
    ("out", "in"),
    ("u", "v"),
    ("a", "b"),
    ("i", "j"),
    ("x", "y"),
    ("row", "col"),
    ("row", "column"),
    ("s", "t"),
    ("s", "o"),
    ("user", "friend"),
    ("user", "contact"),
    ("user", "follower"),
    ("person", "friend"),
    ("h", "t"),
    ("1", "2"),
    ("0", "1"),
];

/// Pairs of [`LIKELY`] that are coordinates or counts where they stand alone, and no ends.
const NEVER_ALONE: [&str; 3] = ["x", "1", "0"];

/// Words that say that a column has ids of something.
const IDENTIFYING: [&str; 21] = [
    "id",
    "ids",
    "node",
    "nodeid",
    "vertex",
    "user",
    "uid",
    "userid",
    "person",
    "account",
    "entity",
    "protein",
    "gene",
    "author",
    "paper",
    "page",
    "station",
    "interactor",
    "actor",
    "key",
    "index",
];

/// Words of columns that count or measure something of ends, and aren't them.
const MEASURES: [&str; 20] = [
    "nodes",
    "count",
    "counts",
    "number",
    "num",
    "total",
    "degree",
    "size",
    "balance",
    "amount",
    "port",
    "bytes",
    "packets",
    "date",
    "time",
    "lat",
    "lon",
    "latitude",
    "longitude",
    "share",
];

/// Words of columns that name the label of an end.
const LABEL_WORDS: [&str; 4] = ["type", "label", "labels", "class"];

/// Where names that mean other things as well may stand.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Scope {
    /// Before all other columns: there they are ends.
    First,
    /// Anywhere: there they may be ends.
    Anywhere,
}

/// The ends that the `names` of columns show; `None` if they show none. `columns` has what the columns look
/// like: edges end neither at fractions nor at dates.
///
/// Cost: a look at each column, and at each pair of one with a word that begins edges and one with a word that ends
/// them.
#[must_use]
pub fn find(names: &[&str], columns: &[ColumnSample], scope: Scope) -> Option<NamedEnds> {
    let words: Vec<Vec<String>> = names.iter().map(|name| words_of(name)).collect();
    let candidates = |side: fn(&(&'static str, &'static str)) -> &'static str| -> Vec<usize> {
        (0..names.len()).filter(|at| columns[*at].may_be_id() && may_be_end(&words[*at], side)).collect()
    };
    let (sources, targets) = (candidates(|pair| pair.0), candidates(|pair| pair.1));
    let mut found: Option<(NamedEnds, usize)> = None;
    for source in sources {
        for target in targets.iter().copied().filter(|target| *target != source) {
            let Some((ends, position)) = pair(&words, [source, target], scope) else { continue };
            // The surest, of these the shortest, of these the first.
            let is_better = found.as_ref().is_none_or(|(best, _)| {
                let sureness = |ends: &NamedEnds| (ends.rank, Reverse(words[ends.columns[0]].len()));
                sureness(&ends) > sureness(best)
            });
            if is_better {
                found = Some((ends, position));
            }
        }
    }
    let (mut ends, position) = found?;
    ends.label_columns = label_columns(&words, ends.columns, position);
    Some(ends)
}

/// Whether one of `words` is, or holds, a word that stands on this side of a pair.
fn may_be_end(words: &[String], side: fn(&(&'static str, &'static str)) -> &'static str) -> bool {
    let is_part = |word: &String, end: &str| word.starts_with(end) || word.ends_with(end);
    words.iter().any(|word| {
        CLEAR.iter().any(|pair| is_part(word, side(pair))) || LIKELY.iter().any(|pair| word == side(pair))
    })
}

/// What `columns` are as ends, and the word in which they differ.
fn pair(words: &[Vec<String>], columns: [usize; 2], scope: Scope) -> Option<(NamedEnds, usize)> {
    let [source, target] = columns.map(|column| &words[column]);
    let position = difference(source, target)?;
    let (word, other) = (source[position].as_str(), target[position].as_str());
    let rest: Vec<&str> = words_but(source, position);
    if rest.iter().any(|word| LABEL_WORDS.contains(word) || MEASURES.contains(word)) {
        return None;
    }
    let is_id = rest.iter().any(|word| IDENTIFYING.contains(word));
    let is_first = columns == [0, 1] || columns == [0, 2];
    let is_in_scope = is_first || scope == Scope::Anywhere;
    let rank = match () {
        () if is_one_of(&CLEAR, word, other) || is_glued(word, other) => Rank::Clear,
        () if !is_one_of(&LIKELY, word, other) => return None,
        () if is_id => Rank::Likely,
        () if !is_in_scope || (rest.is_empty() && NEVER_ALONE.contains(&word)) => return None,
        () => Rank::Weak,
    };
    let subject: Vec<&str> = rest.into_iter().filter(|word| !IDENTIFYING[..5].contains(word)).collect();
    let subject = (!subject.is_empty()).then(|| subject.join("_"));
    Some((NamedEnds { columns, rank, subject, label_columns: None }, position))
}

/// The only place where `one` and `other` differ.
fn difference(one: &[String], other: &[String]) -> Option<usize> {
    if one.len() != other.len() {
        return None;
    }
    let mut different = (0..one.len()).filter(|at| one[*at] != other[*at]);
    let at = different.next()?;
    different.next().is_none().then_some(at)
}

fn words_but(words: &[String], position: usize) -> Vec<&str> {
    words.iter().enumerate().filter(|(at, _)| *at != position).map(|(_, word)| word.as_str()).collect()
}

fn is_one_of<'a>(pairs: &[(&'a str, &'a str)], source: &'a str, target: &'a str) -> bool {
    pairs.contains(&(source, target))
}

/// Whether the words are a clear pair with one more word before or behind: `fromnode`, `tonode`.
fn is_glued(source: &str, target: &str) -> bool {
    CLEAR.iter().any(|(one, other)| {
        let before = source.strip_prefix(one).zip(target.strip_prefix(other));
        let behind = source.strip_suffix(one).zip(target.strip_suffix(other));
        before.or(behind).is_some_and(|(one, other)| one == other && one.len() >= 2)
    })
}

/// Columns that name the label of each of two ends, whose names differ in the word at `position`.
fn label_columns(words: &[Vec<String>], ends: [usize; 2], position: usize) -> Option<[usize; 2]> {
    let [source, target] = ends.map(|column| words[column][position].as_str());
    let find = |end: &str, other: usize| {
        words.iter().enumerate().position(|(at, words)| {
            let names_label = words.iter().any(|word| LABEL_WORDS.contains(&word.as_str()));
            at != other && words.len() > 1 && names_label && words.iter().any(|word| word == end)
        })
    };
    Some([find(source, ends[0])?, find(target, ends[1])?])
}

/// The words of a column's name, in small letters: `from node id` of `FromNodeId`.
#[must_use]
pub fn words_of(name: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut last: Option<char> = None;
    let letters: Vec<char> = name.chars().collect();
    for (at, letter) in letters.iter().copied().enumerate() {
        if !letter.is_alphanumeric() {
            last = None;
            continue;
        }
        let begins = last.is_none_or(|last| {
            let next_is_small = letters.get(at + 1).is_some_and(|next| next.is_lowercase());
            (letter.is_uppercase() && (last.is_lowercase() || (last.is_uppercase() && next_is_small)))
                || letter.is_numeric() != last.is_numeric()
        });
        if begins {
            words.push(String::new());
        }
        words.last_mut().expect("the first letter begins a word").extend(letter.to_lowercase());
        last = Some(letter);
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use evergraph_graph::value::ValueType;

    fn ends(header: &str) -> Option<(usize, usize, Rank)> {
        let names: Vec<&str> = header.split(',').collect();
        let sample = ColumnSample::of_type(Some(ValueType::I64));
        let found = find(&names, &vec![sample; names.len()], Scope::First)?;
        Some((found.columns[0], found.columns[1], found.rank))
    }

    #[test]
    fn names_are_cut_into_words() {
        for (name, words) in [
            ("FromNodeId", "from node id"),
            ("txId1", "tx id 1"),
            (" source airport id", "source airport id"),
            ("SOURCE_SUBREDDIT", "source subreddit"),
            ("nameOrig", "name orig"),
            ("~from", "from"),
            ("IDFrom", "id from"),
            ("#node1", "node 1"),
        ] {
            assert_eq!(words_of(name).join(" "), words);
        }
    }

    #[test]
    fn pairs_of_names_are_ends_as_sure_as_their_words_are() {
        for (header, expected) in [
            ("source,target,weight", Some((0, 1, Rank::Clear))),
            ("Source,Target,Type,Id,Label,Weight", Some((0, 1, Rank::Clear))),
            ("src_id|dst_id".replace('|', ",").as_str(), Some((0, 1, Rank::Clear))),
            ("FromNodeId,ToNodeId", Some((0, 1, Rank::Clear))),
            ("fromnode,tonode", Some((0, 1, Rank::Clear))),
            ("step,type,nameOrig,oldbalanceOrg,nameDest,newbalanceDest", Some((2, 4, Rank::Clear))),
            ("SOURCE_SUBREDDIT,TARGET_SUBREDDIT,POST_ID", Some((0, 1, Rank::Clear))),
            (
                "airline ID,source airport,source airport id,destination apirport,destination airport id",
                Some((2, 4, Rank::Clear)),
            ),
            ("ORIGIN_AIRPORT_ID,ORIGIN,DEST_AIRPORT_ID,DEST", Some((1, 3, Rank::Clear))),
            ("edge_id,from_id,to_id", Some((1, 2, Rank::Clear))),
            ("subject,predicate,object", Some((0, 2, Rank::Clear))),
            ("id_1,id_2", Some((0, 1, Rank::Likely))),
            ("txId1,txId2", Some((0, 1, Rank::Likely))),
            ("creationDate,Person1Id,Person2Id", Some((1, 2, Rank::Likely))),
            ("node_id_start,node_id_end,rel_type", Some((0, 1, Rank::Likely))),
            ("start_id,start_vertex_type,end_id,end_vertex_type", Some((0, 2, Rank::Likely))),
            ("hero1,hero2", Some((0, 1, Rank::Weak))),
            ("x1,x2", Some((0, 1, Rank::Weak))),
            ("u,v", Some((0, 1, Rank::Weak))),
            ("head,relation,tail", Some((0, 2, Rank::Weak))),
            ("start,end", Some((0, 1, Rank::Weak))),
            ("name,phone1,phone2", None),
            ("x,y", None),
            ("metaedge,source_nodes,target_nodes", None),
            ("userID,friendID", Some((0, 1, Rank::Likely))),
            ("chr,start,end", None),
            ("to", None),
            ("id,name", None),
        ] {
            assert_eq!(ends(header), expected, "{header}");
        }
    }

    #[test]
    fn fractions_and_dates_are_no_ends_and_labels_of_ends_are_told() {
        let columns = [ValueType::Date, ValueType::Date].map(|of| ColumnSample::of_type(Some(of)));
        assert_eq!(find(&["from", "to"], &columns, Scope::First), None);
        let long = ColumnSample::of_type(Some(ValueType::I64));
        let names = ["start_id", "start_vertex_type", "end_id", "end_vertex_type"];
        let found = find(&names, &vec![long.clone(); 4], Scope::First).unwrap();
        assert_eq!(found.label_columns, Some([1, 3]));
        let found =
            find(&["source_airport_id", "target_airport_id"], &vec![long.clone(); 2], Scope::First).unwrap();
        assert_eq!((found.subject.as_deref(), found.label_columns), (Some("airport"), None));
        let found = find(&["id", "team1", "team2"], &vec![long; 3], Scope::Anywhere).unwrap();
        assert_eq!((found.columns, found.rank), ([1, 2], Rank::Weak));
    }
}
