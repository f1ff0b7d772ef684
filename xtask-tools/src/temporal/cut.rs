//! The network of a worker fails for longer than its heartbeat, and returns.

use std::fs;
use std::io::copy;
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread::spawn;

use aime_scripted_server::ScriptedServer;
use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};

use super::{World, compared, gate, script, tool};
use crate::services::Server;

/// Addresses for tests (RFC 2544): this side, and that of the worker.
const HERE: &str = "198.18.77.1";
const THERE: &str = "198.18.77.2";

/// Network namespace with a virtual cable to this one. Removed when it is dropped.
struct Cable {
    space: String,
    here: String,
    there: String,
}

impl Cable {
    fn of(process: u32) -> Self {
        Self { space: format!("aime-{process}"), here: format!("aimeh{process}"), there: format!("aimet{process}") }
    }

    /// Creates it. The inner error is the reason if that is not permitted.
    fn lay() -> Result<Result<Self, String>> {
        Self::clear_away();
        let cable = Self::of(std::process::id());
        let Ok(made) = Command::new("ip").args(["netns", "add", &cable.space]).stdin(Stdio::null()).output() else {
            return Ok(Err("there is no `ip`; install iproute2".to_owned()));
        };
        if !made.status.success() {
            return Ok(Err(String::from_utf8_lossy(&made.stderr).trim().to_owned()));
        }
        let (space, here, there) = (cable.space.as_str(), cable.here.as_str(), cable.there.as_str());
        for arguments in [
            &["link", "add", here, "type", "veth", "peer", "name", there, "netns", space][..],
            &["address", "add", &format!("{HERE}/30"), "dev", here],
            &["link", "set", here, "up"],
            &["-netns", space, "address", "add", &format!("{THERE}/30"), "dev", there],
            &["-netns", space, "link", "set", there, "up"],
            &["-netns", space, "link", "set", "lo", "up"],
        ] {
            ip(arguments)?;
        }
        Ok(Ok(cable))
    }

    /// Removes the network namespaces of killed scenarios, with their workers.
    fn clear_away() {
        let Ok(listed) = Command::new("ip").args(["netns", "list"]).stdin(Stdio::null()).output() else { return };
        for process in left(&String::from_utf8_lossy(&listed.stdout), |process| Path::new(&format!("/proc/{process}")).exists()) {
            let cable = Self::of(process);
            if let Ok(inside) = Command::new("ip").args(["netns", "pids", &cable.space]).stdin(Stdio::null()).output() {
                let inside = String::from_utf8_lossy(&inside.stdout).into_owned();
                drop(Command::new("kill").arg("-KILL").args(inside.split_whitespace()).stderr(Stdio::null()).status());
            }
            // Removing one end removes the other; dropping it removes the namespace.
            drop(ip(&["link", "delete", &cable.here]));
        }
    }

    /// Disconnects or reconnects the cable.
    fn set(&self, state: &str) -> Result<()> {
        ip(&["link", "set", &self.here, state])
    }
}

impl Drop for Cable {
    fn drop(&mut self) {
        drop(ip(&["netns", "delete", &self.space]));
    }
}

/// Forwards connections over the cable to a server on this machine's loopback, as long as this process runs. Returns the address.
fn forward(server: String) -> Result<String> {
    let listener = TcpListener::bind((HERE, 0))?;
    let address = listener.local_addr()?.to_string();
    spawn(move || {
        for far in listener.incoming().flatten() {
            let Ok(near) = TcpStream::connect(&server) else { continue };
            let (Ok(mut back), Ok(mut forth)) = (near.try_clone(), far.try_clone()) else { continue };
            let (mut far, mut near) = (far, near);
            spawn(move || copy(&mut far, &mut near));
            spawn(move || copy(&mut back, &mut forth));
        }
    });
    Ok(address)
}

/// Returns the ids of ended processes that have created network namespaces, from the output of `ip netns list`.
fn left(listed: &str, lives: impl Fn(u32) -> bool) -> Vec<u32> {
    let words = listed.lines().filter_map(|line| line.split_whitespace().next());
    words.filter_map(|space| space.strip_prefix("aime-")?.parse().ok()).filter(|process| !lives(*process)).collect()
}

fn ip(arguments: &[&str]) -> Result<()> {
    let output = Command::new("ip").args(arguments).stdin(Stdio::null()).output().context("ip does not start")?;
    if !output.status.success() {
        bail!("ip {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    }
    Ok(())
}

impl World {
    /// Disconnects a worker during a call that must not be repeated, until another worker has taken the call as in doubt.
    pub(super) fn a_worker_cut_off(&self) -> Result<String> {
        let cable = match Cable::lay()? {
            Ok(cable) => cable,
            Err(why) => return Ok(format!("SKIPPED, because cutting a worker off needs root and network namespaces: {why}")),
        };
        let plan = json!({"goal": "one thing", "tasks": [tool("off", &gate("off"), &[])]});
        let folder = self.root.join("off");
        fs::write(folder.join("plan.json"), plan.to_string())?;
        let model = ScriptedServer::try_start(script(false), 0).context("the scripted model does not start")?;
        let (url, engine) = (model.url(), Server::start(&folder)?);
        let (address, on) = (engine.address(), format!("temporal://{}", engine.address()));
        let _drives = self.worker("off", "off-runs", &url, &address, "runs,planner,tools.files")?;
        let from_there = forward(address.clone())?;
        let far = ["worker", "--engine", &from_there, "--serve", "tools.shell"];
        let _far = self.start_by(&["ip", "netns", "exec", &cable.space], "off", "off-far", &url, &far)?;
        let go = ["run", "--plan", "plan.json", "--run-id", "off", "--approve", "all", "--unattended", "--output", "json", "--engine", &on];
        let client = self.start("off", "off-client", &url, &go)?;
        self.appears("off/at-off")?;
        cable.set("down")?;
        let _near = self.worker("off", "off-near", &url, &address, "tools.shell")?;
        let result = client.ended(1)?;
        let error = result.pointer("/tasks/0/error").and_then(Value::as_str).unwrap_or_default();
        ensure!(error.contains("unknown"), "the doubt is not told: {result:#}");
        // The worker learns that the call is no longer its own, or reports its result too late.
        cable.set("up")?;
        fs::write(folder.join("go-off"), "")?;
        let again = self.start("off", "off-again", &url, &["resume", "off", "--engine", &on, "--output", "json"])?.ended(1)?;
        ensure!(
            compared(again.clone()) == compared(result.clone()),
            "what a worker says too late has changed the result: {again:#}\nwhere it was {result:#}"
        );
        let log = fs::read_to_string(folder.join("log"))?;
        ensure!(log.matches("off\n").count() == 1, "the call was repeated: {log:?}");
        Ok("the call of a worker that was cut off for longer than its heartbeat is reported as in doubt and not repeated; its late result changes nothing".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::left;

    #[test]
    fn only_what_killed_scenarios_left_is_taken_away() {
        let listed = "aime-71 (id: 3)\naime-72\nother-73 (id: 1)\naime-x\n\n";
        assert_eq!(left(listed, |process| process == 72), [71]);
    }
}
