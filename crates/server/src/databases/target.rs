//! Target: the database that a request names, and what its user may do there.
//!
//! ```text
//! alias ──> name ──> role? ──> known? ──> open? ──> a use
//!                      └ 403     └ 499      └ 596
//! ```
//!
//! Whoever has no role on a name gets the same answer whether there is such a database or not.

use crate::databases::catalogue::DatabaseCatalogue;
use crate::databases::name::{ALIAS_PREFIX, DEFAULT_ALIAS, check_database_name};
use crate::databases::open_database::DatabaseUse;
use crate::databases::served_database::ServedDatabase;
use crate::failure::Failure;
use crate::security::access::{Access, Principal};
use evergraph_graph::cancel::CancelFlag;
use evergraph_graph::nearest::did_you_mean;
use evergraph_storage::planted::{Bug, planted};
use std::sync::Arc;

/// A database that is served, open or not, on which the user has a role.
pub struct ResolvedDatabase {
    /// The database.
    pub served: Arc<ServedDatabase>,
    /// What the user may do there.
    pub access: Access,
}

/// A database that a request uses until it is answered.
pub struct RequestTarget {
    /// The use.
    pub database: DatabaseUse,
    /// What the user may do there.
    pub access: Access,
}

impl ResolvedDatabase {
    /// The database that `principal` names by `alias`: `NAME`, `g_NAME`, or `g` for the default one. That is the first one on the
    /// command line; without one there, the only open one on which the user has a role.
    ///
    /// # Errors
    /// 499 for what can be no name, and for an unknown name on which the user has a role; 401, 403 as [`Access::role`].
    pub fn of(catalogue: &DatabaseCatalogue, principal: &Principal, alias: &str) -> Result<Self, Failure> {
        if alias == DEFAULT_ALIAS {
            return Self::default(catalogue, principal);
        }
        let name = alias.strip_prefix(ALIAS_PREFIX).unwrap_or(alias);
        check_database_name(name).map_err(|error| Failure::arguments(error.to_string()))?;
        let access = principal.on(name);
        if planted(Bug::UnknownDatabasesTold) && catalogue.get(name).is_none() {
            return Err(Failure::arguments(format!("there is no database {name:?}")));
        }
        access.role()?;
        match catalogue.get(name) {
            Some(served) => Ok(Self { served, access }),
            None => {
                let known = names(catalogue, principal)?;
                let guess = did_you_mean(name, known.iter().map(|name| &**name));
                Err(Failure::unknown_database(format!("there is no database {name:?}{guess}")))
            }
        }
    }

    fn default(catalogue: &DatabaseCatalogue, principal: &Principal) -> Result<Self, Failure> {
        if let Some(name) = catalogue.first() {
            let access = principal.on(name).shown_as(DEFAULT_ALIAS);
            access.role()?;
            let gone =
                || Failure::unknown_database(format!("the database {name:?} was dropped: name another one"));
            return catalogue.get(name).map(|served| Self { served, access }).ok_or_else(gone);
        }
        let known = names(catalogue, principal)?;
        match &open_of(catalogue, &known)[..] {
            [served] => Ok(Self { served: Arc::clone(served), access: principal.on(served.name()) }),
            [] => {
                if known.is_empty() {
                    // 403 without any role.
                    principal.on(DEFAULT_ALIAS).role()?;
                }
                Err(Failure::unknown_database("no database is open"))
            }
            several => {
                let names: Vec<&str> = several.iter().map(|served| &**served.name()).collect();
                let text = format!(
                    "the alias `g` is not clear, since several databases are open: name one of {}",
                    names.join(", ")
                );
                Err(Failure::arguments(text))
            }
        }
    }

    /// Uses the database until the request is answered, which `cancel` stops.
    ///
    /// # Errors
    /// 596 if it is not open, with its state.
    pub fn begin(self, cancel: CancelFlag) -> Result<RequestTarget, Failure> {
        Ok(RequestTarget { database: self.served.begin(cancel)?, access: self.access })
    }
}

/// The name of the database that `g` stands for, for this user; `None` if for none. Whether the user has a role on it is
/// another question.
///
/// # Errors
/// 401 if nobody has logged in, or the log-in holds no longer.
pub fn default_name(
    catalogue: &DatabaseCatalogue,
    principal: &Principal,
) -> Result<Option<Arc<str>>, Failure> {
    if let Some(name) = catalogue.first() {
        return Ok(Some(Arc::clone(name)));
    }
    match &open_of(catalogue, &names(catalogue, principal)?)[..] {
        [only] => Ok(Some(Arc::clone(only.name()))),
        _ => Ok(None),
    }
}

/// Those of the databases `names` that are open.
fn open_of(catalogue: &DatabaseCatalogue, names: &[Arc<str>]) -> Vec<Arc<ServedDatabase>> {
    names.iter().filter_map(|name| catalogue.get(name)).filter(|served| served.is_open()).collect()
}

/// The databases on which the user has a role.
fn names(catalogue: &DatabaseCatalogue, principal: &Principal) -> Result<Vec<Arc<str>>, Failure> {
    let mut names = Vec::new();
    for served in catalogue.all() {
        if principal.role_on(served.name())?.is_some() || planted(Bug::GuessesTellNames) {
            names.push(Arc::clone(served.name()));
        }
    }
    Ok(names)
}
