//! Installs the servers by their ordinary clients, `npm` and `pip`, each package pinned by its hash.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::install::{NODE, PYTHON, answer, node_packages, python_packages};

const PACKAGE: &str = include_str!("package.json");
const PACKAGE_LOCK: &str = include_str!("package-lock.json");
const REQUIREMENTS: &str = include_str!("requirements.txt");

/// Installed servers, with the programs that start them.
pub(crate) struct Installed {
    folder: PathBuf,
    /// Node.js itself, which may be in the folder of a version manager.
    pub(crate) node: PathBuf,
    /// Folders of Node.js and Python, which a confined server must read.
    runtimes: [PathBuf; 2],
}

impl Installed {
    /// Installs missing servers in `mcp-servers` in the target folder of `program`.
    pub(crate) fn ready(program: &Path) -> Result<Self> {
        let target = program.parent().and_then(Path::parent).context("aime was built in no folder")?;
        let folder = target.join("mcp-servers");
        let node = PathBuf::from(answer(Command::new("node").args(["-p", "process.execPath"]), NODE)?);
        answer(Command::new("git").arg("--version"), "install git")?;
        let python = answer(Command::new("python3").args(["-I", "-c", "import sys, venv; print(sys.base_prefix)"]), PYTHON)?;
        let above = node.parent().and_then(Path::parent).unwrap_or(&node).to_path_buf();
        let installed = Self { folder, node, runtimes: [above, PathBuf::from(python)] };
        node_packages(&installed.folder, "node", [PACKAGE, PACKAGE_LOCK])?;
        python_packages(&installed.folder, "python", REQUIREMENTS)?;
        Ok(installed)
    }

    /// Returns the folder of the servers.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns the folders that a confined server must read, besides those that commands read.
    pub(crate) fn reads(&self) -> Vec<String> {
        std::iter::once(&self.folder).chain(&self.runtimes).map(|path| path.display().to_string()).collect()
    }

    /// Returns the main file of an npm server.
    pub(crate) fn script(&self, server: &str) -> String {
        let place = self.folder.join("node/node_modules/@modelcontextprotocol").join(server).join("dist/index.js");
        place.display().to_string()
    }

    /// Returns the program of a PyPI server.
    pub(crate) fn program(&self, server: &str) -> String {
        self.folder.join("python/bin").join(server).display().to_string()
    }
}
