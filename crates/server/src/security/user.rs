//! Users: their names, the hashes of their passwords, and their roles.

use crate::databases::name::{EVERY_DATABASE, check_database_name};
use crate::security::password;
use crate::security::role::Role;
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::nearest::did_you_mean;
use evergraph_storage::planted::{Bug, planted};
use std::collections::BTreeMap;

/// Characters of the name of a user.
pub const NAME_LENGTH_MAX: usize = 64;

/// A user.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct User {
    /// The hash of the password.
    pub password_hash: Box<str>,
    /// Roles by the name of the database, or [`EVERY_DATABASE`]. There is none for any other database.
    pub roles: BTreeMap<Box<str>, Role>,
}

impl User {
    /// The role on the database `name`: that on every database, or else its own.
    #[must_use]
    pub fn role_on(&self, name: &str) -> Option<Role> {
        self.roles.get(EVERY_DATABASE).or_else(|| self.roles.get(name)).copied()
    }
}

/// All users, by name.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Users(BTreeMap<Box<str>, User>);

impl Users {
    /// The user `name`.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&User> {
        self.0.get(name)
    }

    /// All of them, by name.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, &User)> {
        self.0.iter().map(|(name, user)| (&**name, user))
    }

    /// Refuses the name of a new user.
    ///
    /// # Errors
    /// `invalid` for a name that is in use or cannot be one.
    pub fn check_new(&self, name: &str) -> Result<()> {
        check_user_name(name)?;
        if self.0.contains_key(name) {
            return Err(Error::invalid(format!("there is a user {name:?} already")));
        }
        Ok(())
    }

    /// Refuses the name of an unknown user.
    ///
    /// # Errors
    /// `not_found`.
    pub fn check_known(&self, name: &str) -> Result<()> {
        if self.0.contains_key(name) {
            return Ok(());
        }
        let guess = did_you_mean(name, self.0.keys().map(|name| &**name));
        Err(Error::new(ErrorKind::NotFound, format!("there is no user {name:?}{guess}")))
    }

    /// Adds a user without roles.
    ///
    /// # Errors
    /// `invalid` for a name that is in use or cannot be one, and for a hash that is not by argon2id.
    pub fn add(&mut self, name: &str, password_hash: String) -> Result<()> {
        self.check_new(name)?;
        check_hash(name, &password_hash)?;
        self.0.insert(name.into(), User { password_hash: password_hash.into(), roles: BTreeMap::new() });
        Ok(())
    }

    /// Removes a user.
    ///
    /// # Errors
    /// `not_found` for an unknown user.
    pub fn remove(&mut self, name: &str) -> Result<()> {
        self.known(name)?;
        self.0.remove(name);
        Ok(())
    }

    /// Replaces the password of a user by that of this hash.
    ///
    /// # Errors
    /// `not_found` for an unknown user, `invalid` for a hash that is not by argon2id.
    pub fn set_password(&mut self, name: &str, password_hash: String) -> Result<()> {
        check_hash(name, &password_hash)?;
        self.known(name)?.password_hash = password_hash.into();
        Ok(())
    }

    /// Gives a user a role on a database, in place of an earlier one. On [`EVERY_DATABASE`] that is [`Role::Admin`].
    ///
    /// # Errors
    /// `not_found` for an unknown user, `invalid` for a name that no database can have, and for a lesser role on every
    /// database.
    pub fn grant(&mut self, name: &str, database: &str, role: Role) -> Result<()> {
        match database {
            EVERY_DATABASE if role != Role::Admin && !planted(Bug::AnyRoleOnEveryDatabase) => {
                return Err(Error::invalid(format!(
                    "the role {} can be given on one database at a time: on every database, {EVERY_DATABASE:?}, a user can only \
                     be admin",
                    role.name()
                )));
            }
            EVERY_DATABASE => {}
            name => check_database_name(name)?,
        }
        self.known(name)?.roles.insert(database.into(), role);
        Ok(())
    }

    /// Takes the role on a database from a user.
    ///
    /// # Errors
    /// `not_found` for an unknown user, and one without a role on the database.
    pub fn revoke(&mut self, name: &str, database: &str) -> Result<()> {
        let user = self.known(name)?;
        match user.roles.remove(database) {
            Some(_) => Ok(()),
            None => {
                let guess = did_you_mean(database, user.roles.keys().map(|name| &**name));
                let text = format!("the user {name:?} has no role on the database {database:?}{guess}");
                Err(Error::new(ErrorKind::NotFound, text))
            }
        }
    }

    fn known(&mut self, name: &str) -> Result<&mut User> {
        self.check_known(name)?;
        Ok(self.0.get_mut(name).expect("it was found above"))
    }
}

fn check_user_name(name: &str) -> Result<()> {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "._@-".contains(letter);
    let begins = name.starts_with(|first: char| first.is_ascii_alphanumeric());
    if begins && name.len() <= NAME_LENGTH_MAX && name.chars().all(is_plain) {
        return Ok(());
    }
    Err(Error::invalid(format!(
        "{name:?} cannot be the name of a user: it begins with a letter or digit, goes on with these and . _ @ -, and has \
         at most {NAME_LENGTH_MAX} characters, of ASCII"
    )))
}

fn check_hash(name: &str, hash: &str) -> Result<()> {
    match password::refusal(hash) {
        None => Ok(()),
        Some(why) => {
            Err(Error::invalid(format!("the password hash of the user {name:?} cannot be used: {why}")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HASH: &str =
        "$argon2id$v=19$m=19456,t=2,p=1$c29tZXNhbHQ$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";

    #[test]
    fn a_new_user_has_no_role_and_a_role_is_for_one_database() {
        let mut users = Users::default();
        users.add("ann", HASH.to_owned()).unwrap();
        assert!(users.get("ann").unwrap().roles.is_empty());
        users.grant("ann", "social", Role::Writer).unwrap();
        users.grant("ann", "social", Role::Reader).unwrap();
        let roles = &users.get("ann").unwrap().roles;
        assert_eq!((roles.get("social"), roles.get("bank")), (Some(&Role::Reader), None));
        users.revoke("ann", "social").unwrap();
        assert!(users.get("ann").unwrap().roles.is_empty());
        assert!(
            users.revoke("ann", "social").is_err() && users.grant("bob", "social", Role::Reader).is_err()
        );
        assert!(users.add("ann", HASH.to_owned()).is_err());
        users.remove("ann").unwrap();
        assert!(users.remove("ann").is_err());
    }

    #[test]
    fn only_an_administrator_has_a_role_on_every_database() {
        let mut users = Users::default();
        users.add("ann", HASH.to_owned()).unwrap();
        users.grant("ann", "social", Role::Reader).unwrap();
        for role in [Role::Reader, Role::Writer] {
            assert!(users.grant("ann", EVERY_DATABASE, role).unwrap_err().to_string().contains("admin"));
        }
        let role_on = |users: &Users, name: &str| users.get("ann").unwrap().role_on(name);
        assert_eq!((role_on(&users, "social"), role_on(&users, "bank")), (Some(Role::Reader), None));
        users.grant("ann", EVERY_DATABASE, Role::Admin).unwrap();
        assert_eq!(
            (role_on(&users, "social"), role_on(&users, "bank")),
            (Some(Role::Admin), Some(Role::Admin))
        );
        users.revoke("ann", EVERY_DATABASE).unwrap();
        assert_eq!((role_on(&users, "social"), role_on(&users, "bank")), (Some(Role::Reader), None));
    }

    #[test]
    fn names_with_paths_and_control_characters_are_refused() {
        let mut users = Users::default();
        for name in [
            "",
            "..",
            ".ann",
            "-ann",
            "a/b",
            "a\\b",
            "a b",
            "a\nb",
            "a\u{1b}[2J",
            "ä",
            "a\0",
            &"a".repeat(65),
        ] {
            assert!(users.add(name, HASH.to_owned()).is_err(), "{name:?}");
        }
        users.add("Ann.O-1@example", HASH.to_owned()).unwrap();
        for name in ["", "..", "../bank", "a/b", "a\\b", "a\nb", "a\u{7f}", &"a".repeat(65)] {
            assert!(users.grant("Ann.O-1@example", name, Role::Reader).is_err(), "{name:?}");
        }
        users.grant("Ann.O-1@example", "Größe 2", Role::Reader).unwrap();
    }
}
