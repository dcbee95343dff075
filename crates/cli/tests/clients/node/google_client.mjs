// An agent of Google's client for Node, in small pieces: `google_client.mjs SCENARIO PROMPT`.

import { GoogleGenAI } from "@google/genai";

import * as seen from "./seen.mjs";

const model = "gemini-testkit";
const UNICODE = 'Grüße an Ωμέγα, 日本語, עברית, e\u0301, 👩🏽‍🚀, \u202e\u0000\u2028 und "\\/\t\r\n';
const TOOL = {
  functionDeclarations: [
    {
      name: "lookup",
      description: "Looks something up",
      parametersJsonSchema: { type: "object", properties: { query: { type: "string" } } },
    },
  ],
};

const client = new GoogleGenAI({});
const user = (text) => [{ role: "user", parts: [{ text }] }];
const ask = (contents, config) => client.models.generateContent({ model, contents, config });
const askStream = (contents, config) => client.models.generateContentStream({ model, contents, config });

/** All that an answer says; its headers have the minute in them. */
function whole(name, { sdkHttpResponse, ...response }) {
  seen.say(name, response);
}

async function text(chunks) {
  let text = "";
  for await (const chunk of chunks) text += chunk.text ?? "";
  return text;
}

async function plain(prompt) {
  whole("content", await ask(prompt, { systemInstruction: "Be brief." }));
  whole("count", await client.models.countTokens({ model, contents: prompt }));
  whole("embedding", await client.models.embedContent({ model, contents: prompt }));
  const models = [];
  for await (const model of await client.models.list()) models.push(model.name);
  seen.say("models", models);
}

async function stream(prompt) {
  for await (const chunk of await askStream(prompt)) whole("chunk", chunk);
  const chat = client.chats.create({ model });
  for (const message of [prompt, "Again."]) seen.say("chat", await text(await chat.sendMessageStream({ message })));
}

async function parallel(prompt) {
  const calls = Array.from({ length: 16 }, (_, number) => ask(`together ${number}: ${prompt}`));
  (await Promise.all(calls)).forEach((response, number) => whole(`call ${number}`, response));
}

function lookedUp(calls) {
  const parts = calls.map(({ name, args }) => ({
    functionResponse: { name, response: { result: `42 is the answer to ${args.query}` } },
  }));
  return { role: "user", parts };
}

async function tools(prompt) {
  const contents = user(prompt);
  for (;;) {
    const response = await ask(contents, { tools: [TOOL] });
    whole("content", response);
    if (!response.functionCalls) break;
    contents.push(response.candidates[0].content, lookedUp(response.functionCalls));
  }
  const again = user(`${prompt} Again.`);
  for (;;) {
    const parts = [];
    for await (const chunk of await askStream(again, { tools: [TOOL] })) {
      whole("chunk", chunk);
      parts.push(...(chunk.candidates[0].content.parts ?? []));
    }
    const calls = parts.filter((part) => part.functionCall).map((part) => part.functionCall);
    if (calls.length === 0) break;
    again.push({ role: "model", parts }, lookedUp(calls));
  }
}

async function errors(prompt) {
  for (const status of [400, 401, 429, 500]) {
    await seen.broken(`fail ${status}`, () => ask(`fail ${status}: ${prompt}`));
  }
  await seen.broken("stream", async () => {
    for await (const chunk of await askStream(`break down: ${prompt}`)) whole("chunk", chunk);
  });
}

async function big(prompt) {
  const said = prompt + " Привет, мир.".repeat(230_000);
  seen.digest("prompt", said);
  seen.digest("content", (await ask(said)).text);
  seen.digest("stream", await text(await askStream(said)));
}

async function unicode(prompt) {
  whole("content", await ask(prompt + UNICODE, { systemInstruction: "Jürgen 🦀" }));
  for await (const chunk of await askStream(prompt + UNICODE)) whole("chunk", chunk);
}

async function secrets(prompt) {
  const { PLANTED_IN_BODY: body, DATABASE_PASSWORD: password } = process.env;
  const said = `${prompt} ${body} and ${password}`;
  whole("content", await ask(`tell nobody: ${said}`));
  for await (const chunk of await askStream(said)) whole("chunk", chunk);
}

await seen.run([plain, stream, parallel, tools, errors, big, unicode, secrets]);
