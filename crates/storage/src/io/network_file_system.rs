//! Network file systems: files there are never shared as memory, since another machine's stores are not seen in it.

#[cfg(all(target_os = "linux", not(any(shuttle, loom))))]
pub use linux::refuse;

/// Nothing is known of file systems elsewhere.
///
/// # Errors
/// None.
#[cfg(all(not(target_os = "linux"), not(any(shuttle, loom))))]
pub fn refuse(_file: &std::fs::File) -> std::io::Result<()> {
    Ok(())
}

#[cfg(all(target_os = "linux", not(any(shuttle, loom))))]
mod linux {
    use rustix::fs::{FsWord, NFS_SUPER_MAGIC, fstatfs};
    use std::fs::File;
    use std::io::{Error, ErrorKind, Result};

    /// What the system calls file systems of other machines (statfs(2), and `linux/magic.h`). Not 9P: containers and virtual machines
    /// have local folders so.
    const NETWORK: [(u64, &str); 9] = [
        (NFS_SUPER_MAGIC as u64, "NFS"),
        (0xff53_4d42, "CIFS"),
        (0xfe53_4d42, "SMB2"),
        (0x517b, "SMB"),
        (0x00c3_6400, "Ceph"),
        (0x0bd0_0bd3, "Lustre"),
        (0x4750_4653, "GPFS"),
        (0x5346_414f, "AFS"),
        (0x6b41_4653, "AFS"),
    ];

    /// Refuses a file whose words another machine may store without our seeing it. Cost: one system call.
    ///
    /// # Errors
    /// `Unsupported`, with the file system's name; what the system says.
    pub fn refuse(file: &File) -> Result<()> {
        match name_of(fstatfs(file)?.f_type) {
            None => Ok(()),
            Some(name) => {
                let problem = format!(
                    "it is on {name}, a network file system: processes of several machines do not see each other's stores; \
                     choose a folder on a local disk, or a database of another engine than mapped"
                );
                Err(Error::new(ErrorKind::Unsupported, problem))
            }
        }
    }

    /// The network file system of a number; its sign and upper half say nothing.
    fn name_of(number: FsWord) -> Option<&'static str> {
        let number = number as u64 & u64::from(u32::MAX);
        NETWORK.iter().find(|(known, _)| *known == number).map(|(_, name)| *name)
    }

    #[cfg(test)]
    mod tests {
        use super::*;
        use rustix::fs::PROC_SUPER_MAGIC;

        #[test]
        fn file_systems_of_other_machines_are_named_and_local_ones_pass() {
            assert_eq!(name_of(0x6969), Some("NFS"));
            // Where a word has 32 bits, the highest is the sign.
            assert_eq!(name_of(0xff53_4d42_u32 as i32 as FsWord), Some("CIFS"));
            // ext4, btrfs, XFS, tmpfs.
            for local in [0xef53, 0x9123_683e, 0x5846_5342, 0x0102_1994] {
                assert_eq!(name_of(local), None, "{local:x}");
            }
            assert_eq!(name_of(PROC_SUPER_MAGIC), None);
            refuse(&tempfile::tempfile().unwrap()).unwrap();
        }
    }
}
