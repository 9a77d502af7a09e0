//! Errors of files and of the log, as the kinds that users act on.

use crate::checkpoint::error::CheckpointError;
use crate::io::error::{IoError, Operation};
use crate::log::error::LogError;
use evergraph_graph::error::{Error, ErrorKind};

impl From<IoError> for Error {
    fn from(error: IoError) -> Self {
        Self::new(kind_of_io(&error), error.to_string()).because(error)
    }
}

impl From<LogError> for Error {
    fn from(error: LogError) -> Self {
        let kind = match &error {
            LogError::Io(error) => kind_of_io(error),
            LogError::Full { .. } | LogError::TooLarge { .. } => ErrorKind::Limit,
            LogError::Corrupt { .. }
            | LogError::Missing { .. }
            | LogError::Lost { .. }
            | LogError::EndsBefore { .. } => ErrorKind::Corrupt,
            LogError::UnsupportedVersion { .. } => ErrorKind::Invalid,
            LogError::Poisoned { .. }
            | LogError::OutcomeUnknown { .. }
            | LogError::Closed
            | LogError::Thread { .. } => ErrorKind::Io,
        };
        Self::new(kind, error.to_string()).because(error)
    }
}

impl From<CheckpointError> for Error {
    fn from(error: CheckpointError) -> Self {
        let kind = match error {
            // Their own texts and causes, as they are.
            CheckpointError::Io(error) => return error.into(),
            CheckpointError::Log(error) => return error.into(),
            CheckpointError::Refused(error) => return error,
            CheckpointError::Corrupt { .. } | CheckpointError::Unsound { .. } => ErrorKind::Corrupt,
            CheckpointError::NotADatabase { .. } => ErrorKind::NotFound,
            CheckpointError::UnknownEngine { .. }
            | CheckpointError::UnknownFeature { .. }
            | CheckpointError::NewerFormat { .. } => ErrorKind::Invalid,
            CheckpointError::Poisoned { .. } | CheckpointError::Thread { .. } => ErrorKind::Io,
            CheckpointError::Cancelled => ErrorKind::Cancelled,
        };
        Self::new(kind, error.to_string()).because(error)
    }
}

fn kind_of_io(error: &IoError) -> ErrorKind {
    match error {
        IoError::Locked { .. } => ErrorKind::Busy,
        IoError::TooLarge { .. } => ErrorKind::Corrupt,
        // Nothing was looked for: the folder of an open database is gone.
        IoError::Failed { operation: Operation::Create, source, .. }
            if source.kind() == std::io::ErrorKind::NotFound =>
        {
            ErrorKind::Io
        }
        IoError::Failed { .. } => match error.kind() {
            std::io::ErrorKind::NotFound => ErrorKind::NotFound,
            std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded => ErrorKind::Limit,
            _ => ErrorKind::Io,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_is_a_limit_and_keeps_its_text_and_cause() {
        let error =
            Error::from(IoError::new(Operation::Write, "db/log-1", std::io::ErrorKind::StorageFull.into()));
        assert_eq!(error.kind(), ErrorKind::Limit);
        assert!(error.to_string().starts_with("write db/log-1: "), "{error}");
        assert!(std::error::Error::source(&error).is_some());
    }

    #[test]
    fn a_file_that_is_not_there_is_not_found_and_a_folder_that_has_gone_is_a_failure() {
        let failed = |operation| {
            let error = IoError::new(operation, "db/log-1", std::io::ErrorKind::NotFound.into());
            (
                Error::from(error).kind(),
                IoError::new(operation, "db/log-1", std::io::ErrorKind::NotFound.into()),
            )
        };
        let (kind, error) = failed(Operation::Open);
        assert!(kind == ErrorKind::NotFound && !error.to_string().contains("removed"), "{error}");
        let (kind, error) = failed(Operation::Create);
        let text = error.to_string();
        assert!(
            kind == ErrorKind::Io && text.ends_with(": the folder was removed while it was in use"),
            "{text}"
        );
    }
}
