// An agent of Anthropic's client for Node, in small pieces: `anthropic_client.mjs SCENARIO PROMPT`.

import Anthropic from "@anthropic-ai/sdk";

import * as seen from "./seen.mjs";

const ASK = { model: "claude-testkit", max_tokens: 1024 };
const UNICODE = 'Grüße an Ωμέγα, 日本語, עברית, e\u0301, 👩🏽‍🚀, \u202e\u0000\u2028 und "\\/\t\r\n';
const TOOL = {
  name: "lookup",
  description: "Looks something up",
  input_schema: { type: "object", properties: { query: { type: "string" } } },
};

const client = new Anthropic();
const user = (text) => [{ role: "user", content: text }];
const ask = (text, options) => client.messages.create({ messages: user(text), ...ASK, ...options });
const helper = (messages, options) => client.messages.stream({ messages, ...ASK, ...options });

async function plain(prompt) {
  const { data, response, request_id } = await ask(prompt).withResponse();
  seen.headers("message", response.headers);
  seen.say("message", data);
  seen.say("request id", request_id);
  seen.say("count", await client.messages.countTokens({ model: ASK.model, messages: user(prompt) }));
  const models = [];
  for await (const model of client.models.list()) models.push(model.id);
  seen.say("models", models);
}

async function stream(prompt) {
  const events = helper(user(prompt));
  for await (const event of events) seen.say("helper event", event.type);
  seen.say("message", await events.finalMessage());
  const texts = helper(user(`${prompt} Again.`));
  texts.on("text", (text) => seen.say("text", text));
  seen.say("text", await texts.finalText());
  const raw = await ask(prompt, { stream: true }).withResponse();
  seen.headers("stream", raw.response.headers);
  for await (const event of raw.data) seen.say("event", event);
}

async function parallel(prompt) {
  const calls = Array.from({ length: 16 }, (_, number) => ask(`together ${number}: ${prompt}`));
  (await Promise.all(calls)).forEach((message, number) => seen.say(`call ${number}`, message));
}

async function tools(prompt) {
  const messages = user(prompt);
  for (;;) {
    const message = await helper(messages, { tools: [TOOL] }).finalMessage();
    seen.say("message", message);
    const calls = message.content.filter((block) => block.type === "tool_use");
    if (calls.length === 0) break;
    const results = calls.map((call) => ({
      type: "tool_result",
      tool_use_id: call.id,
      content: `42 is the answer to ${call.input.query}`,
    }));
    messages.push({ role: "assistant", content: message.content }, { role: "user", content: results });
  }
}

async function errors(prompt) {
  for (const status of [400, 401, 429, 500]) {
    await seen.broken(`fail ${status}`, () => ask(`fail ${status}: ${prompt}`));
  }
  seen.say("busy", await ask(`busy twice: ${prompt}`));
  await seen.broken("stream", () => ask(`fail 400: ${prompt}`, { stream: true }));
  await seen.broken("stream", async () => {
    for await (const event of await ask(`break down: ${prompt}`, { stream: true })) seen.say("event", event.type);
  });
}

async function cut(prompt) {
  await seen.broken("stream", async () => {
    for await (const event of await ask(`cut after 4: ${prompt}`, { stream: true })) seen.say("event", event);
  });
  await seen.broken("helper", async () => {
    const events = helper(user(`cut after 3: ${prompt}`));
    events.on("text", (text) => seen.say("text", text));
    await events.finalMessage();
  });
  for (const how of ["cut after 0", "hang up"]) await seen.broken(how, () => ask(`${how}: ${prompt}`));
}

async function big(prompt) {
  const text = prompt + " Привет, мир.".repeat(230_000);
  seen.digest("prompt", text);
  seen.digest("message", (await ask(text)).content[0].text);
  seen.digest("stream", await helper(user(text)).finalText());
}

async function unicode(prompt) {
  seen.say("message", await ask(prompt + UNICODE, { system: "Jürgen 🦀" }));
  for await (const event of await ask(prompt + UNICODE, { stream: true })) seen.say("event", event);
}

async function encodings(prompt) {
  for (const encoding of ["gzip", "deflate", "br", "zstd", "gzip+gzip"]) {
    const said = `as ${encoding}: ${prompt}`;
    const { data, response } = await ask(said).withResponse();
    seen.headers(encoding, response.headers);
    seen.say(encoding, data);
    for await (const event of await ask(said, { stream: true })) seen.say(`${encoding} event`, event);
  }
}

async function secrets(prompt) {
  const { PLANTED_IN_BODY: body, PLANTED_IN_QUERY: query, DATABASE_PASSWORD: password } = process.env;
  const said = `${prompt} ${body} and ${password}`;
  const messages = user(`tell nobody: ${said}`);
  seen.say("message", await client.messages.create({ messages, ...ASK }, { query: { api_key: query } }));
  seen.say("message", await client.messages.create({ messages, ...ASK }, { query: { sig: query } }));
  for await (const event of await ask(said, { stream: true })) seen.say("event", event);
}

await seen.run([plain, stream, parallel, tools, errors, cut, big, unicode, encodings, secrets]);
