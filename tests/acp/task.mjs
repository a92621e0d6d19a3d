// The SDK of the protocol's own project as the client: it drives a whole task with `slug acp`, and every
// line that slug writes is checked against the SDK's JSON schema.
//
//   node task.mjs SLUG FOLDER-WITH-THE-PACKAGES
import { spawn } from "node:child_process";
import { createRequire } from "node:module";
import { mkdtempSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { PassThrough, Readable, Writable } from "node:stream";
import { fileURLToPath, pathToFileURL } from "node:url";
import assert from "node:assert/strict";

const [slug, packages] = process.argv.slice(2);
const require = createRequire(join(packages, "package.json"));
const acp = await import(pathToFileURL(require.resolve("@agentclientprotocol/sdk")).href);
const Ajv = require("ajv/dist/2020").default;
const addFormats = require("ajv-formats").default;
const here = dirname(fileURLToPath(import.meta.url));

const schemaFile = join(packages, "node_modules/@agentclientprotocol/sdk/schema/v1/schema.json");
const schema = JSON.parse(readFileSync(schemaFile, "utf8"));
const ajv = new Ajv({ strict: false, allErrors: true });
addFormats(ajv);
for (const format of ["uint16", "uint32", "uint64", "int32", "int64", "double"]) ajv.addFormat(format, true);
ajv.addSchema(schema, "acp");

/** The check for what goes with a method. */
function check(method, kind) {
  const name = Object.keys(schema.$defs).find((name) => {
    const it = schema.$defs[name];
    return it["x-method"] === method && name.endsWith(kind);
  });
  assert.ok(name, `the schema has no ${kind} of ${method}`);
  return ajv.getSchema(`acp#/$defs/${name}`);
}

const asked = new Map();
let lines = 0;

/** Checks a line of slug's. */
function checkLine(line) {
  lines += 1;
  const message = JSON.parse(line);
  assert.equal(message.jsonrpc, "2.0", line);
  let test, value;
  if (message.method !== undefined) {
    test = check(message.method, message.id === undefined ? "Notification" : "Request");
    value = message.params;
  } else if (message.error !== undefined) {
    test = ajv.getSchema("acp#/$defs/Error");
    value = message.error;
  } else {
    test = check(asked.get(message.id), "Response");
    value = message.result;
  }
  assert.ok(test(value), `${line}\n${ajv.errorsText(test.errors)}`);
}

/** Hands whole lines to `each` as they pass. */
function tap(from, each) {
  const to = new PassThrough();
  let rest = "";
  from.on("data", (data) => {
    rest += data;
    for (let end; (end = rest.indexOf("\n")) >= 0; rest = rest.slice(end + 1)) each(rest.slice(0, end));
    to.write(data);
  });
  from.on("end", () => {
    assert.equal(rest, "", "slug's output ends with a whole line");
    to.end();
  });
  return to;
}

const root = mkdtempSync(join(tmpdir(), "slug-acp-"));
const cwd = join(root, "shop");
mkdirSync(cwd);
mkdirSync(join(root, "home"));
writeFileSync(join(cwd, "price.txt"), "500 g\n");
const env = { PATH: process.env.PATH, HOME: join(root, "home"), TMPDIR: root };
const started = performance.now();
const program = spawn(slug, ["--demo", join(here, "task.toml"), "acp"], { cwd, env });
let complaints = "";
program.stderr.on("data", (data) => (complaints += data));
const stdin = new PassThrough();
tap(stdin, (line) => {
  const message = JSON.parse(line);
  if (message.method !== undefined && message.id !== undefined) asked.set(message.id, message.method);
}).pipe(program.stdin);
const stream = acp.ndJsonStream(Writable.toWeb(stdin), Readable.toWeb(tap(program.stdout, checkLine)));

const seen = [];
const updates = [];
const questions = [];
await acp
  .client()
  .onNotification("session/update", ({ params }) => {
    updates.push(params);
    seen.push(params.update.sessionUpdate);
  })
  .onRequest("session/request_permission", ({ params }) => {
    questions.push(params);
    const known = updates.some((it) => it.update.sessionUpdate === "tool_call" && it.update.toolCallId === params.toolCall.toolCallId);
    assert.ok(known, "the call comes before its question");
    const yes = params.options.find((it) => it.kind === "allow_once");
    return { outcome: { outcome: "selected", optionId: yes.optionId } };
  })
  .onRequest("fs/read_text_file", ({ params }) => ({ content: readFileSync(params.path, "utf8") }))
  .onRequest("elicitation/create", ({ params }) => {
    assert.equal(params.mode, "form");
    assert.equal(params.requestedSchema.properties.choice1.oneOf.length, 2);
    return { action: "accept", content: { choice1: "0" } };
  })
  .connectWith(stream, async (agent) => {
    const hello = await agent.request("initialize", {
      protocolVersion: 1,
      clientCapabilities: {
        fs: { readTextFile: true, writeTextFile: true },
        terminal: true,
        session: { notices: {}, compaction: {}, configOptions: { boolean: {} } },
        auth: { terminal: true },
        elicitation: { form: {} },
        _meta: { terminal_output: true },
      },
    });
    console.log(`the first answer came after ${(performance.now() - started).toFixed(1)} ms`);
    assert.equal(hello.protocolVersion, 1);
    const opened = await agent.request("session/new", { cwd, mcpServers: [] });
    const sessionId = opened.sessionId;
    assert.equal(opened.modes.currentModeId, "ask");
    assert.deepEqual(opened.configOptions.map((it) => it.id), ["mode", "model", "effort"]);
    const prompt = [{ type: "text", text: "Fix the price" }, { type: "resource_link", name: "price.txt", uri: pathToFileURL(join(cwd, "price.txt")).href }];
    const done = await agent.request("session/prompt", { sessionId, prompt });
    assert.equal(done.stopReason, "end_turn");
    assert.equal(readFileSync(join(cwd, "price.txt"), "utf8"), "450 g\n");

    for (const kind of ["available_commands_update", "agent_thought_chunk", "agent_message_chunk", "tool_call", "tool_call_update", "plan", "usage_update"]) {
      assert.ok(seen.includes(kind), `there was a ${kind}`);
    }
    const calls = updates.filter((it) => it.update.sessionUpdate === "tool_call").map((it) => it.update.toolCallId);
    assert.equal(new Set(calls).size, calls.length, "each call is told once");
    const ends = updates.filter((it) => ["completed", "failed"].includes(it.update.status));
    assert.deepEqual(ends.map((it) => it.update.status), Array(5).fill("completed"));
    const edit = questions.find((it) => it.toolCall.kind === "edit");
    const diff = edit.toolCall.content.find((it) => it.type === "diff");
    assert.deepEqual([diff.oldText, diff.newText], ["500 g\n", "450 g\n"]);
    const printed = updates.map((it) => it.update._meta?.terminal_output?.data ?? "").join("");
    assert.ok(printed.includes("now: 450 g"), printed);

    const mode = await agent.request("session/set_mode", { sessionId, modeId: "plan" });
    assert.deepEqual(mode, {});
    const option = { sessionId, configId: "effort", value: "high" };
    const options = await agent.request("session/set_config_option", option);
    assert.equal(options.configOptions.find((it) => it.id === "effort").currentValue, "high");
    assert.equal(options.configOptions.find((it) => it.id === "mode").currentValue, "plan");

    const { sessions } = await agent.request("session/list", { cwd });
    assert.deepEqual(sessions.map((it) => it.sessionId), [sessionId]);
    await agent.request("session/close", { sessionId });
    const before = updates.length;
    await agent.request("session/load", { sessionId, cwd, mcpServers: [] });
    const replayed = updates.slice(before).map((it) => it.update.sessionUpdate);
    for (const kind of ["user_message_chunk", "agent_message_chunk", "tool_call", "plan"]) {
      assert.ok(replayed.includes(kind), `${kind} is shown again`);
    }
    await agent.request("session/close", { sessionId });
    await agent.request("session/resume", { sessionId, cwd, mcpServers: [] });
    const second = await agent.request("session/new", { cwd, mcpServers: [] });
    assert.notEqual(second.sessionId, sessionId);
    await agent.request("session/delete", { sessionId });
    const left = await agent.request("session/list", {});
    assert.deepEqual(left.sessions, []);
  });

const status = await new Promise((resolve) => {
  if (program.exitCode !== null) return resolve(program.exitCode);
  program.on("exit", resolve);
  stdin.end();
});
assert.equal(status, 0, complaints);
assert.equal(complaints, "");
console.log(`the task is done; ${lines} lines of slug's are as the schema has them`);
