// aime as the client of one scenario of the conformance suite. The suite appends the server's address to the command, and names the
// scenario in MCP_CONFORMANCE_SCENARIO. Arguments: aime, a folder for worlds, the address.
import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const [program, worlds, url] = process.argv.slice(2);
const scenario = process.env.MCP_CONFORMANCE_SCENARIO;
const context = JSON.parse(process.env.MCP_CONFORMANCE_CONTEXT ?? "{}");
const root = mkdtempSync(join(worlds, `${scenario.replaceAll("/", "-")}-`));
for (const folder of ["work", "home", "settings/aime"]) mkdirSync(join(root, folder), { recursive: true });

const settings = [`[permissions]`, `approve = "all"`, `[mcp.servers.s]`, `url = ${JSON.stringify(url)}`];
const variables = { PATH: process.env.PATH, HOME: join(root, "home"), XDG_CONFIG_HOME: join(root, "settings"), AIME_OFFLINE: "1" };
if (context.client_id) {
  settings.push(`client_id = ${JSON.stringify(context.client_id)}`, `client_secret_env = "CLIENT_SECRET"`);
  variables.CLIENT_SECRET = context.client_secret;
}
writeFileSync(join(root, "settings/aime/config.toml"), settings.join("\n"));

// Runs aime. Its standard output is watched for the address of a login, which a person would open.
function aime(...words) {
  const child = spawn(program, words, { cwd: join(root, "work"), env: variables, stdio: ["ignore", "pipe", "pipe"] });
  let out = "", said = "";
  child.stderr.on("data", (data) => { said += data; process.stderr.write(data); });
  child.stdout.on("data", (data) => {
    const before = out.includes("\n");
    out += data;
    if (words[1] === "login" && !before && out.includes("\n")) agree(out.trim()).catch((error) => console.error(error));
  });
  return new Promise((resolve) => child.on("close", (code) => { process.stdout.write(out); resolve({ code, out, said }); }));
}

// Does what a browser does for a person who says yes.
async function agree(address) {
  const answer = await fetch(address, { redirect: "manual" });
  await fetch(answer.headers.get("location"));
}

// Calls a tool, and logs in as often as aime says that this is needed, three times at most.
async function call(tool, parameters) {
  for (let logins = 0; ; logins += 1) {
    const called = await aime("tools", "call", `mcp__s__${tool}`, JSON.stringify(parameters));
    if (called.code === 0 || logins === 3 || !/requires a login|the login lacks/.test(called.said)) return called;
    const login = await aime("mcp", "login", "s");
    if (login.code !== 0) return login;
  }
}

// Calls a tool before a person at a terminal, who says nothing to each question.
function attended(tool) {
  const line = `'${program}' tools call mcp__s__${tool} '{}'`;
  const child = spawn("script", ["-qefc", line, "/dev/null"], { cwd: join(root, "work"), env: variables, stdio: ["pipe", "pipe", "inherit"] });
  let out = "", answered = 0;
  child.stdout.on("data", (data) => {
    out += data;
    process.stdout.write(data);
    for (const asked = out.split("If you say nothing").length - 1; answered < asked; answered += 1) child.stdin.write("\n");
  });
  return new Promise((resolve) => child.on("close", (code) => resolve({ code })));
}

async function drive() {
  if (scenario === "initialize") return aime("mcp", "test", "s");
  if (scenario === "tools_call") return call("add_numbers", { a: 5, b: 3 });
  if (scenario === "sse-retry") return call("test_reconnection", {});
  if (scenario === "elicitation-sep1034-client-defaults") return attended("test_client_elicitation_defaults");
  return call("test-tool", {});
}

process.exit((await drive()).code);
