//! Notes: unknown names that a query reads, each with the name that was probably meant.
//!
//! ```text
//! line 1, column 16: no label is called `Acount`; did you mean `Account`?
//! ```
//!
//! A query that names what isn't there is no error, as in TinkerPop: it gives nothing, and gives something once the name is
//! there. A note tells that apart from a misspelling; a query that is strict ends with it.

use crate::error::{TextError, quoted};
use crate::gremlin::mention::{Mention, Mentions};
use crate::gremlin::name::NameKind;
use evergraph_graph::catalogue::Catalogue;
use evergraph_graph::nearest::nearest;

/// More notes than these are only counted.
const NOTES_MAX: usize = 8;

/// So many names of the graph stand in a note, if none of them is near.
const NAMES_MAX: usize = 8;

/// What is to be said of the names in `mentions` that `catalogue` doesn't have, in the order of the query.
///
/// Each comes as the error that it is in a query that is strict. Of an empty graph there is one at most.
///
/// Cost: a look-up for each name; for each that isn't there a look at all that are.
#[must_use]
pub fn notes(mentions: &Mentions<'_>, catalogue: &Catalogue) -> Vec<TextError> {
    if mentions.writes_any {
        return Vec::new();
    }
    let mut unknown: Vec<&Mention<'_>> = Vec::new();
    for mention in &mentions.read {
        let is_new = !unknown.iter().any(|other| (other.kind, other.name) == (mention.kind, mention.name));
        if !is_known(mention, catalogue) && is_new && !mentions.written.contains(&mention.name) {
            unknown.push(mention);
        }
    }
    let Some(first) = unknown.first() else { return Vec::new() };
    if catalogue.names_count() == 0 {
        let message = format!("no {} is called {}: the graph is empty", noun(first.kind), quoted(first.name));
        return vec![TextError::invalid(first.span, message)];
    }
    let mut notes: Vec<TextError> =
        unknown.iter().take(NOTES_MAX).map(|mention| note(mention, catalogue)).collect();
    if unknown.len() > NOTES_MAX
        && let Some(last) = notes.last_mut()
    {
        last.message += &format!("; and {} more names aren't there", unknown.len() - NOTES_MAX);
    }
    notes
}

fn is_known(mention: &Mention<'_>, catalogue: &Catalogue) -> bool {
    let name = mention.name;
    let (is_label, is_type) = (|| catalogue.label(name).is_some(), || catalogue.edge_type(name).is_some());
    let is_property = || catalogue.key(name).is_some();
    match mention.kind {
        NameKind::Label => is_label(),
        NameKind::EdgeType => is_type(),
        NameKind::AnyLabel => is_label() || is_type(),
        NameKind::Property => is_property(),
        NameKind::Any => is_label() || is_type() || is_property(),
    }
}

fn noun(kind: NameKind) -> &'static str {
    match kind {
        NameKind::Label | NameKind::AnyLabel | NameKind::Any => "label",
        NameKind::EdgeType => "edge type",
        NameKind::Property => "property",
    }
}

/// What is said of a name that isn't there.
fn note(mention: &Mention<'_>, catalogue: &Catalogue) -> TextError {
    let (kind, name) = (mention.kind, mention.name);
    let labels = || catalogue.labels().map(|(_, name)| &**name);
    let types = || catalogue.edge_types().map(|(_, edge_type)| &*edge_type.name);
    let keys = || catalogue.keys().map(|(_, name)| &**name);
    let known: Vec<&str> = match kind {
        NameKind::Label => labels().collect(),
        NameKind::EdgeType => types().collect(),
        NameKind::AnyLabel | NameKind::Any => labels().chain(types()).collect(),
        NameKind::Property => keys().collect(),
    };
    let instead = match kind {
        NameKind::Label if catalogue.edge_type(name).is_some() => ", which is an edge type".to_owned(),
        NameKind::EdgeType if catalogue.label(name).is_some() => ", which is a label of vertices".to_owned(),
        _ => match nearest(name, known.iter().copied()) {
            Some(near) => format!("; did you mean {}?", quoted(near)),
            None => listed(kind, &known),
        },
    };
    let message = format!("no {} is called {}{instead}", noun(kind), quoted(name));
    TextError::invalid(mention.span, message)
}

/// The names that there are, if they are few.
fn listed(kind: NameKind, known: &[&str]) -> String {
    let noun = match noun(kind) {
        "property" => "properties".to_owned(),
        noun => format!("{noun}s"),
    };
    let names: Vec<String> = known.iter().take(NAMES_MAX).map(|name| quoted(name)).collect();
    match known.len() {
        0 => format!("; the graph has no {noun}"),
        1..=NAMES_MAX => format!("; the graph has {}", names.join(", ")),
        count => format!("; the graph has {count} {noun}, as {}", names[0]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gremlin::bindings::Bindings;
    use crate::gremlin::parser::ParseLimits;
    use crate::gremlin::read::read;
    use evergraph_graph::id::{KeyId, LabelId, TypeId};
    use evergraph_graph::schema_change::SchemaChange;

    fn catalogue() -> Catalogue {
        let mut catalogue = Catalogue::default();
        for (id, name) in ["Account", "Person"].into_iter().enumerate() {
            catalogue.apply(&SchemaChange::AddLabel { id: LabelId(id as _), name: name.into() });
        }
        for (id, name) in ["KNOWS", "OWNS"].into_iter().enumerate() {
            catalogue.apply(&SchemaChange::AddEdgeType {
                id: TypeId(id as _),
                name: name.into(),
                simple: false,
            });
        }
        for (id, name) in ["name", "born"].into_iter().enumerate() {
            catalogue.apply(&SchemaChange::AddKey { id: KeyId(id as _), name: name.into() });
        }
        catalogue
    }

    fn told(text: &str, catalogue: &Catalogue) -> Vec<String> {
        let query = read(text, &ParseLimits::default(), &Bindings::new()).expect(text);
        let notes = notes(&Mentions::of(&query), catalogue);
        notes.into_iter().map(|note| note.within(text).to_string()).collect()
    }

    #[test]
    fn a_name_that_is_not_there_is_told_with_its_place_and_the_nearest() {
        for (text, expected) in [
            (
                "g.V().hasLabel('Acount')",
                "line 1, column 16: no label is called `Acount`; did you mean `Account`?",
            ),
            (
                "g.V()\n .out('knwos')",
                "line 2, column 7: no edge type is called `knwos`; did you mean `KNOWS`?",
            ),
            (
                "g.V().has('Person', 'naem', 'x')",
                "line 1, column 21: no property is called `naem`; did you mean `name`?",
            ),
            ("g.V().values('naem')", "line 1, column 14: no property is called `naem`; did you mean `name`?"),
            (
                "g.V().hasLabel('Car')",
                "line 1, column 16: no label is called `Car`; the graph has `Account`, `Person`",
            ),
            ("g.V().hasLabel('OWNS')", "line 1, column 16: no label is called `OWNS`, which is an edge type"),
            (
                "g.V().out('Person')",
                "line 1, column 11: no edge type is called `Person`, which is a label of vertices",
            ),
        ] {
            assert_eq!(told(text, &catalogue()), [expected], "{text}");
        }
    }

    #[test]
    fn what_is_there_or_is_written_is_not_told() {
        for text in [
            "g.V().hasLabel('Account').out('OWNS').has('name', 'x').values('born')",
            "g.addV('New').property('key', 1).V().hasLabel('New').values('key')",
            "g.V().has('New', 'key', 1).fold().coalesce(unfold(), addV('New').property('key', 1))",
            "g.mergeV([(T.label): 'New', key: 1]).V().hasLabel('New').has('key', 1)",
            "g.inject([a: 1]).mergeV().V().hasLabel('New')",
            "g.V().project('a').by('name').order().by('a')",
            "g.V().pageRank().order().by('gremlin.pageRankVertexProgram.pageRank')",
            "g.V().pageRank().with(PageRank.propertyName, 'rank').values('rank')",
            "g.V().hasLabel(neq('New'))",
        ] {
            assert_eq!(told(text, &catalogue()), Vec::<String>::new(), "{text}");
        }
    }

    #[test]
    fn each_name_is_told_once_and_many_are_counted() {
        let twice = "g.V().out('LIKES').out('LIKES').hasLabel('Car').hasLabel('Car')";
        assert_eq!(told(twice, &catalogue()).len(), 2);
        let many: String = (0..20).map(|name| format!(".out('type{name}')")).collect();
        let told = told(&format!("g.V(){many}"), &catalogue());
        assert_eq!(told.len(), NOTES_MAX);
        assert!(told[7].ends_with("; and 12 more names aren't there"), "{}", told[7]);
    }

    #[test]
    fn an_empty_graph_is_told_once() {
        let told = |text| told(text, &Catalogue::default());
        let said = ["line 1, column 16: no label is called `Person`: the graph is empty"];
        assert_eq!(told("g.V().hasLabel('Person').out('KNOWS').values('name')"), said);
        assert_eq!(told("g.V().count()"), Vec::<String>::new());
    }
}
