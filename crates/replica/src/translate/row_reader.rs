//! Row reader: what the cells of a row say for one rule: whether it is shown, its key, its ends, its properties.

use crate::mapping::filter::condition::{Condition, UndecidedRow};
use crate::mapping::filter::operand::UnreadableCell;
use crate::mapping::key::{KeyPlan, UnreadableKey};
use crate::mapping::plan::{EdgeIdentity, EdgePlan, PropertyPlan, TablePlan, VertexPlan};
use crate::pgoutput::tuple::Cell;
use crate::translate::loss::LossCause;
use crate::translate::pause::{Halt, Recovery};
use crate::translate::row_change::{CellChange, RowChanges, RowContent, RowKey};
use crate::translate::rules::{EDGE_END_CELLS, RulePlan};
use crate::value::unfit::UnfitValue as Unfit;
use evergraph_files::import::mapping::table::UnfitValue;

/// Reads rows of one table for one of its rules.
#[derive(Clone, Copy)]
pub(super) struct RowReader<'a> {
    pub(super) table: &'a TablePlan,
    pub(super) rule: RulePlan<'a>,
}

/// Why there is no value.
enum NoValue {
    Null,
    Unfit,
}

impl RowReader<'_> {
    fn on_unfit(&self) -> UnfitValue {
        match self.rule {
            RulePlan::Vertex(vertex) => vertex.on_unfit,
            RulePlan::Edge(edge) => edge.on_unfit,
        }
    }

    fn condition(&self) -> Option<&Condition> {
        match self.rule {
            RulePlan::Vertex(vertex) => vertex.condition.as_ref(),
            RulePlan::Edge(edge) => edge.condition.as_ref(),
        }
    }

    fn lose(&self, out: &mut RowChanges, cause: LossCause) {
        out.losses_mut().count(self.rule.place(), cause);
    }

    /// The key of a row as it was.
    pub(super) fn old_key(&self, cells: &[Cell<'_>]) -> Result<Option<RowKey>, Halt> {
        Ok(self.key(cells)?.ok())
    }

    /// The key of a row as it is; what has none is counted.
    pub(super) fn new_key(&self, cells: &[Cell<'_>], out: &mut RowChanges) -> Result<Option<RowKey>, Halt> {
        match self.key(cells)? {
            Ok(key) => Ok(Some(key)),
            Err(why) => {
                let by_ends =
                    matches!(self.rule, RulePlan::Edge(EdgePlan { identity: EdgeIdentity::Ends, .. }));
                self.lose(
                    out,
                    match why {
                        NoValue::Null => LossCause::NullEnd,
                        NoValue::Unfit if by_ends => LossCause::UnfitEnd,
                        NoValue::Unfit => LossCause::UnfitKey,
                    },
                );
                Ok(None)
            }
        }
    }

    fn key(&self, cells: &[Cell<'_>]) -> Result<Result<RowKey, NoValue>, Halt> {
        let (first, second) = match self.rule {
            RulePlan::Vertex(vertex) => (&vertex.key, None),
            RulePlan::Edge(edge) => match &edge.identity {
                EdgeIdentity::Key(key) => (key, None),
                EdgeIdentity::Ends => (&edge.start.key, Some(&edge.end.key)),
            },
        };
        let first = match first.read_plain(cells) {
            Some(first) => first,
            None => match self.read_key(first, cells)? {
                Ok(first) => first,
                Err(why) => return Ok(Err(why)),
            },
        };
        if let Some(second) = second.and_then(|second| second.read_plain(cells)) {
            return Ok(Ok(RowKey { first, second: Some(second) }));
        }
        let second = match second.map(|second| self.read_key(second, cells)).transpose()? {
            Some(Err(why)) => return Ok(Err(why)),
            second => second.and_then(Result::ok),
        };
        Ok(Ok(RowKey { first, second }))
    }

    fn read_key(
        &self,
        plan: &KeyPlan,
        cells: &[Cell<'_>],
    ) -> Result<Result<evergraph_graph::value::Value, NoValue>, Halt> {
        match plan.read(cells) {
            Ok(Some(value)) => Ok(Ok(value)),
            Ok(None) => Ok(Err(NoValue::Null)),
            Err(UnreadableKey::Unchanged { column }) => {
                Err(Halt::unsent(self.table, Some(column), "a key of the mapping"))
            }
            Err(UnreadableKey::Unfit { column, value }) => {
                self.unfit(column, &value)?;
                Ok(Err(NoValue::Unfit))
            }
        }
    }

    /// Whether the rule is for a row; what it isn't for is counted.
    pub(super) fn selects(&self, cells: &[Cell<'_>], out: &mut RowChanges) -> Result<bool, Halt> {
        let Some(condition) = self.condition() else { return Ok(true) };
        match condition.selects(cells) {
            Ok(true) => return Ok(true),
            Ok(false) => self.lose(out, LossCause::Condition),
            Err(UndecidedRow::Unchanged { column }) => {
                return Err(Halt::unsent(self.table, Some(column), "a condition (`where`)"));
            }
            Err(UndecidedRow::Unreadable { column, cause: UnreadableCell::Unfit(value) }) => {
                self.unfit(column, &value)?;
                self.lose(out, LossCause::UnfitCondition);
            }
            Err(UndecidedRow::Unreadable { column, cause: UnreadableCell::NewLabel(label) }) => {
                let cause =
                    format!("{label:?} is a label that its enum didn't have when the enums were read");
                return Err(Halt::new(self.table, Some(column), cause, "", Recovery::Restart));
            }
        }
        Ok(false)
    }

    /// Goes on if the rule says that unfit values are none.
    fn unfit(&self, column: usize, value: &Unfit) -> Result<(), Halt> {
        match self.on_unfit() {
            UnfitValue::Null => Ok(()),
            UnfitValue::Stop => {
                let remedy = "mend the value at the source, or set on-unfit = \"null\" in its rule";
                Err(Halt::new(self.table, Some(column), value.to_string(), remedy, Recovery::Resync))
            }
        }
    }

    /// Appends the cells of a row that the rule is for, and says what they come to.
    pub(super) fn read(&self, cells: &[Cell<'_>], out: &mut RowChanges) -> Result<RowContent, Halt> {
        let start = out.cells().len();
        let is_shown = match self.rule {
            RulePlan::Vertex(vertex) => self.read_vertex(vertex, cells, out).map(|()| true),
            RulePlan::Edge(edge) => self.read_edge(edge, cells, out),
        }?;
        if !is_shown {
            return Ok(RowContent::Hidden);
        }
        let keeps = out.cells()[start..].iter().any(|cell| matches!(cell, CellChange::Kept));
        Ok(RowContent::Shown { cells: start, keeps })
    }

    fn read_vertex(&self, vertex: &VertexPlan, cells: &[Cell<'_>], out: &mut RowChanges) -> Result<(), Halt> {
        self.read_properties(&vertex.properties, cells, out)?;
        for edge in &vertex.edges {
            if let Some(end) = edge.end.key.read_plain(cells) {
                out.push_cell(CellChange::Value(end));
                self.read_properties(&edge.properties, cells, out)?;
                continue;
            }
            let end = self.read_end(&edge.end.key, cells)?;
            let end = end.unwrap_or_else(|why| {
                if matches!(why, NoValue::Unfit) {
                    self.lose(out, LossCause::UnfitEnd);
                }
                CellChange::Null
            });
            let is_null = end == CellChange::Null;
            out.push_cell(end);
            if is_null {
                edge.properties.iter().for_each(|_| out.push_cell(CellChange::Null));
            } else {
                self.read_properties(&edge.properties, cells, out)?;
            }
        }
        Ok(())
    }

    /// Whether there is an edge: both ends have keys.
    fn read_edge(&self, edge: &EdgePlan, cells: &[Cell<'_>], out: &mut RowChanges) -> Result<bool, Halt> {
        let place = out.cells().len();
        let mut ends = [CellChange::Null, CellChange::Null];
        for (cell, end) in ends.iter_mut().zip([&edge.start, &edge.end]) {
            if let Some(read) = end.key.read_plain(cells) {
                *cell = CellChange::Value(read);
                continue;
            }
            match self.read_end(&end.key, cells)? {
                Ok(read) => *cell = read,
                Err(why) => {
                    let unfit = matches!(why, NoValue::Unfit);
                    self.lose(out, if unfit { LossCause::UnfitEnd } else { LossCause::NullEnd });
                    return Ok(false);
                }
            }
        }
        let is_turned = match (&ends, edge.undirected) {
            (_, false) => false,
            ([CellChange::Value(start), CellChange::Value(end)], true) => end < start,
            // Which of both was the smaller one is not known.
            (_, true) => {
                let column = [&edge.start, &edge.end]
                    .into_iter()
                    .flat_map(|end| &end.key.columns)
                    .map(|column| column.column)
                    .find(|column| cells[*column] == Cell::Unchanged);
                return Err(Halt::unsent(self.table, column, "an edge without direction"));
            }
        };
        ends.into_iter().for_each(|end| out.push_cell(end));
        if is_turned {
            out.swap_cells(place, place + EDGE_END_CELLS - 1);
        }
        self.read_properties(&edge.properties, cells, out)?;
        Ok(true)
    }

    fn read_end(&self, plan: &KeyPlan, cells: &[Cell<'_>]) -> Result<Result<CellChange, NoValue>, Halt> {
        if plan.columns.iter().all(|column| cells[column.column] == Cell::Unchanged) {
            return Ok(Ok(CellChange::Kept));
        }
        Ok(self.read_key(plan, cells)?.map(CellChange::Value))
    }

    fn read_properties(
        &self,
        properties: &[PropertyPlan],
        cells: &[Cell<'_>],
        out: &mut RowChanges,
    ) -> Result<(), Halt> {
        for property in properties {
            let column = property.column;
            if let Cell::Text(text) = cells[column]
                && let Some(value) = property.form.read_plain(&self.table.columns[column].column_type, text)
            {
                out.push_cell(CellChange::Value(value));
                continue;
            }
            let cell = match cells[column] {
                Cell::Null => CellChange::Null,
                Cell::Unchanged => CellChange::Kept,
                Cell::Text(text) => match property.form.read(&self.table.columns[column].column_type, text) {
                    Ok(value) => CellChange::Value(value),
                    Err(value) => {
                        self.unfit(column, &value)?;
                        self.lose(out, LossCause::UnfitValue);
                        CellChange::Null
                    }
                },
                Cell::Binary(_) => {
                    let cause = "its text expected, and its binary form came";
                    let remedy = "report this: the stream was not asked for binary values";
                    return Err(Halt::new(self.table, Some(column), cause, remedy, Recovery::Restart));
                }
            };
            out.push_cell(cell);
        }
        Ok(())
    }
}
