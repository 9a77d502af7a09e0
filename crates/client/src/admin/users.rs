//! Users: lists, adds and removes those of a server, changes passwords and roles. All but one's own password needs the role
//! admin on all databases.

use crate::admin::call::{Admin, path_of};
use crate::password::Password;
use evergraph_graph::error::Result;
use serde::{Deserialize, Serialize};

/// The status of an answer that something new is there.
const CREATED: u16 = 201;

/// A user of a server.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RemoteUser {
    /// The name.
    pub name: String,
    /// What the user may do.
    pub roles: Vec<RemoteRole>,
}

/// What a user may do with a database.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RemoteRole {
    /// Its name, or `*` for all.
    pub database: String,
    /// `reader`, `writer` or `admin`.
    pub role: String,
}

/// Whether a user was there before.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum UserChange {
    /// The user is new, and has no role.
    Added,
    /// The user has another password.
    PasswordChanged,
}

#[derive(Deserialize)]
struct UserList {
    users: Vec<RemoteUser>,
}

#[derive(Serialize)]
struct PasswordDocument<'a> {
    password: &'a str,
}

#[derive(Serialize)]
struct RoleDocument<'a> {
    role: &'a str,
}

impl Admin {
    /// All users with their roles.
    ///
    /// # Errors
    /// `invalid` if the server has no users.
    pub fn users(&self) -> Result<Vec<RemoteUser>> {
        self.get::<UserList>("/users").map(|list| list.users)
    }

    /// Adds a user without roles, or gives one another password.
    ///
    /// # Errors
    /// `invalid` for a name or a password that cannot be one.
    pub fn put_user(&self, name: &str, password: &Password) -> Result<UserChange> {
        let document = PasswordDocument { password: password.reveal() };
        let status = self.put(&path_of(&["users", name]), &document)?;
        Ok(if status == CREATED { UserChange::Added } else { UserChange::PasswordChanged })
    }

    /// Removes a user, who is disconnected.
    ///
    /// # Errors
    /// `not_found`.
    pub fn remove_user(&self, name: &str) -> Result<()> {
        self.delete(&path_of(&["users", name])).map(drop)
    }

    /// Gives a user a role on a database, in place of an earlier one; `*` is all databases, on which the only role is `admin`.
    ///
    /// # Errors
    /// `not_found` for an unknown user; `invalid` for an unknown role.
    pub fn grant_role(&self, user: &str, database: &str, role: &str) -> Result<()> {
        self.put(&path_of(&["users", user, "roles", database]), &RoleDocument { role }).map(drop)
    }

    /// Takes the role of a user on a database away.
    ///
    /// # Errors
    /// `not_found` for an unknown user, and one without a role on it.
    pub fn revoke_role(&self, user: &str, database: &str) -> Result<()> {
        self.delete(&path_of(&["users", user, "roles", database])).map(drop)
    }

    /// Changes one's own password. The client's requests are refused from then on: make another one.
    ///
    /// # Errors
    /// `invalid` for a password that cannot be one, and if the server has no users.
    pub fn change_password(&self, password: &Password) -> Result<()> {
        self.put("/password", &PasswordDocument { password: password.reveal() }).map(drop)
    }
}
