// An agent of OpenAI's client for Node, in small pieces: `openai_client.mjs SCENARIO PROMPT`.

import OpenAI from "openai";

import * as seen from "./seen.mjs";

const model = "gpt-5";
const UNICODE = 'Grüße an Ωμέγα, 日本語, עברית, e\u0301, 👩🏽‍🚀, \u202e\u0000\u2028 und "\\/\t\r\n';
const TOOL = {
  name: "lookup",
  description: "Looks something up",
  parameters: { type: "object", properties: { query: { type: "string" } } },
};

const client = new OpenAI();
const user = (text) => [{ role: "user", content: text }];
const chat = (text, options) => client.chat.completions.create({ model, messages: user(text), ...options });
const respond = (text, options) => client.responses.create({ model, input: text, ...options });
const lookedUp = (input) => `42 is the answer to ${JSON.parse(input).query}`;

async function plain(prompt) {
  const completion = await chat(prompt).withResponse();
  seen.headers("chat", completion.response.headers);
  seen.say("chat", completion.data);
  const response = await respond(prompt).withResponse();
  seen.headers("response", response.response.headers);
  seen.say("response", response.data);
  seen.say("request id", response.request_id);
  const models = [];
  for await (const found of client.models.list()) models.push(found.id);
  seen.say("models", models);
}

async function stream(prompt) {
  const responses = client.responses.stream({ model, input: prompt });
  for await (const event of responses) seen.say("response event", event.type);
  seen.say("response", await responses.finalResponse());
  for await (const event of await respond(`${prompt} Again.`, { stream: true })) seen.say("response event", event);
  const options = { stream: true, stream_options: { include_usage: true } };
  const raw = await chat(prompt, options).withResponse();
  seen.headers("chat", raw.response.headers);
  for await (const chunk of raw.data) seen.say("chat chunk", chunk);
  const helper = client.chat.completions.stream({ model, messages: user(prompt), ...options });
  helper.on("content", (delta) => seen.say("chat content", delta));
  seen.say("chat", await helper.finalChatCompletion());
}

async function parallel(prompt) {
  const calls = Array.from({ length: 16 }, (_, number) => chat(`together ${number}: ${prompt}`));
  (await Promise.all(calls)).forEach((completion, number) => seen.say(`call ${number}`, completion));
}

async function tools(prompt) {
  const items = user(prompt);
  for (;;) {
    const response = await respond(items, { tools: [{ type: "function", ...TOOL }] });
    seen.say("response", response);
    const calls = response.output.filter((item) => item.type === "function_call");
    if (calls.length === 0) break;
    items.push(...response.output);
    for (const call of calls) {
      items.push({ type: "function_call_output", call_id: call.call_id, output: lookedUp(call.arguments) });
    }
  }
  const messages = user(prompt);
  for (;;) {
    const helper = client.chat.completions.stream({ model, messages, tools: [{ type: "function", function: TOOL }] });
    const completion = await helper.finalChatCompletion();
    seen.say("chat", completion);
    const { content, tool_calls: calls } = completion.choices[0].message;
    if (!calls?.length) break;
    const asked = calls.map(({ id, type, function: { name, arguments: input } }) => ({ id, type, function: { name, arguments: input } }));
    messages.push({ role: "assistant", content, tool_calls: asked });
    for (const call of calls) {
      messages.push({ role: "tool", tool_call_id: call.id, content: lookedUp(call.function.arguments) });
    }
  }
}

async function errors(prompt) {
  for (const status of [400, 401, 429, 500]) {
    await seen.broken(`fail ${status}`, () => chat(`fail ${status}: ${prompt}`));
  }
  seen.say("busy", await chat(`busy twice: ${prompt}`));
  await seen.broken("response", () => respond(`fail 400: ${prompt}`, { stream: true }));
  await seen.broken("response", async () => {
    for await (const event of await respond(`break down: ${prompt}`, { stream: true })) seen.say("response event", event.type);
  });
}

async function cut(prompt) {
  await seen.broken("chat", async () => {
    for await (const chunk of await chat(`cut after 3: ${prompt}`, { stream: true })) seen.say("chat chunk", chunk);
  });
  await seen.broken("response", async () => {
    for await (const event of await respond(`cut after 5: ${prompt}`, { stream: true })) seen.say("response event", event);
  });
  for (const how of ["cut after 0", "hang up"]) await seen.broken(how, () => chat(`${how}: ${prompt}`));
}

async function big(prompt) {
  const text = prompt + " Привет, мир.".repeat(230_000);
  seen.digest("prompt", text);
  seen.digest("chat", (await chat(text)).choices[0].message.content);
  let streamed = "";
  for await (const chunk of await chat(text, { stream: true })) streamed += chunk.choices[0]?.delta.content ?? "";
  seen.digest("stream", streamed);
}

async function unicode(prompt) {
  seen.say("chat", await chat(prompt + UNICODE, { user: "Jürgen 🦀" }));
  for await (const event of await respond(prompt + UNICODE, { stream: true })) seen.say("response event", event);
}

async function encodings(prompt) {
  for (const encoding of ["gzip", "deflate", "br", "zstd", "gzip+gzip"]) {
    const said = `as ${encoding}: ${prompt}`;
    const { data, response } = await chat(said).withResponse();
    seen.headers(encoding, response.headers);
    seen.say(encoding, data);
    for await (const chunk of await chat(said, { stream: true })) seen.say(`${encoding} chunk`, chunk);
  }
}

async function secrets(prompt) {
  const { PLANTED_IN_BODY: body, PLANTED_IN_QUERY: query, DATABASE_PASSWORD: password } = process.env;
  const said = `${prompt} ${body} and ${password}`;
  const secret = `tell nobody: ${said}`;
  seen.say("chat", await client.chat.completions.create({ model, messages: user(secret) }, { query: { api_key: query } }));
  seen.say("response", await client.responses.create({ model, input: secret }, { query: { sig: query } }));
  for await (const chunk of await chat(said, { stream: true })) seen.say("chat chunk", chunk);
}

await seen.run([plain, stream, parallel, tools, errors, cut, big, unicode, encodings, secrets]);
