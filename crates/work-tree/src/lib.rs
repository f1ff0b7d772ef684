#![doc = include_str!("../README.md")]

mod branch;
mod commit;
mod conflict;
mod error;
mod git;
mod hold;
mod own;
mod past;
mod private;
mod put;
#[cfg(test)]
#[cfg(unix)]
mod tests;
mod tree;
mod work;

pub use branch::{Content, LeftOut, NewBranch};
pub use commit::{Commit, NoCommit};
pub use conflict::FileConflict;
pub use error::WorkTreeError;
pub use hold::{Held, forget_repositories};
pub use past::{Blob, Changed, Past, Step};
pub use private::{Extras, Joined, PrivateFolder, PrivateFolders, Unmerged};
pub use tree::{MAX_BUNDLE_BYTES, Merged, WorkTree};
pub use work::WorkMerged;
