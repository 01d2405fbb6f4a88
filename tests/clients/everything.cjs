// Does everything that the official JavaScript client can do with a server, and prints what came back as JSON.
// The task comes on stdin: where the server is, where the client's package lies, and the prompts.
"use strict";
const { createRequire } = require("node:module");
const { createHash } = require("node:crypto");
const { readFileSync } = require("node:fs");

async function everything(task) {
  const { Ollama } = createRequire(task.modules + "/")("ollama");
  const client = new Ollama({ host: task.host });
  const model = task.model;
  const user = (content) => ({ role: "user", content });
  const seen = {};

  seen.chat = await client.chat({ model, messages: [user(task.say)], think: false });
  seen.pieces = [];
  for await (const part of await client.chat({ model, messages: [user(task.say)], think: false, stream: true })) {
    seen.pieces.push(part.message.content);
  }

  const tools = [task.tool];
  seen.tools = await client.chat({ model, messages: [user(task.callPrompt)], tools, think: false });
  const turns = [
    user(task.callPrompt),
    seen.tools.message,
    { role: "tool", tool_name: "get_weather", content: "sunny" },
    user(task.say),
  ];
  seen.afterTool = await client.chat({ model, messages: turns, tools, think: false });

  const stream = await client.generate({ model, prompt: task.endless, think: false, stream: true });
  try {
    let count = 0;
    for await (const _ of stream) if (++count === 3) stream.abort();
  } catch (error) {
    seen.aborted = error.name;
  }
  seen.afterAbort = (await client.generate({ model, prompt: task.say, think: false })).response;

  seen.embed = await client.embed({ model, input: ["one", "two"] });
  seen.created = [];
  for await (const step of await client.create({ model: "js", from: model, system: "Be brief.", stream: true })) {
    seen.created.push(step.status);
  }
  seen.shown = await client.show({ model: "js" });
  seen.listed = (await client.list()).models.map((entry) => entry.name);
  seen.running = (await client.ps()).models.map((entry) => entry.name);
  seen.deleted = (await client.delete({ model: "js" })).status;

  const content = readFileSync(task.file);
  seen.digest = "sha256:" + createHash("sha256").update(content).digest("hex");
  const uploaded = await fetch(`${task.host}/api/blobs/${seen.digest}`, { method: "POST", body: content });
  seen.uploaded = uploaded.status;
  const made = await client.create({ model: "js-blob", files: { "w.gguf": seen.digest }, stream: false });
  seen.made = made.status;
  await client.delete({ model: "js-blob" });

  try {
    await client.chat({ model: "nobody", messages: [user("hi")] });
  } catch (error) {
    seen.missing = { status: error.status_code, message: error.message };
  }
  return seen;
}

everything(JSON.parse(readFileSync(0, "utf8"))).then(
  (seen) => process.stdout.write(JSON.stringify(seen)),
  (error) => {
    console.error(error);
    process.exitCode = 1;
  },
);
