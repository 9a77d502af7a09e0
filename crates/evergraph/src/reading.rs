//! Reading: a database that another process writes, opened to be read here.

use crate::database::Database;
use crate::opened::Opened;
use crate::options::Options;
use crate::path::existing;
use evergraph_engines::kind::EngineKind;
use evergraph_engines::persistent_memory::placed;
use evergraph_engines::reader;
use evergraph_graph::error::Result;
pub use evergraph_mapped_engine::reader::processes::{DatabaseProcesses, OldestSnapshot, ReaderProcess};
use evergraph_storage::io::directory::Directory;
use std::path::Path;
use std::process;
use std::sync::Arc;

impl Database {
    /// Opens the database in the directory `path` to be read, whether another process has it open or not. It must be one
    /// of the mapped engine.
    ///
    /// Each [snapshot](Database::snapshot) shows the newest commit that readers may see when it begins: with durability
    /// `sync` in the writing process a commit is visible here when it has returned there. Snapshots, queries, algorithms,
    /// statistics and exports work as in the process that writes; everything that writes is refused as `invalid`. Look-ups
    /// by value use the indexes of the process that writes.
    ///
    /// Reading goes on when the process that writes ends: snapshots then begin at its last commit, and at the newest one
    /// again as soon as another process has opened the database to write. [`Database::writer_process`] says which does.
    ///
    /// Cost: nothing of the graph is read, unless no process has it open to write: then the log after the last checkpoint is.
    /// While a snapshot is open, the process that writes keeps the versions that it needs: in memory, and in files.
    ///
    /// ```
    /// use evergraph::{Database, EngineKind, ErrorKind, Options, ReadByName};
    ///
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let path = folder.path().join("social.eg");
    /// // In one process:
    /// let writer = Database::open_with(&path, &Options { engine: Some(EngineKind::Mapped), ..Options::default() })?;
    /// writer.transact(|tx| tx.add_vertex("Person", &[("name", "Ada".into())]))?;
    ///
    /// // In another one:
    /// let reader = Database::open_reader(&path)?;
    /// let before = reader.snapshot();
    /// writer.transact(|tx| tx.add_vertex("Person", &[("name", "Mary".into())]))?;
    /// assert_eq!(before.gremlin("g.V().count()").one::<i64>()?, 1);
    /// assert_eq!(reader.gremlin("g.V().count()").one::<i64>()?, 2);
    /// let refused = reader.gremlin("g.addV('Person')").run().unwrap_err();
    /// assert_eq!(refused.kind(), ErrorKind::Invalid);
    /// # Ok::<(), evergraph::Error>(())
    /// ```
    ///
    /// # Errors
    /// `not_found` if there is no database; `invalid` if it has another engine, which only one process at a time can open;
    /// `busy` if a process has it open and does not let readers in, because it checks, converts or salvages it, or for longer
    /// than some seconds is just opening it; `limit` if too many processes read; `io` if this process must not write the files
    /// `live` and `reader-<n>` in the directory; `corrupt`, naming file and offset.
    pub fn open_reader(path: impl AsRef<Path>) -> Result<Self> {
        Self::open_reader_with(path, &Options::default())
    }

    /// As [`Database::open_reader`], with [`Options`]: the memory limit counts, and where the files lie, and nothing that is about
    /// writing.
    ///
    /// # Errors
    /// As [`Database::open_reader`].
    pub fn open_reader_with(path: impl AsRef<Path>, options: &Options) -> Result<Self> {
        let path = path.as_ref();
        let directory = placed(existing(path)?, options.persistent_memory)?;
        let open = reader::open_reader(directory, &options.to_open_options())?;
        Ok(Self { open: Opened::ToRead(Arc::new(open)), path: Some(path.to_owned()) })
    }

    /// Whether it was opened to be read only.
    #[must_use]
    pub fn is_read_only(&self) -> bool {
        matches!(self.open, Opened::ToRead(_))
    }

    /// The process that has the database open to write it: this one, unless [`Database::is_read_only`]; `None` if none is
    /// known to. Other nodes write the graph of a cluster, too.
    ///
    /// Cost: in a database that only reads, a look at the lock of the process that wrote last.
    #[must_use]
    pub fn writer_process(&self) -> Option<u32> {
        match &self.open {
            Opened::ToWrite(_) => Some(process::id()),
            Opened::ToRead(open) => open.store().writer_process(),
            #[cfg(feature = "cluster")]
            Opened::InCluster(_) => Some(process::id()),
        }
    }

    /// Which processes have the database at `path` open: the one that writes it, and those that read it with their snapshots.
    /// Any process may ask; nothing is changed.
    ///
    /// Cost: a look at 1,024 slots and 64 files.
    ///
    /// # Errors
    /// `not_found` if there is no database; `io`, naming the file, without permission to look at it.
    pub fn processes(path: impl AsRef<Path>) -> Result<DatabaseProcesses> {
        let directory: Arc<dyn Directory> = Arc::new(existing(path.as_ref())?);
        reader::processes(&directory)
    }

    /// The engine of the database at `path`, which any process may have open.
    ///
    /// # Errors
    /// `not_found` if there is none; `corrupt` for a damaged manifest, or one that is missing beside files of a database; `io`.
    pub fn engine_at(path: impl AsRef<Path>) -> Result<EngineKind> {
        reader::engine_of(&existing(path.as_ref())?)
    }

    /// Whether the database at `path`, which any process may have open, may have [notes of an owner](crate::ownership::Ownership):
    /// it has or had one. Opening it tells which.
    ///
    /// Cost: its manifest is read.
    ///
    /// # Errors
    /// As [`Database::engine_at`].
    pub fn may_have_notes_at(path: impl AsRef<Path>) -> Result<bool> {
        reader::may_have_notes(&existing(path.as_ref())?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gremlin::query::Query;
    use crate::read::ReadByName as _;
    use evergraph_graph::cancel::CancelFlag;
    use evergraph_graph::error::ErrorKind;
    use evergraph_graph::id::{Direction, VertexId};
    use evergraph_graph::load::Load;
    use evergraph_graph::look_up::ValueRange;
    use evergraph_graph::view::GraphView as _;
    use std::ops::ControlFlow;

    fn mapped() -> Options {
        Options { engine: Some(EngineKind::Mapped), ..Options::default() }
    }

    #[test]
    fn whatever_writes_is_refused_by_the_name_of_the_process_that_may() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("people.eg");
        let writer = Database::open_with(&path, &mapped()).unwrap();
        writer.gremlin("g.addV('Person')").run().unwrap();
        let reader = Database::open_reader(&path).unwrap();
        assert!(reader.is_read_only() && !writer.is_read_only());
        let pid = process::id();
        assert_eq!((reader.writer_process(), writer.writer_process()), (Some(pid), Some(pid)));
        assert_eq!(reader.gremlin("g.V().count()").one::<i64>().unwrap(), 1);

        let cancel = CancelFlag::default();
        // Queries that would change nothing among them: none is run.
        let nobody = "g.V().hasLabel('Nobody').drop()";
        let refusals = [
            reader.transact(|tx| tx.add_vertex("Person", &[]).map(drop)),
            reader.gremlin(nobody).run(),
            reader.gremlin(nobody).profile().map(drop),
            reader.begin().gremlin(nobody).run(),
            crate::shared_transaction::SharedTransaction::new(reader.begin()).ask(nobody).unwrap().run(),
            reader.create_unique_index("Person", "name"),
            reader.load(&Load::default(), &|_| {}, &cancel).map(drop),
            reader.own("a source").map(drop),
            reader.sync().map(drop),
            reader.checkpoint().map(drop),
            reader.backup(folder.path().join("copy.eg"), &mut |_| ControlFlow::Continue(())).map(drop),
            reader.check(&mut |_, _, _| ControlFlow::Continue(())).map(drop),
        ];
        for (number, refused) in refusals.into_iter().enumerate() {
            let error = refused.unwrap_err();
            let is_named = error.to_string().contains(&pid.to_string());
            assert_eq!((error.kind(), is_named), (ErrorKind::Invalid, true), "{number}: {error}");
        }
        assert!(!folder.path().join("copy.eg").exists());
        assert_eq!(reader.statistics().unwrap().vertices, [("Person".to_owned(), 1)]);
        assert_eq!(reader.durable_through(), writer.durable_through());
    }

    #[test]
    fn a_closed_reader_is_not_listed_while_its_handle_lives() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("people.eg");
        let writer = Database::open_with(&path, &mapped()).unwrap();
        writer.gremlin("g.addV('Person')").run().unwrap();
        let reader = Database::open_reader(&path).unwrap();
        assert_eq!(reader.gremlin("g.V().count()").one::<i64>().unwrap(), 1);
        assert_eq!(Database::processes(&path).unwrap().readers.len(), 1);
        reader.close().unwrap();
        assert!(Database::processes(&path).unwrap().readers.is_empty());
        drop((reader, writer));
        let reader = Database::open_reader(&path).unwrap();
        assert_eq!(reader.statistics().unwrap().vertices, [("Person".to_owned(), 1)]);
        reader.close().unwrap();
        assert!(Database::processes(&path).unwrap().readers.is_empty());
        drop(reader);
    }

    /// A name that nobody has was answered from the names that were known last, without a look at what is read.
    #[test]
    fn whatever_asks_for_unknown_names_is_told_that_a_reader_was_closed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("people.eg");
        let writer = Database::open_with(&path, &mapped()).unwrap();
        writer.gremlin("g.addV('Person')").run().unwrap();
        let reader = Database::open_reader(&path).unwrap();
        let nobody = "g.V().hasLabel('Nobody')";
        assert!(reader.gremlin(nobody).items().unwrap().is_empty());
        reader.close().unwrap();
        let snapshot = reader.snapshot();
        let ada = VertexId(0);
        let refusals = [
            reader.gremlin(nobody).items().map(drop),
            reader.gremlin(nobody).explain().map(drop),
            reader.gremlin(nobody).profile().map(drop),
            snapshot.gremlin(nobody).items().map(drop),
            Query::shared(Arc::new(reader.snapshot()), nobody).iter().map(drop),
            reader.begin().gremlin(nobody).items().map(drop),
            reader.begin().commit().map(drop),
            reader.transact(|_| Ok(())),
            snapshot.vertices(Some("Nobody")).map(drop),
            snapshot.find("Nobody", "name", "Ada").map(drop),
            snapshot.find_all("Nobody", "name", "Ada").map(drop),
            snapshot.prefix("Nobody", "name", "Ada", 10).map(drop),
            snapshot.edges_with("HATES", "since", 1i64).map(drop),
            snapshot.edges_in_range("HATES", "since", &ValueRange::ALL, 10).map(drop),
            snapshot.newest_edges(ada, "HATES", "since", &ValueRange::ALL, 10).map(drop),
            snapshot.get(ada, "nickname").map(drop),
            snapshot.edges(ada, Direction::Out, &["HATES"]).map(drop),
            reader.statistics().map(drop),
        ];
        let expected = snapshot.check_begun().unwrap_err();
        for (number, refused) in refusals.into_iter().enumerate() {
            let error = refused.expect_err(&format!("{number} is not refused"));
            assert_eq!(
                (error.kind(), error.to_string()),
                (expected.kind(), expected.to_string()),
                "{number}"
            );
        }
    }

    #[test]
    fn an_engine_without_readers_is_told_with_what_to_do() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("people.eg");
        let missing = Database::open_reader(&path).err().unwrap();
        assert_eq!(missing.kind(), ErrorKind::NotFound);
        assert!(!path.exists());
        let lost = folder.path().join("lost.eg");
        std::fs::create_dir(&lost).unwrap();
        assert_eq!(Database::processes(&lost).unwrap_err().kind(), ErrorKind::NotFound);
        std::fs::write(lost.join("log-0000000000000001"), "").unwrap();
        let error = Database::processes(&lost).unwrap_err();
        assert!(
            error.kind() == ErrorKind::Corrupt && error.to_string().contains("lost its manifest"),
            "{error}"
        );
        let writer = Database::open(&path).unwrap();
        let refused = Database::open_reader(&path).err().unwrap();
        assert_eq!(refused.kind(), ErrorKind::Invalid);
        assert!(refused.to_string().contains("evergraph convert"), "{refused}");
        assert_eq!(Database::engine_at(&path).unwrap(), EngineKind::Memory);
        let found = Database::processes(&path).unwrap();
        assert_eq!((found.writer, found.readers.len()), (Some(process::id()), 0));
        drop(writer);
    }
}
