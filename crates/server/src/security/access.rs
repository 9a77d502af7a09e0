//! Access: who a client is, and what it may do with a database, as the users file says now.

use crate::databases::name::EVERY_DATABASE;
use crate::failure::Failure;
use crate::security::audit::{AuditEvent, AuditLog, AuditRecord};
use crate::security::authenticator::{Authenticator, Login};
use crate::security::role::Role;
use std::net::IpAddr;
use std::sync::Arc;

/// Who a client is, and from where.
#[derive(Clone)]
pub struct Principal {
    address: IpAddr,
    audit: Arc<AuditLog>,
    rights: Rights,
}

/// What a principal may do with one database. It is asked at every request, and again before a commit: roles may change
/// meanwhile.
#[derive(Clone)]
pub struct Access {
    principal: Principal,
    database: Arc<str>,
    /// What the client called the database, if that is all that it may read of it.
    shown: Option<&'static str>,
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

impl Principal {
    /// A client at `address` with these rights.
    #[must_use]
    pub fn new(address: IpAddr, audit: Arc<AuditLog>, rights: Rights) -> Self {
        Self { address, audit, rights }
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
            Rights::User(users, login) => users.role(login, "").is_err(),
            Rights::Everybody | Rights::Nobody => false,
        }
    }

    /// The role on the database `name`, if any. Nothing is written into the audit log: to show who may see what.
    ///
    /// # Errors
    /// 401 if nobody has logged in, or the log-in holds no longer.
    pub fn role_on(&self, name: &str) -> Result<Option<Role>, Failure> {
        match &self.rights {
            Rights::Everybody => Ok(Some(Role::Admin)),
            Rights::Nobody => Err(Failure::unauthorized("log in first")),
            Rights::User(users, login) => users.role(login, name).map_err(|_| {
                Failure::unauthorized(format!(
                    "the user {:?} was removed or has another password now: connect and log in again",
                    login.user
                ))
            }),
        }
    }

    /// What it may do with the database `name`.
    #[must_use]
    pub fn on(&self, name: &str) -> Access {
        Access { principal: self.clone(), database: name.into(), shown: None }
    }

    /// Refuses whoever is no administrator of every database.
    ///
    /// # Errors
    /// 401 if the log-in holds no longer, 403.
    pub fn check_administrator_of_all(&self) -> Result<(), Failure> {
        let failure = match self.role_on(EVERY_DATABASE) {
            Ok(Some(_)) => return Ok(()),
            Ok(None) => Failure::forbidden(format!(
                "this is for administrators of every database, and the user {:?} is none: evergraph user grant makes one, \
                 with the role admin on {EVERY_DATABASE:?}",
                self.user().unwrap_or_default()
            )),
            Err(failure) => failure,
        };
        let record = AuditRecord::new(AuditEvent::Request, "refused").user(self.user()).address(self.address);
        self.audit.write(&record.detail(&failure.message));
        Err(failure)
    }

    /// Writes what an administration came to into the audit log.
    pub fn log_change(&self, outcome: &str, database: Option<&str>, detail: &str) {
        let record = AuditRecord::new(AuditEvent::Administration, outcome).user(self.user());
        let record = record.address(self.address).detail(detail);
        self.audit.write(&database.map_or(record, |database| record.database(database)));
    }

    /// Writes what a session in the database `name` came to into the audit log.
    pub fn log_session(&self, outcome: &str, name: &str, session: &str) {
        let record = AuditRecord::new(AuditEvent::Session, outcome).user(self.user()).address(self.address);
        self.audit.write(&record.database(name).detail(session));
    }
}

impl Access {
    /// The user who logged in.
    #[must_use]
    pub fn user(&self) -> Option<&str> {
        self.principal.user()
    }

    /// Where the client is.
    #[must_use]
    pub fn address(&self) -> IpAddr {
        self.principal.address
    }

    /// The database, for the log: the client may not be allowed to know that there is one of this name.
    #[must_use]
    pub fn database(&self) -> &str {
        &self.database
    }

    /// The same, with a refusal that calls the database `name`: what it is really called is nothing to whoever has no
    /// role on it.
    #[must_use]
    pub fn shown_as(self, name: &'static str) -> Self {
        Self { shown: Some(name), ..self }
    }

    /// Whose access it is.
    #[must_use]
    pub fn principal(&self) -> &Principal {
        &self.principal
    }

    /// The role on the database.
    ///
    /// # Errors
    /// 401 if the log-in holds no longer, 403 without a role.
    pub fn role(&self) -> Result<Role, Failure> {
        let failure = match self.principal.role_on(&self.database) {
            Ok(Some(role)) => return Ok(role),
            Ok(None) => Failure::forbidden(format!(
                "the user {:?} has no role on the database {:?}: evergraph user grant gives it one",
                self.principal.user().unwrap_or_default(),
                self.shown.unwrap_or(&self.database)
            )),
            Err(failure) => failure,
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
        let user = self.principal.user().unwrap_or_default();
        let text = format!(
            "{what}, and the user {user:?} has the role {} on the database {:?}, which only reads",
            role.name(),
            self.database
        );
        Err(self.refused(Failure::forbidden(text)))
    }

    /// The role, which is `least` or includes it.
    ///
    /// # Errors
    /// As [`Access::role`]; 403 for a lesser role.
    pub fn role_of_at_least(&self, least: Role) -> Result<Role, Failure> {
        let role = self.role()?;
        if role >= least {
            return Ok(role);
        }
        let user = self.principal.user().unwrap_or_default();
        let text = format!(
            "this needs the role {} on the database {:?}, and the user {user:?} has the role {}",
            least.name(),
            self.database,
            role.name()
        );
        Err(self.refused(Failure::forbidden(text)))
    }

    fn refused(&self, failure: Failure) -> Failure {
        let Principal { address, audit, .. } = &self.principal;
        let record =
            AuditRecord::new(AuditEvent::Request, "refused").user(self.principal.user()).address(*address);
        audit.write(&record.database(&self.database).detail(&failure.message));
        failure
    }
}
