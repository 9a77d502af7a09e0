//! Section: the kind of section that a line beginning with `*` starts in a Pajek file.
//!
//! ```text
//! *Network name             *Arcs :1 "knows"       edges with a direction, of the relation 1
//! *Vertices 10 4            *Edges                 edges without one
//! *Partition, *Vector ...   *Arcslist *Edgeslist   a source and its targets a line
//!                           *Matrix                a number for each pair of vertices
//! ```

use crate::pajek::fields::fields;

/// What the lines behind it hold.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Section {
    /// Vertices: how many there are, and how many of them are of the first kind, if there are two kinds.
    Vertices {
        /// All of them.
        count: u64,
        /// Those of the first kind.
        first_kind: Option<u64>,
    },
    /// Edges, a line each.
    Edges {
        /// Whether they have a direction.
        is_directed: bool,
        /// The relation that they are of.
        relation: Option<Relation>,
    },
    /// Edges, a line for all of one source.
    Lists {
        /// Whether they have a direction.
        is_directed: bool,
        /// The relation that they are of.
        relation: Option<Relation>,
    },
    /// A matrix of weights.
    Matrix,
    /// The name of a network.
    Network,
    /// Something else, which may have a count of vertices of its own.
    Other,
}

/// A relation, which is an edge type.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Relation {
    /// Its number.
    pub number: String,
    /// Its name, if it has one.
    pub name: Option<String>,
}

/// The section that `line` announces; it begins with `*`.
///
/// # Errors
/// A text for people, if a count of vertices is missing or none.
pub fn read_section(line: &str) -> Result<Section, String> {
    let mut words = fields(line);
    let name = words.next().map(|word| word.text.to_ascii_lowercase()).unwrap_or_default();
    match name.as_str() {
        "*network" => Ok(Section::Network),
        "*vertices" => {
            let mut count = |what: &str| match words.next() {
                None => Ok(None),
                Some(word) => {
                    let number = word.text.parse::<u64>().ok().filter(|count| *count <= u64::from(u32::MAX));
                    number.map(Some).ok_or_else(|| {
                        format!("{what}: expected a number up to {}, found {:?}", u32::MAX, word.text)
                    })
                }
            };
            let all = count("the count of vertices")?;
            let all = all.ok_or("the count of vertices is missing behind *Vertices")?;
            // More than all, and there is none of the second kind.
            let first_kind = count("the count of vertices of the first kind")?.filter(|first| *first < all);
            Ok(Section::Vertices { count: all, first_kind })
        }
        "*arcs" | "*edges" => Ok(Section::Edges {
            is_directed: name == "*arcs",
            relation: relation(words.map(|word| word.text)),
        }),
        "*arcslist" | "*edgeslist" => {
            let relation = relation(words.map(|word| word.text));
            Ok(Section::Lists { is_directed: name == "*arcslist", relation })
        }
        "*matrix" => Ok(Section::Matrix),
        _ => Ok(Section::Other),
    }
}

fn relation<'a>(mut words: impl Iterator<Item = &'a str>) -> Option<Relation> {
    // A count may stand there as well, without a colon.
    let number = words.find_map(|word| word.strip_prefix(':'))?.to_owned();
    Some(Relation { number, name: words.next().filter(|name| !name.is_empty()).map(ToOwned::to_owned) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_are_known_in_any_case() {
        let edges = |is_directed, relation| Ok(Section::Edges { is_directed, relation });
        assert_eq!(read_section("*VERTICES 5"), Ok(Section::Vertices { count: 5, first_kind: None }));
        assert_eq!(read_section("*Vertices 5 2"), Ok(Section::Vertices { count: 5, first_kind: Some(2) }));
        assert_eq!(read_section("*arcs 9"), edges(true, None));
        let knows = Relation { number: "1".to_owned(), name: Some("knows it".to_owned()) };
        assert_eq!(read_section("*Edges :1 \"knows it\""), edges(false, Some(knows)));
        let lists = Section::Lists { is_directed: true, relation: None };
        assert_eq!(read_section("*Arcslist"), Ok(lists));
        assert_eq!(read_section("*Matrix"), Ok(Section::Matrix));
        assert_eq!(read_section("*Partition degrees"), Ok(Section::Other));
        assert!(read_section("*Vertices").unwrap_err().contains("missing"));
        assert!(read_section("*Vertices x").unwrap_err().contains("found \"x\""));
        assert!(read_section("*Vertices 9999999999").is_err());
    }
}
