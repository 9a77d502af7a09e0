//! `Login`: proves who we are, and with SCRAM that the server knows the password, too.
//!
//! ```text
//! none        the server asks for nothing
//! clear text  the password itself; only by TLS, or within the machine
//! MD5         a hash of password, user and the server's salt
//! SCRAM       SCRAM-SHA-256; with TLS SCRAM-SHA-256-PLUS, which a server in the middle cannot pass on
//! ```
//!
//! Not supported: GSSAPI, SSPI, OAuth; certificates are TLS's own matter.

use bytes::BytesMut;
use postgres_protocol::authentication::md5_hash;
use postgres_protocol::authentication::sasl::{
    ChannelBinding, SCRAM_SHA_256, SCRAM_SHA_256_PLUS, ScramSha256,
};
use postgres_protocol::message::frontend;

use crate::wire::error::WireError;
use crate::wire::server_message::Authentication;
use crate::wire::startup::{Binding, ClearText, Password, Startup};

/// The steps of a log-in.
pub(super) struct Login {
    startup: Startup,
    scram: Option<ScramSha256>,
    is_proven: bool,
}

/// Whether the log-in is over.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum LoginStep {
    /// More is to come.
    Pending,
    /// The server accepted it.
    Accepted,
}

impl Login {
    pub(super) fn new(startup: Startup) -> Self {
        Self { startup, scram: None, is_proven: false }
    }

    /// Answers a step of the server into `out`.
    pub(super) fn answer(
        &mut self,
        step: Authentication<'_>,
        out: &mut BytesMut,
    ) -> Result<LoginStep, WireError> {
        match step {
            Authentication::Ok if self.scram.is_some() && !self.is_proven => {
                return Err(failed("the server accepted it without the proof that it knows the password"));
            }
            Authentication::Ok => return Ok(LoginStep::Accepted),
            Authentication::ClearText => {
                if self.startup.clear_text == ClearText::Refused {
                    return Err(failed(
                        "the server wants the password in clear text over a connection that is not encrypted: use \
                         sslmode=require, or scram-sha-256 in the server's pg_hba.conf",
                    ));
                }
                let password = self.password()?;
                frontend::password_message(password, out).map_err(|_| WireError::ZeroByte("the password"))?;
            }
            Authentication::Md5(salt) => {
                let hash = md5_hash(self.startup.user.as_bytes(), self.password()?, salt);
                frontend::password_message(hash.as_bytes(), out).map_err(failed)?;
            }
            Authentication::Sasl(mechanisms) => self.begin_scram(&mechanisms, out)?,
            Authentication::SaslContinue(message) => {
                let scram =
                    self.scram.as_mut().ok_or_else(|| failed("the server went on with no mechanism"))?;
                scram.update(message).map_err(failed)?;
                frontend::sasl_response(scram.message(), out).map_err(failed)?;
            }
            Authentication::SaslFinal(message) => {
                let scram = self.scram.as_mut().ok_or_else(|| failed("the server ended no mechanism"))?;
                scram.finish(message).map_err(failed)?;
                self.is_proven = true;
            }
            Authentication::Other(way) => {
                let name = match way {
                    2 => "Kerberos 5",
                    6 => "SCM credentials",
                    7 | 8 => "GSSAPI",
                    9 => "SSPI",
                    _ => "an unknown way",
                };
                return Err(failed(format!(
                    "the server wants {name} ({way}), which is not supported: allow scram-sha-256 in its pg_hba.conf"
                )));
            }
        }
        Ok(LoginStep::Pending)
    }

    fn begin_scram(&mut self, mechanisms: &[&str], out: &mut BytesMut) -> Result<(), WireError> {
        if self.scram.is_some() {
            return Err(failed("the server asked twice for SCRAM"));
        }
        let has = |mechanism: &str| mechanisms.contains(&mechanism);
        let (mechanism, binding) = match &self.startup.channel_binding {
            Binding::ServerEndPoint(hash) if has(SCRAM_SHA_256_PLUS) => {
                (SCRAM_SHA_256_PLUS, ChannelBinding::tls_server_end_point(hash.clone()))
            }
            // The server hears that we could have bound the log-in: it notices if its offer was taken away.
            Binding::ServerEndPoint(_) => (SCRAM_SHA_256, ChannelBinding::unrequested()),
            Binding::None => (SCRAM_SHA_256, ChannelBinding::unsupported()),
        };
        if !has(mechanism) {
            return Err(failed(format!(
                "the server offers {}, and only {SCRAM_SHA_256} is supported",
                mechanisms.join(", ")
            )));
        }
        let scram = ScramSha256::new(self.password()?, binding);
        frontend::sasl_initial_response(mechanism, scram.message(), out).map_err(failed)?;
        self.scram = Some(scram);
        Ok(())
    }

    fn password(&self) -> Result<&[u8], WireError> {
        let password = self.startup.password.as_ref().map(Password::reveal);
        password.filter(|password| !password.is_empty()).ok_or_else(|| {
            failed(format!(
                "the server wants a password for the user {:?}: set PGPASSWORD, or write it into ~/.pgpass (or the file \
                 that PGPASSFILE names) as host:port:database:user:password",
                self.startup.user
            ))
        })
    }
}

fn failed(why: impl ToString) -> WireError {
    WireError::Login(why.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::startup::Purpose;

    fn login(clear_text: ClearText, password: Option<&str>) -> Login {
        Login::new(Startup {
            user: "md5_user".into(),
            password: password.map(|password| Password::new(password.as_bytes())),
            database: "d".into(),
            application_name: String::new(),
            options: None,
            purpose: Purpose::Queries,
            clear_text,
            channel_binding: Binding::None,
        })
    }

    #[test]
    fn a_password_is_not_sent_in_clear_text_where_others_read_along() {
        let mut out = BytesMut::new();
        let error = login(ClearText::Refused, Some("secret"))
            .answer(Authentication::ClearText, &mut out)
            .unwrap_err();
        assert!(error.to_string().contains("sslmode=require"), "{error}");
        assert!(out.is_empty());
        let step = login(ClearText::Allowed, Some("secret")).answer(Authentication::ClearText, &mut out);
        assert_eq!((step, &out[..]), (Ok(LoginStep::Pending), &b"p\0\0\0\x0bsecret\0"[..]));
    }

    #[test]
    fn md5_is_the_hash_that_postgresql_expects() {
        let mut out = BytesMut::new();
        let salt = Authentication::Md5([0x2a, 0x3d, 0x8f, 0xe0]);
        login(ClearText::Refused, Some("password")).answer(salt, &mut out).unwrap();
        assert_eq!(&out[5..], b"md562af4dd09bbb41884907a838a3233294\0");
    }

    #[test]
    fn a_server_that_skips_its_proof_or_wants_what_we_lack_is_refused() {
        let mut out = BytesMut::new();
        let mut scram = login(ClearText::Refused, Some("password"));
        scram.answer(Authentication::Sasl(vec![SCRAM_SHA_256_PLUS, SCRAM_SHA_256]), &mut out).unwrap();
        assert!(out.starts_with(b"p") && out.windows(4).any(|part| part == b"n,,n"));
        assert!(scram.answer(Authentication::Ok, &mut out).is_err());
        assert!(scram.answer(Authentication::SaslContinue(b"r=other,s=AAAA,i=4096"), &mut out).is_err());
        let refused = |step| {
            login(ClearText::Allowed, None).answer(step, &mut BytesMut::new()).unwrap_err().to_string()
        };
        assert!(refused(Authentication::Sasl(vec![SCRAM_SHA_256])).contains("PGPASSWORD"));
        assert!(refused(Authentication::Sasl(vec!["OAUTHBEARER"])).contains("OAUTHBEARER"));
        assert!(refused(Authentication::Other(7)).contains("GSSAPI"));
        assert!(refused(Authentication::SaslFinal(b"")).contains("no mechanism"));
    }
}
