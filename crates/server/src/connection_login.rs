//! Connection log-in: how the client of a WebSocket logs in, and as whom its requests run.
//!
//! The answer to a log-in is that of the requests that have waited for it, under their ids: in the Java driver a log-in has
//! an id of its own, and it fails at an answer to that.

use crate::answer::message::Reply;
use crate::client::Client;
use crate::failure::Failure;
use crate::outbox::Outbox;
use crate::security::access::Principal;
use crate::security::audit::{AuditEvent, AuditRecord};
use crate::security::authenticator::{Login, LoginAttempt, LoginRefusal};
use crate::security::login_gate::LoginGate;
use crate::security::quota::{Quota, QuotaGuard};
use crate::security::sasl::read_plain;
use crate::server_core::ServerCore;
use evergraph_protocol::response::attributes::Attributes;
use evergraph_protocol::response::status::Status;
use std::borrow::Cow;
use std::sync::{Arc, Mutex, PoisonError};

/// The log-in of one connection.
pub(crate) struct ConnectionLogin {
    core: Arc<ServerCore>,
    client: Arc<Client>,
    outbox: Arc<Outbox>,
    gate: LoginGate,
    /// Its place among the connections of its user.
    quota: Mutex<Option<QuotaGuard>>,
}

impl ConnectionLogin {
    /// Of a connection of `client`, whose answers go to `outbox`.
    pub(crate) fn new(core: &Arc<ServerCore>, client: &Arc<Client>, outbox: &Arc<Outbox>) -> Arc<Self> {
        let gate = if core.authenticator.is_some() { LoginGate::closed() } else { LoginGate::open() };
        Arc::new(Self {
            core: Arc::clone(core),
            client: Arc::clone(client),
            outbox: Arc::clone(outbox),
            gate,
            quota: Mutex::new(None),
        })
    }

    /// What its client has to do before its requests run.
    pub(crate) fn gate(&self) -> &LoginGate {
        &self.gate
    }

    /// Its client as whom it has logged in by now.
    pub(crate) fn principal(&self) -> Principal {
        self.core.principal(self.client.address(), self.gate.login())
    }

    /// Verifies what a client has sent to log in. The answer comes later, on another thread.
    ///
    /// # Errors
    /// 499 if no log-in may be verified.
    pub(crate) fn authenticate(
        self: &Arc<Self>,
        reply: Reply,
        sasl: &[u8],
        mechanism: Option<&str>,
    ) -> Result<(), Failure> {
        self.gate.begin().map_err(Failure::arguments)?;
        let Some(authenticator) = &self.core.authenticator else {
            return Err(Failure::arguments("this server has no users: connect without user and password"));
        };
        match read_plain(sasl, mechanism) {
            Ok(credentials) => {
                let own = Arc::downgrade(self);
                let answer = move |outcome: Result<Login, LoginRefusal>| {
                    let Some(own) = own.upgrade() else { return };
                    match outcome {
                        Ok(login) => own.succeed(reply, login),
                        Err(refusal) => own.refuse(reply, refusal.message().into()),
                    }
                };
                authenticator.log_in(LoginAttempt {
                    user: credentials.user,
                    password: credentials.password,
                    address: self.client.address(),
                    is_known: false,
                    answer: Box::new(answer),
                });
            }
            Err(why) => {
                let record = AuditRecord::new(AuditEvent::Login, "refused").address(self.client.address());
                self.core.audit.write(&record.detail(why));
                self.refuse(reply, why.into());
            }
        }
        Ok(())
    }

    /// Gives up its place among the connections of its user: the connection has ended.
    pub(crate) fn end(&self) {
        self.quota.lock().unwrap_or_else(PoisonError::into_inner).take();
    }

    fn succeed(&self, reply: Reply, login: Login) {
        match self.core.quotas.take(&login.user, Quota::Connections) {
            Ok(quota) => *self.quota.lock().unwrap_or_else(PoisonError::into_inner) = Some(quota),
            Err(why) => return self.refuse(reply, why.into()),
        }
        self.client.logged_in();
        if !self.gate.is_awaited() {
            self.outbox.push(reply.frame(Status::NoContent, None, &Attributes::new()));
        }
        self.gate.succeed(login);
    }

    fn refuse(&self, reply: Reply, why: Cow<'static, str>) {
        // Before the gate is decided, which may end the connection.
        if !self.gate.is_awaited() {
            self.outbox.push(reply.failure(&Failure::unauthorized(&*why)));
        }
        self.gate.fail(why);
    }
}
