//! Explain: what a query would do, and what each of its steps did.

use crate::gremlin::graph::QueryTarget;
use crate::gremlin::note::Notes;
use crate::gremlin::query::Query;
use evergraph_graph::error::Result;
use evergraph_query::explain::Explanation;

impl<G: QueryTarget> Query<'_, G> {
    /// The plan as a table, one line a step, with the indexes that it would use. Nothing runs.
    ///
    /// ```
    /// use evergraph::Database;
    ///
    /// let db = Database::in_memory()?;
    /// db.create_unique_index("person", "name")?;
    /// db.gremlin("g.addV('person').property('name', 'ann')").run()?;
    /// let text = "g.V().has('person', 'name', 'ann').out('knows').count()";
    /// let explained = db.gremlin(text).explain()?;
    /// assert_eq!(explained.lines[0].index.as_deref(), Some("person.name"));
    /// println!("{explained}");
    /// # Ok::<(), evergraph::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Query::plan`]; as [`GraphView::check_begun`](evergraph_graph::view::GraphView::check_begun).
    pub fn explain(self) -> Result<Explanation> {
        let notes = Notes::default();
        let (graph, task) = self.notes(&notes).prepare()?;
        Ok(noted(Explanation::of(&task.plan, Some(&*graph.names()?)), &notes))
    }

    /// Runs it to its end and reports what each step did: its batches, rows and traversers, and its time. A query
    /// that writes has then written. Its results are not kept.
    ///
    /// ```
    /// use evergraph::Database;
    ///
    /// let db = Database::in_memory()?;
    /// db.gremlin("g.inject(1, 2, 3).addV('person')").run()?;
    /// let profile = db.gremlin("g.V().hasLabel('person').count()").profile()?;
    /// let last = profile.lines.last().and_then(|line| line.measured).expect("a query that ran was measured");
    /// assert_eq!(last.rows, 1);
    /// println!("{profile}");
    /// # Ok::<(), evergraph::Error>(())
    /// ```
    ///
    /// Cost: two looks at the clock for each batch and step, in addition to the query. For a query on the database
    /// that was
    /// tried again after a conflict, the last attempt is reported.
    ///
    /// # Errors
    /// As [`Query::items`].
    pub fn profile(self) -> Result<Explanation> {
        let notes = Notes::default();
        let (graph, task) = self.notes(&notes).prepare()?;
        Ok(noted(graph.profile(&task)?, &notes))
    }
}

/// With what is to be said of names before what was said of the run.
fn noted(mut explanation: Explanation, notes: &Notes) -> Explanation {
    explanation.notes.splice(0..0, notes.take().iter().map(ToString::to_string));
    explanation
}
