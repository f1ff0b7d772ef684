//! `cargo xtask scenario mcp`: drives official MCP servers from npm and PyPI by the built aime, with a scripted model.
//!
//! Each server is tested and called over its standard input and output, within aime's sandbox, and its results are checked. One server is
//! called over streamable HTTP too. One is killed in the middle of a call, over each transport. At the end none of their processes may be
//! left. Before that the conformance suite of MCP checks aime as a client.
//!
//! It needs npm's and Python's package indexes, so it is not part of `cargo test`.

mod calls;
mod conformance;
mod install;
mod killed;
pub(crate) mod processes;
mod served;
mod world;

use anyhow::{Result, ensure};
use serde_json::json;

use calls::{Call, Driven, driven};
use install::Installed;
use served::{Page, Served};
use world::World;
use xtask::workspace::build_aime;

/// Runs the scenario.
pub(crate) fn drive() -> Result<()> {
    let program = build_aime(&[])?;
    let installed = Installed::ready(&program)?;
    conformance::drive(&program, installed.folder())?;
    let world = World::new(program, &installed)?;
    let page = Page::serve("the sea is salt\n")?;
    let all = driven(&installed, &world.work(), &page.url());
    for server in &all {
        one(&world, server)?;
    }
    on_demand(&world, &all)?;
    over_http(&world, &installed)?;
    killed::over_stdio(&world, &all, &installed)?;
    killed::over_http(&world, &installed)?;
    let left = processes::of(installed.folder());
    ensure!(left.is_empty(), "processes of servers are left: {left:?}");
    eprintln!("no process of a server is left");
    println!("scenario mcp passed: {} servers; look into {}", all.len(), world.folder().display());
    Ok(())
}

/// Tests one server, and lets an actor call it.
fn one(world: &World, server: &Driven) -> Result<()> {
    world.configure(&server.settings())?;
    let tested = world.aime(&["mcp", "test", server.name])?;
    tested.reached()?.holds(&["good"])?;
    let good = tested.last_line().to_owned();
    world.actor(server.calls())?;
    world.aime(&["mcp", "list"])?.reached()?.holds(&[server.name, " tool"])?;
    println!("{:<12} {good}; {} calls of an actor", server.name, server.calls().len());
    Ok(())
}

/// Uses all servers together. They have more tools than fit in a request, so an actor finds and calls them on demand.
fn on_demand(world: &World, all: &[Driven]) -> Result<()> {
    world.configure(&all.iter().map(Driven::settings).collect::<String>())?;
    let mut calls = vec![Call::new("mcp_find_tools", json!({"query": "sum of two numbers"}), &["mcp__everything__get-sum"])];
    for server in all {
        calls.extend(server.calls().iter().rfind(|call| call.is_of(server.name)).map(Call::on_demand));
    }
    world.actor(&calls)?;
    println!("{:<12} {} calls of one actor to {} servers that were searched", "on demand", calls.len(), all.len());
    Ok(())
}

/// Uses one server by its address.
fn over_http(world: &World, installed: &Installed) -> Result<()> {
    let served = Served::everything(installed, None)?;
    world.configure(&served.settings())?;
    world.aime(&["mcp", "test", served::NAME])?.reached()?.holds(&["good"])?;
    let calls = calls::of_everything(served::NAME);
    world.actor(&calls)?;
    println!("{:<12} {} calls of an actor over streamable HTTP", served::NAME, calls.len());
    Ok(())
}
