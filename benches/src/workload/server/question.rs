//! Questions: what is asked of servers, in Gremlin and in Cypher, and what should be found.

use crate::workload::server::people::People;
use evergraph_graph::error::{Error, Result};
use evergraph_graph::value::Value;
use evergraph_query::gremlin::bindings::Bindings;
use evergraph_query::gremlin::bytecode::Bytecode;
use evergraph_query::gremlin::parser::ParseLimits;
use evergraph_query::gremlin::read::read;

/// A kind of question.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Question {
    /// The name of the person with an id.
    ById,
    /// The name of the person with a number.
    ByIndex,
    /// Walks of two steps from a person.
    TwoHops,
    /// The numbers of so many people.
    Rows,
    /// A new edge.
    AddEdge,
}

impl Question {
    /// In Gremlin. `v` and `w` are ids, `n` is a number.
    #[must_use]
    pub const fn gremlin(self) -> &'static str {
        match self {
            Self::ById => "g.V(v).values('name')",
            Self::ByIndex => "g.V().has('Person', 'number', n).values('name')",
            Self::TwoHops => "g.V(v).out('KNOWS').out('KNOWS').count()",
            Self::Rows => "g.V().hasLabel('Person').limit(n).values('number')",
            Self::AddEdge => "g.V(v).addE('PAID').to(__.V(w)).count()",
        }
    }

    /// In Cypher, with the same variables.
    #[must_use]
    pub const fn cypher(self) -> &'static str {
        match self {
            Self::ById => "MATCH (p) WHERE elementId(p) = $v RETURN p.name",
            Self::ByIndex => "MATCH (p:Person {number: $n}) RETURN p.name",
            Self::TwoHops => {
                "MATCH (p)-[:KNOWS]->(m) WHERE elementId(p) = $v MATCH (m)-[:KNOWS]->(q) RETURN count(*)"
            }
            Self::Rows => "MATCH (p:Person) RETURN p.number LIMIT $n",
            Self::AddEdge => {
                "MATCH (p) WHERE elementId(p) = $v MATCH (q) WHERE elementId(q) = $w \
                 CREATE (p)-[:PAID]->(q) RETURN count(*)"
            }
        }
    }

    /// As drivers send it.
    ///
    /// # Errors
    /// `invalid` if it lacks a variable.
    pub fn bytecode(self, variables: &[(&str, Value)]) -> Result<Bytecode> {
        let mut bindings = Bindings::new();
        variables.iter().for_each(|(name, value)| bindings.bind(*name, value.clone()));
        let query = read(self.gremlin(), &ParseLimits::default(), &bindings)
            .map_err(|error| Error::invalid(format!("{}: {error}", self.gremlin())))?;
        Ok(Bytecode::new(Vec::new(), query.calls))
    }
}

/// A question with its variables.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Asked {
    /// What.
    pub question: Question,
    /// Of whom: the place among those asked; of [`Question::Rows`] how many.
    pub of: usize,
    /// The other end of a new edge, likewise.
    pub to: usize,
}

impl Asked {
    /// What should be found: one result, or so many of which only the number is known.
    #[must_use]
    pub fn expected(&self, people: &People) -> Expected {
        match self.question {
            Question::ById | Question::ByIndex => Expected::One(People::name(people.asked[self.of])),
            Question::TwoHops => Expected::One(people.two_hops(people.asked[self.of]).to_string()),
            Question::Rows => Expected::Distinct(self.of),
            Question::AddEdge => Expected::One("1".to_owned()),
        }
    }
}

/// What an answer should have.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Expected {
    /// One result, as text.
    One(String),
    /// So many results, no two alike.
    Distinct(usize),
}

impl Expected {
    /// Whether `results` are as they should be.
    #[must_use]
    pub fn is_met_by(&self, results: &[String]) -> bool {
        match self {
            Self::One(expected) => results == [expected.as_str()],
            Self::Distinct(count) => {
                let mut sorted: Vec<&String> = results.iter().collect();
                sorted.sort_unstable();
                sorted.dedup();
                results.len() == *count && sorted.len() == *count
            }
        }
    }
}
