#![doc = include_str!("../README.md")]

mod branch;
mod commit;
mod conflict;
mod error;
mod git;
mod history;
mod lock;
mod own_versions;
mod private;
mod put;
#[cfg(test)]
#[cfg(unix)]
mod tests;
mod tree;
mod work;

pub use branch::{Content, NewBranch, OmissionReason};
pub use commit::{Commit, NoCommit};
pub use conflict::FileConflict;
pub use error::WorkTreeError;
pub use git::git_version;
pub use history::{Blob, ChangedPath, Step, WorkHistory};
pub use lock::{RepositoryLock, forget_repositories};
pub use private::{Extras, FolderMerge, PrivateFolder, PrivateFolders, UnmergedFile};
pub use tree::{MAX_BUNDLE_BYTES, MergeResult, WorkTree};
pub use work::WorkMergeResult;
