//! Found database: what lies in a directory that is opened: a database, one that is to be created, or a stranger's files.
//!
//! ```text
//! manifest                            its engine and partition; those that were asked for must be the same
//! left over from an unfinished creation, or nothing    an empty manifest of the engine asked for, or of the default one
//! anything else                       refused, and nothing is changed
//! ```

use crate::checkpoint::manifest::{self, Manifest};
use crate::durable_engine::DurableEngine;
use crate::io::directory::Directory;
use crate::log::end_file::{self, RecordedEnd};
use crate::unfinished_directory::{LOCK_NAME, UNFINISHED_NAME, is_unfinished, unfinished};
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::partition::OwnGroups;

/// What is wanted of a database, whether it is there or not.
pub(crate) struct WantedDatabase {
    /// Create it if the directory is empty.
    pub create: bool,
    /// Its engine; `None` for whichever it has, or the default one.
    pub engine: Option<&'static str>,
    /// What its engine may take, as it was asked for.
    pub memory_limit_bytes: u64,
    /// The groups that it has, if it has one partition of a graph.
    pub own_groups: Option<OwnGroups>,
}

/// A database that is there now.
pub(crate) struct FoundDatabase {
    pub manifest: Manifest,
    /// Whether it was created just now.
    pub created: bool,
    /// What its engine may take, as the engine decided.
    pub memory_limit_bytes: u64,
}

/// Refuses a directory that is neither a database nor fit to become one.
pub(crate) fn refuse_strangers<E: DurableEngine>(directory: &dyn Directory, create: bool) -> Result<()> {
    if directory.exists(manifest::FILE_NAME)? {
        return Ok(());
    }
    if is_unfinished(directory)? {
        return Err(unfinished(directory));
    }
    refuse_lost_manifest::<E>(directory)?;
    let ours = [LOCK_NAME, manifest::NEW_FILE_NAME, end_file::FILE_NAME, end_file::NEW_FILE_NAME];
    let names = directory.list()?;
    if let Some(stranger) = names.iter().find(|name| !ours.contains(&name.as_str())) {
        return Err(Error::invalid(format!(
            "{} is not an Evergraph database: it has no manifest, but a file `{stranger}`; name an empty or \
             a new directory for a new database",
            directory.location().display()
        )));
    }
    if !create {
        let location = directory.location().display();
        let text = format!("there is no database in {location}: import a graph, or create one");
        return Err(Error::new(ErrorKind::NotFound, text));
    }
    Ok(())
}

/// Refuses a directory without a manifest that has other files of a database.
///
/// # Errors
/// `corrupt`, naming one of them; what the system says.
pub fn refuse_lost_manifest<E: DurableEngine>(directory: &dyn Directory) -> Result<()> {
    let names = directory.list()?;
    let Some(left) = names.iter().find(|name| E::is_file(name) || name.starts_with("log-")) else {
        return Ok(());
    };
    Err(Error::new(
        ErrorKind::Corrupt,
        format!(
            "{} has lost its manifest: `{left}` is there; restore the manifest, or the whole directory from a copy",
            directory.location().display()
        ),
    ))
}

/// The database in `directory`, or a new one. The caller holds the lock.
///
/// # Errors
/// As `OpenStore::open`. Nothing is created then.
pub(crate) fn find_or_create<E: DurableEngine>(
    directory: &dyn Directory,
    wanted: &WantedDatabase,
) -> Result<FoundDatabase> {
    // Again: somebody may have made or removed it before the lock was ours.
    refuse_strangers::<E>(directory, wanted.create)?;
    if directory.exists(manifest::FILE_NAME)? {
        let manifest = Manifest::read(directory, E::opens)?;
        if let Some(own) = manifest.partition.filter(|_| !E::takes_partition(&manifest.engine)) {
            return Err(whole_graphs_only(directory, &manifest.engine, own));
        }
        if let Some(engine) = wanted.engine.filter(|engine| *engine != manifest.engine) {
            return Err(another_engine(directory, &manifest.engine, engine));
        }
        if wanted.own_groups != manifest.partition {
            return Err(another_partition(directory, manifest.partition, wanted.own_groups));
        }
        let memory_limit_bytes = E::memory_limit(&manifest.engine, wanted.memory_limit_bytes)?;
        // A crash came right after a backup, salvage or conversion had made it a database.
        manifest::remove_if_there(directory, UNFINISHED_NAME)?;
        return Ok(FoundDatabase { manifest, created: false, memory_limit_bytes });
    }
    let engine = wanted.engine.unwrap_or(E::NEW);
    if !E::opens(engine) {
        return Err(Error::invalid(format!("there is no engine `{engine}`")));
    }
    if wanted.own_groups.is_some() && !E::takes_partition(engine) {
        return Err(Error::invalid(format!(
            "the engine `{engine}` takes whole graphs only, no partition of one"
        )));
    }
    let memory_limit_bytes = E::memory_limit(engine, wanted.memory_limit_bytes)?;
    manifest::remove_if_there(directory, manifest::NEW_FILE_NAME)?;
    end_file::create(directory, RecordedEnd::default())?;
    let empty = Manifest::empty(engine, E::empty_section(engine));
    let manifest = Manifest { has_end_file: true, partition: wanted.own_groups, ..empty };
    manifest.write(directory, || Ok(()))?;
    Ok(FoundDatabase { manifest, created: true, memory_limit_bytes })
}

/// The error of a manifest that names a partition and an engine that has none: it would show half of each edge between two
/// partitions as if it were no edge, or a whole one.
fn whole_graphs_only(directory: &dyn Directory, engine: &str, own: OwnGroups) -> Error {
    let location = directory.location().display();
    Error::invalid(format!(
        "the database {location} has {own} of a graph and the engine `{engine}`, which takes whole graphs only"
    ))
}

fn another_partition(directory: &dyn Directory, found: Option<OwnGroups>, asked: Option<OwnGroups>) -> Error {
    let what =
        |own: Option<OwnGroups>| own.map_or("a whole graph".to_owned(), |own| format!("{own} of a graph"));
    let (location, found, asked) = (directory.location().display(), what(found), what(asked));
    Error::invalid(format!("the database {location} has {found}, not {asked}"))
}

fn another_engine(directory: &dyn Directory, found: &str, asked: &str) -> Error {
    let location = directory.location().display();
    Error::invalid(format!(
        "the database {location} has the engine `{found}`, not `{asked}`: open it without naming an engine, or write \
         a copy that has the other one: `evergraph convert {location} NEW --engine {asked}`"
    ))
}
