//! Neptune: the headers of Amazon Neptune's files for Gremlin, as Neo4j's conventions have them.
//!
//! ```text
//! ~id,~label,name:String(single),tags:String[]      id:ID,:LABEL,name:string,tags:string[]
//! ~id,~from,~to,~label,dist:Int                     :IGNORE,:START_ID,:END_ID,:TYPE,dist:int
//! ```
//!
//! Ids are texts, and unique among all vertices. Cardinalities in brackets are left out: a column without
//! `[]` has one value a row. Its files for openCypher have Neo4j's conventions themselves.
//!
//! Source: Amazon Neptune User Guide, "Gremlin load data format".

use crate::import::csv::quoted_name;

/// The words of `header` in Neo4j's conventions; `None` if it is no header of Neptune's. The ids of vertices
/// become property `vertex_id`, without one `id`, or `_id` if that is taken; those of edges `edge_id`, or none.
///
/// # Errors
/// What is wrong with a column.
pub fn header_words(
    header: &[String],
    vertex_id: Option<&str>,
    edge_id: Option<&str>,
) -> Option<Result<Vec<String>, String>> {
    let words: Vec<&str> = header.iter().map(|word| word.trim()).collect();
    let has = |wanted: &str| words.iter().any(|word| system_name(word) == Some(wanted));
    if !has("id") && !has("from") {
        return None;
    }
    let is_edges = has("from") || has("to");
    let has_property_id = words.iter().any(|word| property_name(word).0 == "id");
    let vertex_id = vertex_id.unwrap_or(if has_property_id { "_id" } else { "id" });
    let word = |word: &&str| match system_name(word) {
        Some("id") if is_edges => {
            Ok(edge_id.map_or(":IGNORE".to_owned(), |key| quoted_name::write(key).into()))
        }
        Some("id") => Ok(format!("{}:ID", quoted_name::write(vertex_id))),
        Some("label") => Ok(if is_edges { ":TYPE".to_owned() } else { ":LABEL".to_owned() }),
        Some("from") => Ok(":START_ID".to_owned()),
        Some("to") => Ok(":END_ID".to_owned()),
        Some(other) => Err(format!("column ~{other}: Neptune's are ~id, ~label, ~from and ~to")),
        None => property(word),
    };
    Some(words.iter().map(word).collect())
}

/// Whether edges of `header` have ids, which are left out unless a property is named to keep them.
#[must_use]
pub fn has_edge_ids(header: &[String]) -> bool {
    let has = |wanted: &str| header.iter().any(|word| system_name(word.trim()) == Some(wanted));
    has("id") && has("from")
}

/// What stands behind `~`, in small letters as Neptune has it.
fn system_name(word: &str) -> Option<&str> {
    let name = word.strip_prefix('~')?;
    let name = name.split_once(':').map_or(name, |(name, _)| name);
    let known = ["id", "label", "from", "to"].into_iter().find(|known| name.eq_ignore_ascii_case(known));
    Some(known.unwrap_or(name))
}

/// Name and type of the column of a property.
fn property_name(word: &str) -> (&str, &str) {
    word.rsplit_once(':').unwrap_or((word, "string"))
}

/// `name:String[](set)` as `name:string[]`.
fn property(word: &str) -> Result<String, String> {
    let (name, kind) = property_name(word);
    let name = quoted_name::write(name);
    let (kind, cardinality) = match kind.split_once('(') {
        Some((kind, cardinality)) => (kind.trim(), cardinality.trim().strip_suffix(')')),
        None => (kind.trim(), Some("single")),
    };
    if !cardinality
        .is_some_and(|found| ["single", "set"].iter().any(|known| found.eq_ignore_ascii_case(known)))
    {
        return Err(format!("{word}: a cardinality is (single) or (set)"));
    }
    let is_array = kind.ends_with("[]");
    let element = kind.trim_end_matches("[]").to_ascii_lowercase();
    let element = match element.as_str() {
        "" | "string" => "string",
        "bool" | "boolean" => "bool",
        "byte" => "byte",
        "short" => "short",
        "int" | "integer" => "int",
        "long" => "long",
        "float" => "float",
        "double" => "double",
        // It has a time of day.
        "date" | "datetime" => "datetime",
        _ => {
            return Err(format!(
                "{word}: type {element} is none of Neptune's, which are Bool, Byte, Short, Int, Long, Float, Double, \
                 String and Date"
            ));
        }
    };
    Ok(format!("{name}:{element}{}", if is_array { "[]" } else { "" }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(header: &str) -> Option<Result<String, String>> {
        let header: Vec<String> = header.split(',').map(ToOwned::to_owned).collect();
        header_words(&header, None, None).map(|words| words.map(|words| words.join(",")))
    }

    #[test]
    fn headers_of_neptune_are_put_into_our_words() {
        for (header, expected) in [
            ("~id,~label,id:Int", "_id:ID,:LABEL,id:int"),
            (
                "~id,~label,name:String[],age:Int(single),lat:Double,seen:Date,note",
                "id:ID,:LABEL,name:string[],age:int,lat:double,seen:datetime,note:string",
            ),
            ("~id,~from,~to,~label,dist:Int", ":IGNORE,:START_ID,:END_ID,:TYPE,dist:int"),
            ("~from, ~to,tags:String[](set)", ":START_ID,:END_ID,tags:string[]"),
        ] {
            assert_eq!(words(header), Some(Ok(expected.to_owned())));
        }
        assert_eq!(words("id,name"), None);
        assert!(words("~id,x:Point").unwrap().unwrap_err().contains("type point is none of Neptune's"));
        assert!(words("~id,~nabel").unwrap().is_err() && words("~id,a:Int(list)").unwrap().is_err());
        let kept: Vec<String> = ["~id", "~from", "~to"].map(ToOwned::to_owned).into();
        let kept = header_words(&kept, None, Some("edge")).unwrap().unwrap();
        assert_eq!(kept, ["edge", ":START_ID", ":END_ID"]);
    }
}
