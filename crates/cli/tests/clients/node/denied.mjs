// Agents under an envelope, with all vendors' clients for Node: what they throw when a model or a tool is denied.

import Anthropic from "@anthropic-ai/sdk";
import { GoogleGenAI } from "@google/genai";
import OpenAI from "openai";

import * as seen from "./seen.mjs";

const parameters = { type: "object", properties: {} };

/** Says what it broke with; a stream is read to its end. */
async function denied(name, work) {
  await seen.broken(name, async () => {
    const result = await work();
    for await (const piece of result) seen.say(name, typeof piece);
  });
}

async function openaiAgent(prompt) {
  const client = new OpenAI();
  const messages = [{ role: "user", content: prompt }];
  const chat = (options) => client.chat.completions.create({ messages, ...options });
  const tools = [{ type: "function", function: { name: "lookup", parameters } }];
  await denied("chat model", () => chat({ model: "o3" }));
  await denied("chat model stream", () => chat({ model: "o3", stream: true }));
  await denied("chat tool", () => chat({ model: "gpt-5", tools }));
  await denied("chat tool stream", () => chat({ model: "gpt-5", tools, stream: true }));
  const respond = (options) => client.responses.create({ model: "gpt-5", input: prompt, ...options });
  const functions = [{ type: "function", name: "lookup", parameters, strict: false }];
  await denied("response tool", () => respond({ tools: functions }));
  await denied("response tool stream", () => respond({ tools: functions, stream: true }));
}

async function anthropicAgent(prompt) {
  const client = new Anthropic();
  const messages = [{ role: "user", content: prompt }];
  const ask = (options) => client.messages.create({ max_tokens: 64, messages, ...options });
  const tools = [{ name: "lookup", input_schema: parameters }];
  await denied("message model", () => ask({ model: "claude-other" }));
  await denied("message model stream", () => ask({ model: "claude-other", stream: true }));
  await denied("message tool", () => ask({ model: "claude-testkit", tools }));
  await denied("message tool stream", () => ask({ model: "claude-testkit", tools, stream: true }));
}

async function googleAgent(prompt) {
  const { models } = new GoogleGenAI({});
  const tools = [{ functionDeclarations: [{ name: "lookup" }] }];
  const ask = (model, config) => models.generateContent({ model, contents: prompt, config });
  const stream = (model, config) => models.generateContentStream({ model, contents: prompt, config });
  await denied("content model", () => ask("gemini-other"));
  await denied("content model stream", () => stream("gemini-other"));
  await denied("content tool", () => ask("gemini-testkit", { tools }));
  await denied("content tool stream", () => stream("gemini-testkit", { tools }));
}

async function denials(prompt) {
  await openaiAgent(prompt);
  await anthropicAgent(prompt);
  await googleAgent(prompt);
}

await seen.run([denials]);
