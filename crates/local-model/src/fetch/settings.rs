//! How models are fetched.

use std::{io, path::Path, time::Duration};

use super::{PackageClient, space::free_space};

/// How models are fetched.
#[derive(Debug, Clone)]
pub struct FetchSettings {
    /// Whether nothing may be fetched.
    pub offline: bool,
    /// The client of the package index.
    pub client: PackageClient,
    /// How long a connection may take to be made. Short, since the next source is asked then.
    pub connect_timeout: Duration,
    /// How long a server may send nothing.
    pub idle_timeout: Duration,
    /// The wait before a broken download goes on; doubled each time that brought nothing.
    pub retry_wait: Duration,
    /// Bytes that are free in a folder.
    pub free_space: fn(&Path) -> io::Result<u64>,
}

impl FetchSettings {
    /// The usual times, with this package client.
    #[must_use]
    pub fn new(client: PackageClient) -> Self {
        Self {
            offline: false,
            client,
            connect_timeout: Duration::from_secs(4),
            idle_timeout: Duration::from_secs(30),
            retry_wait: Duration::from_secs(1),
            free_space,
        }
    }
}
