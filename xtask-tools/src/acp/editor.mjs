// An editor in a few lines, over the official library: starts the agent, gives it two goals, and prints what it saw as JSON.
// Arguments: the program of the agent, the folder. What the agent finds in its environment is this process's own.
import { spawn } from "node:child_process";
import { Readable, Writable } from "node:stream";
import * as acp from "@agentclientprotocol/sdk";

const [program, folder] = process.argv.slice(2);
const agent = spawn(program, ["acp"], { stdio: ["pipe", "pipe", "inherit"] });
const ended = new Promise((resolve) => agent.on("exit", (code) => resolve(code)));
const seen = { updates: [], asked: [] };

await acp
  .client({ name: "aime-scenario" })
  .onRequest(acp.methods.client.session.requestPermission, ({ params }) => {
    seen.asked.push(params);
    const allow = params.options.find((option) => option.kind === "allow_once");
    return { outcome: { outcome: "selected", optionId: allow.optionId } };
  })
  .onNotification(acp.methods.client.session.update, ({ params }) => {
    seen.updates.push(params.update);
  })
  .connectWith(acp.ndJsonStream(Writable.toWeb(agent.stdin), Readable.toWeb(agent.stdout)), async (client) => {
    const { agent: methods } = acp.methods;
    const ask = (method, params) => client.request(method, params);
    seen.introduced = await ask(methods.initialize, { protocolVersion: acp.PROTOCOL_VERSION, clientCapabilities: {} });
    const session = await ask(methods.session.new, { cwd: folder, mcpServers: [] });
    await ask(methods.session.setConfigOption, { sessionId: session.sessionId, configId: "planning", value: "complex" });
    const prompt = (text) => ask(methods.session.prompt, { sessionId: session.sessionId, prompt: [{ type: "text", text }] });
    seen.stops = [(await prompt("do the dishes")).stopReason, (await prompt("with hot water")).stopReason];
    seen.listed = (await ask(methods.session.list, { cwd: folder })).sessions.length;
    const before = seen.updates.length;
    await ask(methods.session.load, { sessionId: session.sessionId, cwd: folder, mcpServers: [] });
    seen.loaded = seen.updates.splice(before).length;
    try {
      await ask(methods.session.load, { sessionId: "nowhere", cwd: folder, mcpServers: [] });
    } catch (error) {
      seen.unknown = error.code;
    }
  });
agent.stdin.end();
seen.exit = await ended;
console.log(JSON.stringify(seen));
