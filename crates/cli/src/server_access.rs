//! Server access: how a command connects to the URL that it was given in place of a folder.

use crate::context::Context;
use crate::target::UncheckedUrl;
use clap::Args;
use evergraph_client::admin::call::Admin;
use evergraph_client::client::Client;
use evergraph_client::interrupt::Interrupt;
use evergraph_client::options::ClientOptions;
use evergraph_client::password::Password;
use evergraph_client::url::ServerUrl;
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_terminal::table::visible;
use std::io::{self, IsTerminal};
use std::path::PathBuf;

const HEADING: &str = "With a URL";

/// Options of commands that take a URL.
#[derive(Args, Clone, Debug)]
pub struct ServerAccessArguments {
    /// File whose first line is the password of the URL's user [default: the variable EVERGRAPH_PASSWORD, else it is asked
    /// for].
    #[arg(long, value_name = "FILE", help_heading = HEADING, hide_short_help = true)]
    pub password_file: Option<PathBuf>,
    /// Roots that sign the server's certificate, in PEM [default: the system's].
    #[arg(long, value_name = "FILE", help_heading = HEADING, hide_short_help = true)]
    pub tls_root: Option<PathBuf>,
    /// Certificate to show to the server, and those between it and its root, in PEM.
    #[arg(long, value_name = "FILE", requires = "client_key", help_heading = HEADING, hide_short_help = true)]
    pub client_certificate: Option<PathBuf>,
    /// Key of that certificate, in PEM; other users of this machine must not be able to read it.
    #[arg(long, value_name = "FILE", requires = "client_certificate", help_heading = HEADING, hide_short_help = true)]
    pub client_key: Option<PathBuf>,
}

impl ServerAccessArguments {
    /// Connects and logs in.
    ///
    /// # Errors
    /// `invalid` for a wrong URL, password or certificate, and for options about a folder; `io` if there is no server; `cancelled`.
    pub fn connect(&self, url: &UncheckedUrl, context: &Context) -> Result<Client> {
        let url = url.check()?;
        let mut options = self.options(context)?;
        options.password = self.password(&url)?;
        Client::connect(&url, options)
    }

    /// Administration of the server; nothing is sent yet.
    ///
    /// # Errors
    /// `invalid` for a wrong URL, password file or certificate, and for options about a folder.
    pub fn admin(&self, url: &UncheckedUrl, context: &Context) -> Result<Admin> {
        let url = url.check()?;
        let mut options = self.options(context)?;
        options.password = self.password(&url)?;
        Client::new(&url, options).map(|client| client.admin())
    }

    /// A client that does not log in.
    ///
    /// # Errors
    /// `invalid` for a wrong URL or certificate, and for options about a folder.
    pub fn stranger(&self, url: &UncheckedUrl, context: &Context) -> Result<Client> {
        Client::new(&url.check()?, self.options(context)?)
    }

    /// Refuses options that only a URL has.
    ///
    /// # Errors
    /// `invalid`, by the option.
    pub fn refuse(&self) -> Result<()> {
        let given = [
            ("--password-file", &self.password_file),
            ("--tls-root", &self.tls_root),
            ("--client-certificate", &self.client_certificate),
            ("--client-key", &self.client_key),
        ];
        match given.into_iter().find(|(_, value)| value.is_some()) {
            Some((option, _)) => Err(Error::invalid(format!(
                "{option} is about a server, but the database is a folder, not a URL"
            ))),
            None => Ok(()),
        }
    }

    fn options(&self, context: &Context) -> Result<ClientOptions> {
        context.refuse_opening_options()?;
        let mut options = ClientOptions::default();
        options.tls.root = self.tls_root.clone();
        options.tls.certificate = self.client_certificate.clone();
        options.tls.key = self.client_key.clone();
        options.interrupt = Interrupt::from(&context.cancel);
        Ok(options)
    }

    fn password(&self, url: &ServerUrl) -> Result<Option<Password>> {
        if let Some(path) = &self.password_file {
            return Password::from_file(path).map(Some);
        }
        let Some(user) = &url.user else { return Ok(None) };
        if let Some(password) = Password::from_variable() {
            return Ok(Some(password));
        }
        if !io::stdin().is_terminal() || !io::stderr().is_terminal() {
            return Ok(None);
        }
        let prompt = format!("Password of {} at {}: ", visible(user), url.authority());
        let entered = rpassword::prompt_password(prompt).map_err(|error| match error.kind() {
            io::ErrorKind::Interrupted => Error::new(ErrorKind::Cancelled, "no password was entered"),
            _ => Error::new(ErrorKind::Io, format!("read a password from the terminal: {error}")),
        })?;
        Ok(Some(Password::new(entered)))
    }
}
