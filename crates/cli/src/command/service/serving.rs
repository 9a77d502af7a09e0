//! Serving: a server from its options to its end, whatever it serves.
//!
//! ```text
//! begin ──> the databases are opened ──> serve, until Ctrl-C or SIGTERM ──> they are closed ──> end
//! log, systemd, files of security        SIGHUP: files are read again
//! ```

use crate::command::service::access::AccessArguments;
use crate::command::service::limits::LimitArguments;
use crate::command::service::logging::LogArguments;
use crate::command::service::manager::ServiceManager;
use crate::context::Context;
use evergraph_server::databases::catalogue::DatabaseCatalogue;
use evergraph_server::log::subscriber::Log;
use evergraph_server::log::target;
use evergraph_server::options::ServerOptions;
use evergraph_server::security::options::SecurityOptions;
use evergraph_server::server::Server;
use evergraph_server::spool::options::FileOptions;
use evergraph_terminal::console::Report;
use evergraph_terminal::failure::Failure;
use evergraph_terminal::interrupt::on_hang_up;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

/// How often the end is looked for.
const END_INTERVAL: Duration = Duration::from_millis(20);

/// How a server is reached, limited and logged.
#[derive(Clone, Copy, Debug)]
pub struct ServerArguments<'a> {
    /// Where it listens, and who logs in.
    pub access: &'a AccessArguments,
    /// Its limits.
    pub limits: &'a LimitArguments,
    /// Its log.
    pub log: &'a LogArguments,
}

/// What SIGHUP is for. Where it is for nothing it ends the program, as ever.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HangUpUse {
    /// Files of security are read again, if there are any.
    Security,
    /// What runs beside the server begins again, too.
    Companion,
}

/// Whether clients of a server log in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LogInUse {
    /// They do.
    Needed,
    /// There are no users.
    None,
}

/// What runs beside a server, and is looked after while it serves.
pub trait Companion {
    /// Begins again, because of SIGHUP.
    fn begin_again(&self);

    /// Does what is due. It is called some 50 times a second, and does not wait.
    fn look_after(&self);
}

/// A server from its options to its end.
pub struct Serving<'a> {
    arguments: ServerArguments<'a>,
    context: &'a Context,
    security: SecurityOptions,
    log: Log,
    manager: ServiceManager,
    hung_up: Arc<AtomicBool>,
}

impl<'a> Serving<'a> {
    /// Checks the options, and logs from now on.
    ///
    /// # Errors
    /// Those of [`AccessArguments::security`]; `io` if the system refuses to tell of signals, or the log.
    pub fn begin(
        arguments: ServerArguments<'a>,
        context: &'a Context,
        hang_up_use: HangUpUse,
    ) -> Result<Self, Failure> {
        let security = arguments.access.security()?;
        let log = arguments.log.start()?;
        let manager = ServiceManager::of_environment();
        let reloads = security.users.is_some()
            || security.tls.is_some()
            || security.audit_log.is_some()
            || hang_up_use == HangUpUse::Companion
            || manager.is_there();
        // From now on: databases may take long to open.
        let hung_up = if reloads { on_hang_up()? } else { Arc::default() };
        Ok(Self { arguments, context, security, log, manager, hung_up })
    }

    /// Tells the service manager what is done before the server is ready.
    pub fn tell(&self, status: &str) {
        self.manager.status(status);
    }

    /// Tells the service manager how far the start is, which goes on: it may take as long as it says so.
    pub fn tell_progress(&self, status: &str) {
        self.manager.starting_on(status);
    }

    /// Serves until Ctrl-C or SIGTERM. `report` is printed when the server listens: it is given the URL for drivers, and whether
    /// they have to log in.
    ///
    /// # Errors
    /// Those of listening, and of printing.
    pub fn serve<R: Report>(
        &mut self,
        databases: &Arc<DatabaseCatalogue>,
        files: &FileOptions,
        companion: &dyn Companion,
        report: impl FnOnce(&str, LogInUse) -> R,
    ) -> Result<(), Failure> {
        let mut options = ServerOptions::default();
        options.workers = self.context.threads;
        options.slow_query_time = self.arguments.log.slow_query_time.0;
        self.arguments.limits.apply(&mut options);
        let (listen, databases) = (self.arguments.access.listen, Arc::clone(databases));
        let server = Server::start_with_files(databases, listen, options, &self.security, files)?;
        let scheme = if self.security.tls.is_some() { "wss" } else { "ws" };
        let url = format!("{scheme}://{}/gremlin", server.address());
        let log_in = if self.security.users.is_some() { LogInUse::Needed } else { LogInUse::None };
        self.context.console.summary(&report(&url, log_in))?;
        let status = format!("serving at {url}");
        self.manager.ready(&status);
        while !self.context.cancel.is_cancelled() {
            thread::sleep(END_INTERVAL);
            if self.hung_up.swap(false, Ordering::Relaxed) {
                self.manager.reloading();
                server.reload();
                companion.begin_again();
                tracing::info!(target: target::SERVER, "files were read again");
                self.manager.ready(&status);
            }
            log_notices(&server);
            companion.look_after();
            self.manager.sign_of_life(server.since_sweep());
        }
        self.manager.stopping();
        log_notices(&server);
        server.stop();
        Ok(())
    }

    /// Says that everything is closed.
    pub fn end(self) {
        tracing::info!(target: target::SERVER, "closed");
        self.log.close();
    }
}

fn log_notices(server: &Server) {
    for notice in server.take_notices() {
        tracing::warn!(target: target::SERVER, "{notice}");
    }
}
