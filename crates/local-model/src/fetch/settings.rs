//! Settings of downloads.

use std::{io, path::Path, time::Duration};

use super::PackageClient;

/// Settings of downloads.
#[derive(Debug, Clone)]
pub struct FetchSettings {
    /// True if downloads are disabled.
    pub offline: bool,
    /// The client of the package index.
    pub client: PackageClient,
    /// Connect timeout. It is short, since the next source is tried afterwards.
    pub connect_timeout: Duration,
    /// Longest time without data from a server.
    pub idle_timeout: Duration,
    /// Wait before a broken download is continued; doubled after each attempt without progress.
    pub retry_wait: Duration,
    /// Returns the free bytes in a folder.
    pub free_space: fn(&Path) -> io::Result<u64>,
}

impl FetchSettings {
    /// Creates the default settings with this package client.
    #[must_use]
    pub fn new(client: PackageClient) -> Self {
        Self {
            offline: false,
            client,
            connect_timeout: Duration::from_secs(4),
            idle_timeout: Duration::from_secs(30),
            retry_wait: Duration::from_secs(1),
            free_space: |folder| fs4::available_space(folder),
        }
    }
}
