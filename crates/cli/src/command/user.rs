//! `evergraph user`: the users of a server, their passwords and their roles.

use crate::context::Context;
use clap::{Args, Subcommand, ValueEnum};
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_server::security::password;
use evergraph_server::security::role::Role;
use evergraph_server::security::user::Users;
use evergraph_server::security::users_file::{self, Create, edit};
use evergraph_terminal::failure::Failure;
use evergraph_terminal::number::counted;
use evergraph_terminal::table::visible;
use serde::Serialize;
use std::fmt;
use std::io::{self, BufRead as _, IsTerminal as _, Read as _};
use std::path::{Path, PathBuf};

const AFTER_HELP: &str = "\
Examples:
  evergraph user add users.json ann
  evergraph user grant users.json ann social reader
  evergraph user list users.json
  evergraph user revoke users.json ann social
  evergraph user grant users.json bob '*' admin
  evergraph serve social.eg --users users.json

Passwords are asked for on the terminal, or read from the first line of standard
input; the file holds hashes by argon2id. A new user has no role, and a role is
for one database, by its name: social for social.eg. The roles are:
  reader   reads
  writer   reads and writes
  admin    administers the database as well

On '*', which is every database, those created later included, a user can be
admin.

A server reads the file again within a second: whoever is removed, or has a new
password, is disconnected, and roles hold from the next request on.";

const ADD_HELP: &str = "\
Examples:
  evergraph user add users.json ann
  pass show evergraph/ann | evergraph user add users.json ann";

const PASSWORD_HELP: &str = "\
Examples:
  evergraph user password users.json ann";

const REMOVE_HELP: &str = "\
Examples:
  evergraph user remove users.json ann";

const LIST_HELP: &str = "\
Examples:
  evergraph user list users.json
  evergraph user list users.json --json";

const GRANT_HELP: &str = "\
Examples:
  evergraph user grant users.json ann social writer
  evergraph user grant users.json bob '*' admin";

const REVOKE_HELP: &str = "\
Examples:
  evergraph user revoke users.json ann social";

/// Bytes of standard input that may hold a password.
const INPUT_BYTES_MAX: u64 = 4096;

/// Arguments of `evergraph user`.
#[derive(Args, Debug)]
#[command(after_help = AFTER_HELP)]
pub struct UserArguments {
    /// The action.
    #[command(subcommand)]
    pub action: Action,
}

/// Actions on users.
#[derive(Subcommand, Debug)]
pub enum Action {
    /// Add a user without roles; the file is made if there is none.
    #[command(after_help = ADD_HELP)]
    Add(NamedUser),
    /// Give a user another password.
    #[command(after_help = PASSWORD_HELP)]
    Password(NamedUser),
    /// Remove a user.
    #[command(after_help = REMOVE_HELP)]
    Remove(NamedUser),
    /// Give a user a role on a database, in place of an earlier one.
    #[command(after_help = GRANT_HELP)]
    Grant {
        /// The user.
        #[command(flatten)]
        user: NamedUser,
        /// The name of the database: social for social.eg; '*' for all of them.
        database: String,
        /// The role.
        role: RoleName,
    },
    /// Take the role on a database from a user.
    #[command(after_help = REVOKE_HELP)]
    Revoke {
        /// The user.
        #[command(flatten)]
        user: NamedUser,
        /// The name of the database.
        database: String,
    },
    /// List users and their roles.
    #[command(after_help = LIST_HELP)]
    List {
        /// The users file.
        #[arg(value_name = "USERS")]
        file: PathBuf,
    },
}

/// A user in a file.
#[derive(Args, Debug)]
pub struct NamedUser {
    /// The users file.
    #[arg(value_name = "USERS")]
    file: PathBuf,
    /// The user's name.
    name: String,
}

/// The roles that can be given.
#[derive(Clone, Copy, ValueEnum, Debug)]
pub enum RoleName {
    /// Reads.
    Reader,
    /// Reads and writes.
    Writer,
    /// Administers the database as well.
    Admin,
}

impl From<RoleName> for Role {
    fn from(name: RoleName) -> Self {
        match name {
            RoleName::Reader => Self::Reader,
            RoleName::Writer => Self::Writer,
            RoleName::Admin => Self::Admin,
        }
    }
}

/// Changes or lists users.
///
/// # Errors
/// Those of reading and writing the file; `invalid` for names and passwords that cannot be used.
pub fn execute(arguments: &UserArguments, context: &Context) -> std::result::Result<(), Failure> {
    let (file, name, done) = match &arguments.action {
        Action::List { file } => return list(file, context),
        Action::Add(NamedUser { file, name }) => {
            // Before a password is asked for.
            match users_file::read(file) {
                Ok((users, _)) => users.check_new(name)?,
                Err(error) if error.kind() == ErrorKind::NotFound => Users::default().check_new(name)?,
                Err(error) => return Err(error.into()),
            }
            let hash = password::hash(&ask_password(name)?)?;
            edit(file, Create::IfMissing, |users| users.add(name, hash))?;
            (file, name, "was added; evergraph user grant gives it a role".to_owned())
        }
        Action::Password(NamedUser { file, name }) => {
            users_file::read(file)?.0.check_known(name)?;
            let hash = password::hash(&ask_password(name)?)?;
            edit(file, Create::Never, |users| users.set_password(name, hash))?;
            (file, name, "has another password".to_owned())
        }
        Action::Remove(NamedUser { file, name }) => {
            edit(file, Create::Never, |users| users.remove(name))?;
            (file, name, "was removed".to_owned())
        }
        Action::Grant { user: NamedUser { file, name }, database, role } => {
            let role = Role::from(*role);
            edit(file, Create::Never, |users| users.grant(name, database, role))?;
            (file, name, format!("is {} of {}", role.name(), visible(database)))
        }
        Action::Revoke { user: NamedUser { file, name }, database } => {
            edit(file, Create::Never, |users| users.revoke(name, database))?;
            (file, name, format!("has no role on {}", visible(database)))
        }
    };
    context.console.summary(&ChangeReport {
        file: file.display().to_string(),
        user: name.clone(),
        change: done,
    })
}

fn list(file: &Path, context: &Context) -> std::result::Result<(), Failure> {
    let (users, _) = users_file::read(file)?;
    let users = users.iter().map(|(name, user)| UserReport {
        name: name.to_owned(),
        roles: user
            .roles
            .iter()
            .map(|(database, role)| RoleReport { database: database.to_string(), role: role.name() })
            .collect(),
    });
    context.console.result(&UsersReport { file: file.display().to_string(), users: users.collect() })
}

/// Asks twice on the terminal, without showing it; otherwise the first line of standard input.
fn ask_password(name: &str) -> Result<Vec<u8>> {
    if !io::stdin().is_terminal() {
        let mut line = Vec::new();
        let read = io::stdin().lock().take(INPUT_BYTES_MAX).read_until(b'\n', &mut line);
        read.map_err(|error| failed("read a password from standard input", error))?;
        // Spaces may belong to it; the end of the line does not.
        while line.pop_if(|byte| matches!(byte, b'\r' | b'\n')).is_some() {}
        return Ok(line);
    }
    let password = ask_on_terminal(&format!("Password of {}: ", visible(name)))?;
    if ask_on_terminal("The same again: ")? != password {
        return Err(Error::invalid("the two passwords are not the same: nothing was changed"));
    }
    Ok(password.into_bytes())
}

fn ask_on_terminal(prompt: &str) -> Result<String> {
    rpassword::prompt_password(prompt).map_err(|error| match error.kind() {
        io::ErrorKind::Interrupted => {
            Error::new(ErrorKind::Cancelled, "no password was entered: nothing was changed").because(error)
        }
        _ => failed("read a password from the terminal", error),
    })
}

fn failed(what: &str, error: io::Error) -> Error {
    Error::new(ErrorKind::Io, format!("{what}: {error}")).because(error)
}

/// What was changed.
#[derive(Debug, Serialize)]
struct ChangeReport {
    file: String,
    user: String,
    change: String,
}

impl fmt::Display for ChangeReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}: the user {} {}", visible(&self.file), visible(&self.user), self.change)
    }
}

/// All users.
#[derive(Debug, Serialize)]
struct UsersReport {
    file: String,
    users: Vec<UserReport>,
}

#[derive(Debug, Serialize)]
struct UserReport {
    name: String,
    roles: Vec<RoleReport>,
}

#[derive(Debug, Serialize)]
struct RoleReport {
    database: String,
    role: &'static str,
}

impl fmt::Display for UsersReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = u64::try_from(self.users.len()).unwrap_or(u64::MAX);
        writeln!(f, "{}: {}", visible(&self.file), counted(count, "user", "users"))?;
        for UserReport { name, roles } in &self.users {
            let roles: Vec<String> =
                roles.iter().map(|role| format!("{} of {}", role.role, visible(&role.database))).collect();
            let roles = if roles.is_empty() { "no role".to_owned() } else { roles.join(", ") };
            writeln!(f, "  {}: {roles}", visible(name))?;
        }
        Ok(())
    }
}
