//! Remote: a query asked of a server, and its results printed as those of a folder are.

use crate::command::query::execution::{MEMORY_BYTES, QueryOptions};
use crate::command::query::output::Output;
use crate::command::query::received_item::received;
use evergraph::Isolation;
use evergraph_client::admin::call::Admin;
use evergraph_client::client::Client;
use evergraph_client::query::Query;
use evergraph_client::results::Results;
use evergraph_client::transaction::Transaction;
use evergraph_graph::error::{Error, Result};
use evergraph_protocol::result::result_value::{BulkResult, ResultValue};
use evergraph_query::gremlin::parser::ParseLimits;
use evergraph_query::gremlin::read::read;
use evergraph_terminal::console::Console;
use evergraph_terminal::failure::Failure;
use evergraph_terminal::table::visible;
use serde::{Deserialize, Serialize, Serializer};
use std::fmt;
use std::io::Write;
use std::time::Duration;

/// How much later than a query's own time limit its plan is still awaited: the server's error says more.
const ANSWER_TIME: Duration = Duration::from_secs(5);
/// Repetitions of a result that are printed before its time and the user are asked again.
const PRINTED_AT_ONCE: u64 = 1024;

/// Who answers queries.
pub enum Remote<'c> {
    /// A server; a query that writes is committed when its results come.
    Server(&'c Client),
    /// A transaction on one.
    Transaction(&'c mut Transaction),
}

impl QueryOptions {
    /// What cannot be asked of a server.
    ///
    /// # Errors
    /// `invalid`, by the option.
    pub fn check_remote(&self) -> Result<()> {
        if self.limits.memory_bytes != MEMORY_BYTES {
            return Err(Error::invalid(
                "--memory has no effect on a server, which limits the memory of queries itself: leave it out",
            ));
        }
        Ok(())
    }

    /// Asks, and prints the results as they come. Of a text that ends in `explain()` the plan is printed.
    ///
    /// # Errors
    /// As [`Results::next_frame`]; `invalid` for a text that is no query, with the place; what printing does.
    pub fn answer_remote(
        &self,
        mut remote: Remote<'_>,
        text: &str,
        output: &mut Output<impl Write>,
    ) -> std::result::Result<(), Failure> {
        self.check_remote()?;
        let mut results = self.ask_remote(&mut remote, text)?;
        self.tell_remote(&mut results);
        if self.ends_in_explain(text) {
            return print_plan(results, &self.console);
        }
        while let Some(frame) = results.next_frame()? {
            for BulkResult { value, bulk } in frame {
                let item = received(value, &results);
                // A server may say that a result occurs any number of times.
                let printed_count = output.rows_max().saturating_sub(output.results_count()).min(bulk);
                for printed in 0..printed_count {
                    if (printed + 1).is_multiple_of(PRINTED_AT_ONCE) {
                        results.check()?;
                    }
                    output.result(item.clone()).map_err(Failure::of_output)?;
                }
                if printed_count < bulk {
                    output.leave_out(bulk - printed_count).map_err(Failure::of_output)?;
                }
            }
        }
        Ok(())
    }

    /// Prints the plan of `text`, or if `profile` runs it and prints what each step did.
    ///
    /// # Errors
    /// As [`QueryOptions::answer_remote`]; `invalid` for JSON and for a profile within a transaction.
    pub fn explain_remote(
        &self,
        mut remote: Remote<'_>,
        text: &str,
        profile: bool,
    ) -> std::result::Result<(), Failure> {
        self.check_remote()?;
        if let Remote::Server(client) = remote {
            return self.print_plan_of(&client.admin(), text, profile);
        }
        if profile {
            let text = "within a transaction a server profiles a query that ends in .profile(): write it so";
            return Err(Error::invalid(text).into());
        }
        // On a line of its own, since the text may end in a comment.
        let text = if self.ends_in_explain(text) { text.to_owned() } else { format!("{text}\n.explain()") };
        let mut results = self.ask_remote(&mut remote, &text)?;
        self.tell_remote(&mut results);
        print_plan(results, &self.console)
    }

    fn print_plan_of(&self, admin: &Admin, text: &str, profile: bool) -> std::result::Result<(), Failure> {
        let answer_time = self.limits.timeout.saturating_add(ANSWER_TIME);
        let admin = admin.clone().cancel(&self.cancel).timeout(answer_time);
        let mut query = self.query(text);
        if self.isolation != Isolation::default() {
            query = query.isolation(self.isolation);
        }
        let plan = if profile { admin.profile(&query)? } else { admin.explain(&query)? };
        self.console.result(&PlanText { text: plan.text, plan: Some(plan.plan) })
    }

    fn query(&self, text: &str) -> Query {
        let query =
            Query::text(text).bindings(self.bindings.clone()).cancel(&self.cancel).strict(self.strict);
        match self.limits.timeout {
            Duration::MAX => query,
            timeout => query.timeout(timeout),
        }
    }

    fn ask_remote<'c>(&self, remote: &'c mut Remote<'_>, text: &str) -> Result<Results<'c>> {
        let mut query = self.query(text).with_vertex_keys();
        match remote {
            Remote::Server(client) => {
                if self.isolation != Isolation::default() {
                    query = query.isolation(self.isolation);
                }
                client.query(&query)
            }
            Remote::Transaction(transaction) => transaction.query(&query),
        }
    }

    fn tell_remote(&self, results: &mut Results<'_>) {
        for warning in results.take_warnings() {
            let lines: Vec<String> = warning.lines().map(visible).collect();
            self.console.note(format_args!("note: {}", lines.join("\n")));
        }
    }

    fn ends_in_explain(&self, text: &str) -> bool {
        let query = read(text, &ParseLimits::default(), &self.bindings);
        query.is_ok_and(|query| query.calls.last().is_some_and(|call| &*call.name == "explain"))
    }
}

fn print_plan(mut results: Results<'_>, console: &Console) -> std::result::Result<(), Failure> {
    if console.is_json() {
        let text = "a server sends the plan of a query in a transaction, and of one that ends in .explain(), as text: leave out \
                    --json, or ask with --explain";
        return Err(Error::invalid(text).into());
    }
    while let Some(result) = results.next_result()? {
        let ResultValue::Value(plan) = result.value else {
            return Err(Error::invalid("the server did not send a plan as text").into());
        };
        let text = plan.to_string();
        console.result(&PlanText { plan: None, text })?;
    }
    Ok(())
}

/// A plan as a server writes it.
struct PlanText {
    text: String,
    /// `None` where only the text is known.
    plan: Option<Plan>,
}

/// The members of a plan, in the order in which that of a folder has them.
#[derive(Serialize, Deserialize)]
struct Plan {
    steps: Vec<PlanStep>,
    notes: Vec<String>,
}

#[derive(Serialize, Deserialize)]
struct PlanStep {
    depth: usize,
    step: String,
    index: Option<String>,
    batches: Option<u64>,
    rows: Option<u64>,
    traversers: Option<u64>,
    seconds: Option<f64>,
}

impl fmt::Display for PlanText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.text.lines().try_for_each(|line| writeln!(f, "{}", visible(line)))
    }
}

impl Serialize for PlanText {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        self.plan.serialize(serializer)
    }
}
