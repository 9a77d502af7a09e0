//! Server state: the settings and rights that following a server needs.

/// What a server allows its client's role, and how it is set up.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ServerState {
    /// The version, such as 150018.
    pub version: u32,
    /// What the log holds: `logical` is needed.
    pub wal_level: String,
    /// How many slots there may be.
    pub slots_max: u32,
    /// How many there are.
    pub slots_used: u32,
    /// How many readers of the log there may be.
    pub senders_max: u32,
    /// How many there are.
    pub senders_used: u32,
    /// The role that is logged in.
    pub role: String,
    /// The database.
    pub database: String,
    /// Whether the role may read the log: by its attribute REPLICATION, as a superuser, or as a member of `rds_replication`.
    pub may_replicate: bool,
    /// Whether it may make a publication in this database.
    pub may_create: bool,
    /// Whether the server follows another one.
    pub is_standby: bool,
    /// The database's encoding, such as `UTF8`.
    pub encoding: String,
    /// Whether the role's transactions write nothing unless they say that they do.
    pub is_read_only: bool,
    /// Whether there is a role `rds_replication`: Amazon RDS gives membership in it in place of the attribute.
    pub has_rds_role: bool,
    /// The slots of this database that keep log for nobody at present, by name.
    pub idle_slots: Vec<IdleSlot>,
}

/// A slot without a reader.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct IdleSlot {
    /// Its name.
    pub name: String,
    /// Bytes of log that the server keeps for it.
    pub kept_bytes: u64,
}

impl ServerState {
    /// The query whose only row [`Self::from_row`] reads.
    pub const QUERY: &str = "SELECT current_setting('server_version_num'), current_setting('wal_level'), \
        current_setting('max_replication_slots'), (SELECT count(*) FROM pg_replication_slots), \
        current_setting('max_wal_senders'), (SELECT count(*) FROM pg_stat_replication), \
        current_user, current_database(), \
        r.rolreplication OR r.rolsuper OR coalesce(pg_has_role(rds.oid, 'member'), false), \
        has_database_privilege(current_database(), 'CREATE'), pg_is_in_recovery(), \
        current_setting('server_encoding'), current_setting('default_transaction_read_only')::boolean, \
        rds.oid IS NOT NULL, \
        (SELECT coalesce(string_agg(slot_name::text || ' ' || greatest((CASE WHEN pg_is_in_recovery() \
        THEN pg_last_wal_receive_lsn() ELSE pg_current_wal_lsn() END - restart_lsn)::bigint, 0)::text, ',' ORDER BY slot_name), '') \
        FROM pg_replication_slots WHERE database = current_database() AND plugin = 'pgoutput' AND NOT active \
        AND NOT temporary AND restart_lsn IS NOT NULL) \
        FROM pg_roles r LEFT JOIN pg_roles rds ON rds.rolname = 'rds_replication' WHERE r.rolname = current_user";

    /// Reads the row of [`Self::QUERY`]; `None` if it is none.
    #[must_use]
    pub fn from_row(row: &[Option<String>]) -> Option<Self> {
        let text = |column: usize| row.get(column)?.clone();
        let number = |column: usize| text(column)?.parse().ok();
        let truth = |column: usize| match text(column)?.as_str() {
            "t" => Some(true),
            "f" => Some(false),
            _ => None,
        };
        Some(Self {
            version: number(0)?,
            wal_level: text(1)?,
            slots_max: number(2)?,
            slots_used: number(3)?,
            senders_max: number(4)?,
            senders_used: number(5)?,
            role: text(6)?,
            database: text(7)?,
            may_replicate: truth(8)?,
            may_create: truth(9)?,
            is_standby: truth(10)?,
            encoding: text(11)?,
            is_read_only: truth(12)?,
            has_rds_role: truth(13)?,
            idle_slots: idle_slots(&text(14)?)?,
        })
    }
}

/// The slots of a list such as `evergraph_shop_7 4096,evergraph_shop_8 0`: names have neither blanks nor commas.
fn idle_slots(list: &str) -> Option<Vec<IdleSlot>> {
    let slots = list.split(',').filter(|slot| !slot.is_empty()).map(|slot| {
        let (name, kept_bytes) = slot.split_once(' ')?;
        Some(IdleSlot { name: name.to_owned(), kept_bytes: kept_bytes.parse().ok()? })
    });
    slots.collect()
}
