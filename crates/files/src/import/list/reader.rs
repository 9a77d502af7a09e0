//! Reader: reads one list of edges or vertices, with the format found in its first line, in blocks that are
//! parsed in parallel.

use crate::import::bytes::lines::Lines;
use crate::import::context::Context;
use crate::import::csv::header::parse_list_columns;
use crate::import::faults::FaultCollector;
use crate::import::field::cell::CellType;
use crate::import::list::file::{ListFile, ListKind};
use crate::import::list::header::{ListHeader, read_header};
use crate::import::list::line::{LineFormat, LineRows, Separator, first_data_line};
use crate::import::pipeline;
use evergraph_graph::error::{Error, Result};
use evergraph_graph::value::ValueType;
use std::collections::VecDeque;

/// A list whose format is known and whose lines are still to come.
pub struct EdgeListFile {
    /// The name of the file in errors.
    pub name: String,
    /// How its lines are made.
    pub format: LineFormat,
    /// What its first lines said.
    pub header: Option<ListHeader>,
    lines: Lines,
    /// Blocks that were read to find the format.
    first_blocks: VecDeque<Vec<u8>>,
}

impl EdgeListFile {
    /// Opens the list in `source` and finds its format. A file without a line of data has one that
    /// fits.
    ///
    /// # Errors
    /// Errors of reading; `invalid` if there are columns without names.
    pub fn open(list: &ListFile, context: &Context<'_>) -> Result<Self> {
        let (options, rule) = (context.options, &list.rule);
        let source = list.input.open()?;
        let name = source.name().to_owned();
        let mut lines = Lines::new(source, context.block_bytes);
        let mut first_blocks = VecDeque::new();
        let header = read_header(list.kind, &name, &mut lines, &mut first_blocks)?;
        let mut first_line =
            first_blocks.front().and_then(|block| first_data_line(block)).map(<[u8]>::to_vec);
        while first_line.is_none()
            && let Some(block) = lines.next_block()?
        {
            first_line = first_data_line(&block).map(<[u8]>::to_vec);
            first_blocks.push_back(block);
        }
        let first_line = first_line.unwrap_or_default();
        let has_line_feeds = first_blocks.iter().any(|block| block.contains(&b'\n'));
        if first_line.contains(&b'\r') && !has_line_feeds {
            return Err(Error::invalid(format!(
                "{name}: its lines end in CR alone, which is not supported; convert it: tr '\\r' '\\n' < {name}"
            )));
        }
        let separator = rule
            .delimiter
            .or(options.csv.delimiter)
            .map_or_else(|| Separator::detect(&first_line), Separator::from_option);
        let (ids, option, columns_text) = match list.kind {
            ListKind::Vertices => (1, "vertex columns", &options.lists.vertex_columns),
            _ => (2, "edge columns", &options.lists.edge_columns),
        };
        let columns = match (&rule.columns, columns_text) {
            (Some(words), _) => {
                let key =
                    rule.origin.as_ref().map_or("columns".to_owned(), |origin| format!("{origin}: columns"));
                parse_list_columns(&key, words.iter().map(String::as_str))?
            }
            (None, Some(text)) => parse_list_columns(option, text.split(','))?,
            (None, None) if header.is_some() => {
                let weight = header.as_ref().and_then(|header| header.weight);
                weight.map(|weight| Some(("weight".to_owned(), weight))).into_iter().collect()
            }
            (None, None) => default_columns(ids, separator.fields(&first_line).count().saturating_sub(ids))
                .map_err(|why| Error::invalid(format!("{name}: {why}")))?,
        };
        let null = rule.null.as_ref().or(options.csv.null.as_ref()).map(|null| null.as_bytes().to_vec());
        let marker = header.as_ref().and_then(|header| header.marker);
        let format = LineFormat { separator, ids, columns, null, marker };
        Ok(Self { name, format, header, lines, first_blocks })
    }

    /// Reads every block, and gives `place` its rows and the number of its first line, in order.
    /// `place` returns how many rows it took.
    ///
    /// # Errors
    /// The first of reading or of `place`; `cancelled`.
    pub fn read(
        mut self,
        context: &mut Context<'_>,
        mut place: impl FnMut(&LineFormat, LineRows, u64, &mut FaultCollector) -> Result<u64> + Send,
    ) -> Result<()> {
        let bytes = self.lines.bytes_read();
        let rules = context.faults.rules();
        let (meter, collector) = (&context.meter, &mut context.faults);
        let format = &self.format;
        let mut first_line = 1 + self.header.as_ref().map_or(0, |header| header.lines);
        let (mut rows_read, mut rows_found) = (0, 0);
        pipeline::run(
            context.pool,
            || match self.first_blocks.pop_front() {
                Some(block) => Ok(Some(block)),
                None => self.lines.next_block(),
            },
            |block| format.parse(block, rules),
            |rows| {
                let lines = rows.lines;
                rows_found += rows.sources.len() as u64 + rows.faults.count();
                let placed = place(format, rows, first_line, collector)?;
                first_line += lines;
                Ok(placed)
            },
            |rows| {
                rows_read = rows;
                meter.tick(&self.name, &bytes, rows)
            },
        )?;
        context.meter.finish_file(&bytes, rows_read);
        match &self.header {
            Some(header) => header.check_edges(rows_found).map_err(|why| {
                Error::invalid(format!("{}: {why}: the file is cut off, or not what it says", self.name))
            }),
            None => Ok(()),
        }
    }
}

/// What `count` columns after the `ids` of a list are, if it is not stated.
///
/// # Errors
/// What to say, if there are more than have names by themselves.
pub fn default_columns(
    ids: usize,
    count: usize,
) -> std::result::Result<Vec<Option<(String, CellType)>>, String> {
    let weight = || Some(("weight".to_owned(), CellType::Scalar(ValueType::F64)));
    let number = |key: &str| Some((key.to_owned(), CellType::Number));
    match (ids, count) {
        (_, 0) => Ok(Vec::new()),
        (1, 1) => Ok(vec![number("value")]),
        (2, 1) => Ok(vec![weight()]),
        (2, 2) => Ok(vec![weight(), number("time")]),
        (1, _) => Err(format!(
            "{count} columns behind the id have no names: give them, as in --vertex-columns age:int,name:string \
             (`columns` in a mapping)"
        )),
        _ => Err(format!(
            "{count} columns behind source and target have no names: give them, as in --columns \
             weight,time,kind:string (`columns` in a mapping)"
        )),
    }
}
