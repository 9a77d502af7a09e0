//! Authenticator: verifies log-ins, and knows what users may do now.
//!
//! ```text
//! log_in ──> cached? ──yes──> answered at once
//!               │ no
//!               ├──> failed too often? ──yes──> refused at once
//!               └──> queue, bounded ──> one or two threads: argon2id ──> answered
//! ```
//!
//! An unknown user takes the same path as a wrong password, with a hash that nobody has the password of. Argon2id never
//! runs on a network thread, nor on a worker that runs queries.
//!
//! The users file is read again when it changed, which is looked for every second, or when asked. A file that can't be
//! read changes nothing.

use crate::security::audit::{AuditEvent, AuditLog, AuditRecord};
use crate::security::login_cache::LoginCache;
use crate::security::login_limit::LoginLimit;
use crate::security::network::network;
use crate::security::password;
use crate::security::role::Role;
use crate::security::user::{User, Users};
use crate::security::users_file::{self, Create, FileStamp};
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_storage::planted::{Bug, planted};
use std::collections::{HashMap, VecDeque};
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Instant;

/// Log-ins that wait to be verified, of all networks and of one.
const WAITING_MAX: usize = 1024;
const WAITING_OF_NETWORK_MAX: usize = 64;
/// Processors for each thread that verifies, and such threads.
const PROCESSORS_A_THREAD: usize = 4;
const THREADS_MAX: usize = 2;

/// A user who has logged in, with this password.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Login {
    /// The user.
    pub user: Box<str>,
    /// The hash of the password as it was then.
    password_hash: Box<str>,
}

/// Why a log-in was refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LoginRefusal {
    /// There is no such user, or it has another password. Nobody learns which.
    WrongCredentials,
    /// Too many log-ins of the user, or from the address, have failed.
    TooManyFailures,
    /// Too many log-ins wait to be verified.
    Busy,
}

impl LoginRefusal {
    /// What the client reads.
    #[must_use]
    pub const fn message(self) -> &'static str {
        match self {
            Self::WrongCredentials => "user or password is wrong",
            Self::TooManyFailures => "too many log-ins have failed: wait some seconds",
            Self::Busy => "too many log-ins wait to be verified: try again",
        }
    }
}

/// A log-in to be verified.
pub struct LoginAttempt {
    /// The user.
    pub user: Box<str>,
    /// The password.
    pub password: Box<[u8]>,
    /// Where the client is.
    pub address: IpAddr,
    /// Whether this user has logged in on the same connection before, so that another time is no news.
    pub is_known: bool,
    /// Told what came of it, once, on any thread.
    pub answer: Box<dyn FnOnce(std::result::Result<Login, LoginRefusal>) + Send>,
}

/// Verifies log-ins against a users file.
///
/// Concurrency: each field has a lock of its own, and none is held while another one is taken, or while anything is
/// verified or answered.
pub struct Authenticator {
    path: PathBuf,
    loaded: Mutex<Loaded>,
    cache: Mutex<LoginCache>,
    limit: Mutex<LoginLimit>,
    /// A hash as strong as any other, of a password that nobody knows.
    decoy_hash: String,
    queue: Mutex<Queue>,
    /// A log-in waits, or the authenticator stops.
    changed: Condvar,
    audit: Arc<AuditLog>,
}

struct Loaded {
    users: Arc<Users>,
    /// Of the file that was looked at last, whether or not it could be used.
    stamp: Option<FileStamp>,
}

#[derive(Default)]
struct Queue {
    waiting: VecDeque<LoginAttempt>,
    of_networks: HashMap<IpAddr, usize>,
    threads: Vec<JoinHandle<()>>,
    is_stopping: bool,
}

impl Authenticator {
    /// Reads the users file at `path`, and starts threads.
    ///
    /// # Errors
    /// Those of reading; `io` if no thread can be started, or the system gives no random bytes.
    pub fn start(path: &Path, audit: Arc<AuditLog>) -> Result<Arc<Self>> {
        let (users, stamp) = users_file::read(path)?;
        let mut unknown = [0; 32];
        getrandom::fill(&mut unknown).map_err(|error| {
            Error::new(ErrorKind::Io, format!("ask the system for random bytes: {error}"))
        })?;
        let authenticator = Arc::new(Self {
            path: path.to_owned(),
            loaded: Mutex::new(Loaded { users: Arc::new(users), stamp: Some(stamp) }),
            cache: Mutex::new(LoginCache::new()?),
            limit: Mutex::default(),
            decoy_hash: password::hash(&unknown)?,
            queue: Mutex::default(),
            changed: Condvar::new(),
            audit,
        });
        let processors = thread::available_parallelism().map_or(1, usize::from);
        for _ in 0..(processors / PROCESSORS_A_THREAD).clamp(1, THREADS_MAX) {
            let own = Arc::clone(&authenticator);
            let thread = thread::Builder::new()
                .name("server-login".to_owned())
                .spawn(move || own.verify_all())
                .map_err(|error| {
                    Error::new(ErrorKind::Io, format!("start a thread: {error}")).because(error)
                })?;
            lock(&authenticator.queue).threads.push(thread);
        }
        Ok(authenticator)
    }

    /// Answers `attempt` at once, or once it is verified. It waits for nothing.
    pub fn log_in(&self, attempt: LoginAttempt) {
        if let Some(known) = self.without_verifying(&attempt) {
            return self.answer(attempt, known);
        }
        let mut queue = lock(&self.queue);
        let network = network(attempt.address);
        let of_network = queue.of_networks.get(&network).copied().unwrap_or_default();
        if queue.is_stopping || queue.waiting.len() >= WAITING_MAX || of_network >= WAITING_OF_NETWORK_MAX {
            drop(queue);
            return self.answer(attempt, Err(LoginRefusal::Busy));
        }
        *queue.of_networks.entry(network).or_default() += 1;
        queue.waiting.push_back(attempt);
        drop(queue);
        self.changed.notify_one();
    }

    /// The role of whoever logged in, on `database`.
    ///
    /// # Errors
    /// [`LoginEnded`] if the user is gone or has another password.
    pub fn role(&self, login: &Login, database: &str) -> std::result::Result<Option<Role>, LoginEnded> {
        let users = self.users();
        match users.get(&login.user) {
            Some(user) if user.password_hash == login.password_hash || planted(Bug::LoginOutlivesUser) => {
                let any = user.roles.values().next().copied();
                Ok(if planted(Bug::RoleOnAnyDatabase) { any } else { user.role_on(database) })
            }
            _ => Err(LoginEnded),
        }
    }

    /// Reads the file again if it is another one than before.
    ///
    /// # Errors
    /// Those of reading, once for each state of the file; the users stay as they were.
    pub fn refresh(&self) -> Result<()> {
        let stamp = FileStamp::of(&self.path);
        if lock(&self.loaded).stamp == stamp { Ok(()) } else { self.reload() }
    }

    /// Reads the file again.
    ///
    /// # Errors
    /// Those of reading; the users stay as they were.
    pub fn reload(&self) -> Result<()> {
        let stamp = FileStamp::of(&self.path);
        let read = users_file::read(&self.path);
        let mut loaded = lock(&self.loaded);
        let (users, stamp) = match read {
            Ok((users, stamp)) => (users, stamp),
            Err(error) => {
                loaded.stamp = stamp;
                drop(loaded);
                let text = format!("{error}; users and roles stay as they were");
                self.audit.write(&AuditRecord::new(AuditEvent::Users, "refused").detail(&text));
                return Err(Error::new(error.kind(), text).because(error));
            }
        };
        let before = std::mem::replace(&mut *loaded, Loaded { users: Arc::new(users), stamp: Some(stamp) });
        let after = Arc::clone(&loaded.users);
        drop(loaded);
        self.log_changes(&before.users, &after);
        Ok(())
    }

    /// Gives up what waits, and ends the threads.
    pub fn stop(&self) {
        let (threads, waiting) = {
            let mut queue = lock(&self.queue);
            queue.is_stopping = true;
            (std::mem::take(&mut queue.threads), std::mem::take(&mut queue.waiting))
        };
        self.changed.notify_all();
        drop(waiting);
        for thread in threads {
            let _ = thread.join();
        }
    }

    /// Changes the users in the file, which `evergraph user` may change as well. What is changed holds at once.
    ///
    /// Cost: waits for whoever has the file locked, and for the disk.
    ///
    /// # Errors
    /// Those of reading and writing the file, and of `change`; nothing is changed then.
    pub fn edit<T>(&self, change: impl FnOnce(&mut Users) -> Result<T>) -> Result<T> {
        let changed = users_file::edit(&self.path, Create::Never, change)?;
        self.reload()?;
        Ok(changed)
    }

    /// The users and their roles, as they were read last.
    #[must_use]
    pub fn users(&self) -> Arc<Users> {
        Arc::clone(&lock(&self.loaded).users)
    }

    /// What comes of a log-in that needs no argon2id.
    fn without_verifying(&self, attempt: &LoginAttempt) -> Option<std::result::Result<Login, LoginRefusal>> {
        let users = self.users();
        if let Some(user) = users.get(&attempt.user)
            && lock(&self.cache).contains(&attempt.user, &user.password_hash, &attempt.password)
        {
            return Some(Ok(login(attempt, user)));
        }
        let is_allowed = lock(&self.limit).allows(&attempt.user, attempt.address, Instant::now());
        (!is_allowed && !planted(Bug::LoginsUnlimited)).then_some(Err(LoginRefusal::TooManyFailures))
    }

    fn verify_all(&self) {
        loop {
            let attempt = {
                let mut queue = lock(&self.queue);
                loop {
                    if queue.is_stopping {
                        return;
                    }
                    if let Some(attempt) = queue.waiting.pop_front() {
                        let network = network(attempt.address);
                        if let Some(count) = queue.of_networks.get_mut(&network) {
                            *count -= 1;
                            if *count == 0 {
                                queue.of_networks.remove(&network);
                            }
                        }
                        break attempt;
                    }
                    queue = self.changed.wait(queue).unwrap_or_else(PoisonError::into_inner);
                }
            };
            // Meanwhile the same may have been verified, or have failed too often.
            let outcome = self.without_verifying(&attempt).unwrap_or_else(|| self.verify(&attempt));
            self.answer(attempt, outcome);
        }
    }

    fn verify(&self, attempt: &LoginAttempt) -> std::result::Result<Login, LoginRefusal> {
        let users = self.users();
        let user = users.get(&attempt.user);
        if user.is_none() && planted(Bug::UnknownUsersAnsweredFast) {
            return Err(LoginRefusal::WrongCredentials);
        }
        let hash = user.map_or(&*self.decoy_hash, |user| &*user.password_hash);
        let is_right = password::verify(&attempt.password, hash) || planted(Bug::AnyPassword);
        match user.filter(|_| is_right) {
            Some(user) => {
                lock(&self.cache).insert(&attempt.user, &user.password_hash, &attempt.password);
                Ok(login(attempt, user))
            }
            None => {
                lock(&self.limit).fail(&attempt.user, attempt.address, Instant::now());
                Err(LoginRefusal::WrongCredentials)
            }
        }
    }

    fn answer(&self, attempt: LoginAttempt, outcome: std::result::Result<Login, LoginRefusal>) {
        let record = match &outcome {
            Ok(_) => AuditRecord::new(AuditEvent::Login, "accepted"),
            Err(refusal) => AuditRecord::new(AuditEvent::Login, "refused").detail(refusal.message()),
        };
        if outcome.is_err() || !attempt.is_known {
            self.audit.write(&record.user(Some(&attempt.user)).address(attempt.address));
        }
        (attempt.answer)(outcome);
    }

    fn log_changes(&self, before: &Users, after: &Users) {
        let write = |outcome: &str, name: &str| {
            self.audit.write(&AuditRecord::new(AuditEvent::Users, outcome).user(Some(name)));
        };
        for (name, _) in before.iter().filter(|(name, _)| after.get(name).is_none()) {
            write("removed", name);
        }
        for (name, user) in after.iter() {
            let earlier = before.get(name);
            match earlier {
                None => write("added", name),
                Some(earlier) if earlier.password_hash != user.password_hash => {
                    write("password changed", name)
                }
                Some(_) => {}
            }
            let none = std::collections::BTreeMap::new();
            let earlier_roles = earlier.map_or(&none, |user| &user.roles);
            let record = |outcome| AuditRecord::new(AuditEvent::Users, outcome).user(Some(name));
            for (database, role) in
                user.roles.iter().filter(|(name, role)| earlier_roles.get(*name) != Some(role))
            {
                self.audit.write(&record("granted").database(database).detail(role.name()));
            }
            for (database, _) in earlier_roles.iter().filter(|(name, _)| !user.roles.contains_key(*name)) {
                self.audit.write(&record("revoked").database(database));
            }
        }
    }
}

/// The user of a log-in is gone, or has another password.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LoginEnded;

fn login(attempt: &LoginAttempt, user: &User) -> Login {
    Login { user: attempt.user.clone(), password_hash: user.password_hash.clone() }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::security::users_file::edit;
    use std::sync::mpsc::channel;
    use std::time::Duration;

    const ADDRESS: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 1));

    fn try_as(
        authenticator: &Authenticator,
        user: &str,
        password: &str,
    ) -> std::result::Result<Login, LoginRefusal> {
        let (sender, receiver) = channel();
        authenticator.log_in(LoginAttempt {
            is_known: false,
            user: user.into(),
            password: password.as_bytes().into(),
            address: ADDRESS,
            answer: Box::new(move |outcome| sender.send(outcome).unwrap()),
        });
        receiver.recv_timeout(Duration::from_secs(60)).unwrap()
    }

    fn with_ann() -> (tempfile::TempDir, PathBuf, Arc<Authenticator>) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("users.json");
        edit(&path, Create::IfMissing, |users| {
            users.add("ann", password::hash(b"correct horse")?)?;
            users.grant("ann", "social", Role::Writer)
        })
        .unwrap();
        let authenticator = Authenticator::start(&path, Arc::default()).unwrap();
        (folder, path, authenticator)
    }

    #[test]
    fn a_user_logs_in_and_has_the_roles_that_the_file_gives_now() {
        let (_folder, path, authenticator) = with_ann();
        let login = try_as(&authenticator, "ann", "correct horse").unwrap();
        let role = |database| authenticator.role(&login, database);
        assert_eq!((role("social"), role("bank")), (Ok(Some(Role::Writer)), Ok(None)));
        edit(&path, Create::Never, |users| users.grant("ann", "social", Role::Reader)).unwrap();
        authenticator.refresh().unwrap();
        assert_eq!(role("social"), Ok(Some(Role::Reader)));
        edit(&path, Create::Never, |users| users.set_password("ann", password::hash(b"another one")?))
            .unwrap();
        authenticator.refresh().unwrap();
        assert_eq!(role("social"), Err(LoginEnded));
        assert_eq!(try_as(&authenticator, "ann", "correct horse"), Err(LoginRefusal::WrongCredentials));
        let login = try_as(&authenticator, "ann", "another one").unwrap();
        edit(&path, Create::Never, |users| users.remove("ann")).unwrap();
        authenticator.refresh().unwrap();
        assert_eq!(authenticator.role(&login, "social"), Err(LoginEnded));
        authenticator.stop();
        assert_eq!(try_as(&authenticator, "ann", "another one"), Err(LoginRefusal::Busy));
    }

    #[test]
    fn a_file_that_cannot_be_read_changes_nothing_and_is_told_once() {
        let (_folder, path, authenticator) = with_ann();
        let login = try_as(&authenticator, "ann", "correct horse").unwrap();
        let whole = std::fs::read(&path).unwrap();
        std::fs::write(&path, &whole[..whole.len() / 2]).unwrap();
        assert!(authenticator.refresh().unwrap_err().to_string().contains("cut off"));
        authenticator.refresh().unwrap();
        assert_eq!(authenticator.role(&login, "social"), Ok(Some(Role::Writer)));
        std::fs::remove_file(&path).unwrap();
        assert!(authenticator.refresh().is_err());
        assert!(try_as(&authenticator, "ann", "correct horse").is_ok());
        authenticator.stop();
    }

    #[test]
    fn unknown_users_and_wrong_passwords_are_answered_alike_and_in_the_same_time() {
        let (mut known, mut unknown) = (Duration::MAX, Duration::MAX);
        let are_alike = |known: Duration, unknown: Duration| known < unknown * 3 && unknown < known * 3;
        // As often as it takes until what else the machine does has left both alone once.
        for _ in 0..20 {
            let (_folder, _path, authenticator) = with_ann();
            let time = |user: &str| {
                let began = Instant::now();
                let refused = Err(LoginRefusal::WrongCredentials);
                assert_eq!(try_as(&authenticator, user, "wrong horse"), refused);
                began.elapsed()
            };
            // In turn, so that what else the machine does meets both.
            for _ in 0..5 {
                (known, unknown) = (known.min(time("ann")), unknown.min(time("nobody")));
            }
            authenticator.stop();
            if are_alike(known, unknown) {
                break;
            }
        }
        assert!(are_alike(known, unknown), "{known:?} and {unknown:?}: one tells the other");
    }

    #[test]
    fn after_some_failures_nothing_is_verified_and_whoever_is_cached_goes_on() {
        let (_folder, _path, authenticator) = with_ann();
        assert!(try_as(&authenticator, "ann", "correct horse").is_ok());
        let outcomes: Vec<_> =
            (0..30).map(|_| try_as(&authenticator, "ann", "wrong horse").unwrap_err()).collect();
        let refused = outcomes.iter().filter(|refusal| **refusal == LoginRefusal::TooManyFailures).count();
        assert!(refused >= 10, "{outcomes:?}: attempts are limited");
        assert_eq!(outcomes[0], LoginRefusal::WrongCredentials);
        assert!(try_as(&authenticator, "ann", "correct horse").is_ok());
        authenticator.stop();
    }
}
