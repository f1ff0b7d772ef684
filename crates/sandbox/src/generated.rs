//! Folders whose content programs make again.

use std::path::Path;

/// Names of folders in which programs keep what they compute from the files beside them.
pub const CACHE_FOLDERS: [&str; 5] = ["__pycache__", ".mypy_cache", ".pytest_cache", ".ruff_cache", ".gradle"];
/// Endings of files that programs compute from the files beside them.
pub const CACHE_ENDINGS: [&str; 2] = ["pyc", "pyo"];
/// File that marks its folder as a cache, by the [standard for cache directories](https://bford.info/cachedir/).
pub const CACHE_TAG: &str = "CACHEDIR.TAG";

/// Returns true if a folder with these entries is generated: a tagged cache, or a virtual environment of Python.
pub fn is_generated<'a>(mut entries: impl Iterator<Item = &'a Path>) -> bool {
    entries.any(|name| name == Path::new(CACHE_TAG) || name == Path::new("pyvenv.cfg"))
}
