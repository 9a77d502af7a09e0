//! Network file systems: files there are never shared as memory, since another machine's stores are not seen in it.

use std::io::{Error, ErrorKind};

#[cfg(all(target_os = "linux", not(any(shuttle, loom))))]
pub use linux::refuse;

/// What is said of a file on the network file system of this name.
#[must_use]
pub fn refusal(name: &str) -> Error {
    let problem = format!(
        "it is on {name}, a network file system: processes of several machines do not see each other's stores; \
         choose a folder on a local disk, or a database of another engine than mapped"
    );
    Error::new(ErrorKind::Unsupported, problem)
}

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
    use super::refusal;
    use rustix::fs::{FsWord, NFS_SUPER_MAGIC, fstatfs};
    use std::fs::File;
    use std::io::Result;

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
        refuse_number(fstatfs(file)?.f_type)
    }

    /// The same of the number by which statfs(2) tells file systems apart.
    fn refuse_number(number: FsWord) -> Result<()> {
        match name_of(number) {
            None => Ok(()),
            Some(name) => Err(refusal(name)),
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
        use std::io::ErrorKind;

        #[test]
        fn file_systems_of_other_machines_are_refused_by_name_and_local_ones_pass() {
            for (number, name) in NETWORK {
                // Where a word has 32 bits, the highest is the sign.
                for number in [number as FsWord, number as u32 as i32 as FsWord] {
                    let error = refuse_number(number).unwrap_err();
                    assert_eq!(error.kind(), ErrorKind::Unsupported);
                    let says = error.to_string();
                    assert!(says.starts_with(&format!("it is on {name}, a network file system: ")), "{says}");
                    assert!(
                        says.ends_with("a local disk, or a database of another engine than mapped"),
                        "{says}"
                    );
                }
            }
            assert!(refuse_number(0x6969).unwrap_err().to_string().contains(" NFS,"));
            assert!(
                refuse_number(0xff53_4d42_u32 as i32 as FsWord).unwrap_err().to_string().contains(" CIFS,")
            );
            // ext4, btrfs, XFS, tmpfs; 9P, of containers and virtual machines.
            for local in [0xef53, 0x9123_683e, 0x5846_5342, 0x0102_1994, 0x0102_1997] {
                assert!(refuse_number(local).is_ok(), "{local:x}");
            }
            assert!(refuse_number(PROC_SUPER_MAGIC).is_ok());
            refuse(&tempfile::tempfile().unwrap()).unwrap();
        }
    }
}
