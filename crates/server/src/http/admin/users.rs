//! Users: lists, adds and removes them, changes passwords and roles, in the users file of the server.
//!
//! `evergraph user` changes the same file, which whoever edits it locks. What is changed here holds when the answer comes.

use crate::http::admin::answer::{AdminAnswer, AdminResult, path_of};
use crate::http::admin::call::AdminCall;
use crate::http::error::HttpError;
use crate::security::authenticator::Authenticator;
use crate::security::password;
use crate::security::role::Role;
use crate::security::user::Users;
use evergraph_graph::error::Result as GraphResult;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use std::sync::Arc;

/// A password. An error does not show what else was sent in its place.
struct NewPassword(Box<str>);

impl<'de> Deserialize<'de> for NewPassword {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match serde_json::Value::deserialize(deserializer)? {
            serde_json::Value::String(text) => Ok(Self(text.into())),
            _ => Err(D::Error::custom("`password` is a text")),
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PasswordDocument {
    password: NewPassword,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RoleDocument {
    role: String,
}

#[derive(Serialize)]
struct UserList {
    users: Vec<UserEntry>,
}

/// A user, as `evergraph user list --json` has it.
#[derive(Serialize)]
struct UserEntry {
    name: String,
    roles: Vec<RoleEntry>,
}

#[derive(Serialize)]
struct RoleEntry {
    database: String,
    role: &'static str,
}

/// `GET /users`: names and roles.
///
/// # Errors
/// 400 if the server has no users.
pub async fn list(call: AdminCall) -> AdminResult {
    let users = authenticator(&call)?.users();
    let entry = |(name, user): (&str, &crate::security::user::User)| UserEntry {
        name: name.to_owned(),
        roles: user
            .roles
            .iter()
            .map(|(database, role)| RoleEntry { database: database.to_string(), role: role.name() })
            .collect(),
    };
    Ok(AdminAnswer::json(&UserList { users: users.iter().map(entry).collect() }))
}

/// `PUT /users/NAME`: adds a user without roles, or gives one another password.
///
/// # Errors
/// 400 for a name or a password that cannot be one; those of the users file.
pub async fn put(call: AdminCall) -> AdminResult {
    let PasswordDocument { password } = call.document().await?;
    let name = call.parameter("user").to_owned();
    let location = path_of(&["users", &name]);
    let is_new = change(&call, move |authenticator| {
        let hash = password::hash(password.0.as_bytes())?;
        authenticator.edit(|users| match users.get(&name) {
            Some(_) => users.set_password(&name, hash).map(|()| false),
            None => users.add(&name, hash).map(|()| true),
        })
    });
    match is_new.await? {
        true => Ok(AdminAnswer::created(&location, &serde_json::json!({"roles": []})).noted("a new one")),
        false => Ok(AdminAnswer::nothing().noted("another password")),
    }
}

/// `DELETE /users/NAME`: whoever is removed is disconnected.
///
/// # Errors
/// 404 for an unknown one; those of the users file.
pub async fn remove(call: AdminCall) -> AdminResult {
    let name = call.parameter("user").to_owned();
    edit(&call, move |users| users.remove(&name)).await
}

/// `PUT /users/NAME/roles/DATABASE`: gives a role, in place of an earlier one.
///
/// # Errors
/// 404 for an unknown user; 400 for an unknown role, and for a lesser one than admin on `*`; those of the users file.
pub async fn grant(call: AdminCall) -> AdminResult {
    let RoleDocument { role } = call.document().await?;
    let known = Role::from_name(&role).ok_or_else(|| {
        let names = Role::ALL.map(Role::name).join(", ");
        HttpError::invalid(format!("there is no role {role:?}: choose one of {names}"))
    })?;
    let [name, on] = ["user", "on"].map(|part| call.parameter(part).to_owned());
    Ok(edit(&call, move |users| users.grant(&name, &on, known)).await?.noted(known.name()))
}

/// `DELETE /users/NAME/roles/DATABASE`.
///
/// # Errors
/// 404 for an unknown user, and one without a role on the database; those of the users file.
pub async fn revoke(call: AdminCall) -> AdminResult {
    let [name, on] = ["user", "on"].map(|part| call.parameter(part).to_owned());
    edit(&call, move |users| users.revoke(&name, &on)).await
}

/// `PUT /password`: another password for the user who sends it, whose connections then end.
///
/// # Errors
/// 400 for a password that cannot be one, and if the server has no users; those of the users file.
pub async fn put_own_password(call: AdminCall) -> AdminResult {
    let PasswordDocument { password } = call.document().await?;
    let name = call.principal.user().unwrap_or_default().to_owned();
    let changing = change(&call, move |authenticator| {
        let hash = password::hash(password.0.as_bytes())?;
        authenticator.edit(|users| users.set_password(&name, hash))
    });
    changing.await?;
    Ok(AdminAnswer::nothing())
}

async fn edit(
    call: &AdminCall,
    change_users: impl FnOnce(&mut Users) -> GraphResult<()> + Send + 'static,
) -> AdminResult {
    change(call, move |authenticator| authenticator.edit(change_users)).await?;
    Ok(AdminAnswer::nothing())
}

/// Does `work` on a thread of its own: it waits for the disk, and for argon2id.
async fn change<T: Send + 'static>(
    call: &AdminCall,
    work: impl FnOnce(&Authenticator) -> GraphResult<T> + Send + 'static,
) -> Result<T, HttpError> {
    let authenticator = authenticator(call)?;
    let changed = call.shared.blocking.run(move |_| work(&authenticator)).await?;
    changed.map_err(|error| HttpError::from(&error))
}

fn authenticator(call: &AdminCall) -> Result<Arc<Authenticator>, HttpError> {
    let users = call.shared.core.authenticator.clone();
    users.ok_or_else(|| {
        HttpError::invalid(
            "this server has no users: evergraph serve --users FILE reads those that evergraph user adds",
        )
    })
}
