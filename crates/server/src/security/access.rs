//! Access: what a client may do with the database, as the users file says now.

use crate::failure::Failure;
use crate::security::audit::{AuditEvent, AuditLog, AuditRecord};
use crate::security::authenticator::{Authenticator, Login};
use crate::security::role::Role;
use std::net::IpAddr;
use std::sync::Arc;

/// What a client may do. It is asked at every request, and again before a commit: roles may change meanwhile.
#[derive(Clone)]
pub struct Access {
    database: Arc<str>,
    address: IpAddr,
    audit: Arc<AuditLog>,
    rights: Rights,
}

/// Whose rights count.
#[derive(Clone)]
pub enum Rights {
    /// There are no users, and everybody may do everything.
    Everybody,
    /// Those of a user who logged in.
    User(Arc<Authenticator>, Arc<Login>),
    /// There are users, and none of them logged in.
    Nobody,
}

impl Access {
    /// What a client at `address` may do with `database`.
    #[must_use]
    pub fn new(database: Arc<str>, address: IpAddr, audit: Arc<AuditLog>, rights: Rights) -> Self {
        Self { database, address, audit, rights }
    }

    /// The user who logged in.
    #[must_use]
    pub fn user(&self) -> Option<&str> {
        match &self.rights {
            Rights::User(_, login) => Some(&login.user),
            Rights::Everybody | Rights::Nobody => None,
        }
    }

    /// Whether the user is gone, or has another password than at the log-in.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        match &self.rights {
            Rights::User(users, login) => users.role(login, &self.database).is_err(),
            Rights::Everybody | Rights::Nobody => false,
        }
    }

    /// Whether there is a role on the database. Nothing is refused, and nothing is written into the audit log.
    #[must_use]
    pub fn has_role(&self) -> bool {
        match &self.rights {
            Rights::Everybody => true,
            Rights::User(users, login) => matches!(users.role(login, &self.database), Ok(Some(_))),
            Rights::Nobody => false,
        }
    }

    /// The role on the database.
    ///
    /// # Errors
    /// 401 if the log-in holds no longer, 403 without a role.
    pub fn role(&self) -> Result<Role, Failure> {
        let (users, login) = match &self.rights {
            Rights::Everybody => return Ok(Role::Admin),
            Rights::User(users, login) => (users, login),
            Rights::Nobody => return Err(self.refused(Failure::unauthorized("log in first"))),
        };
        let failure = match users.role(login, &self.database) {
            Ok(Some(role)) => return Ok(role),
            Ok(None) => Failure::forbidden(format!(
                "the user {:?} has no role on the database {:?}: evergraph user grant gives it one",
                login.user, self.database
            )),
            Err(_) => Failure::unauthorized(format!(
                "the user {:?} was removed or has another password now: connect and log in again",
                login.user
            )),
        };
        Err(self.refused(failure))
    }

    /// The role, which may write.
    ///
    /// # Errors
    /// As [`Access::role`]; 403 for a reader. `what` says what is refused.
    pub fn role_that_writes(&self, what: &str) -> Result<Role, Failure> {
        let role = self.role()?;
        if role.may_write() {
            return Ok(role);
        }
        let user = self.user().unwrap_or_default();
        let text = format!(
            "{what}, and the user {user:?} has the role {} on the database {:?}, which only reads",
            role.name(),
            self.database
        );
        Err(self.refused(Failure::forbidden(text)))
    }

    /// Writes what a session came to into the audit log.
    pub fn log_session(&self, outcome: &str, session: &str) {
        let record = AuditRecord::new(AuditEvent::Session, outcome).user(self.user()).address(self.address);
        self.audit.write(&record.database(&self.database).detail(session));
    }

    fn refused(&self, failure: Failure) -> Failure {
        let record = AuditRecord::new(AuditEvent::Request, "refused").user(self.user()).address(self.address);
        self.audit.write(&record.database(&self.database).detail(&failure.message));
        failure
    }
}
