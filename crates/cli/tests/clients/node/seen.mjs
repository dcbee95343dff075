// What a client has seen, as lines that are the same each time.

import { createHash } from "node:crypto";

// What belongs to the connection or to the minute, and not to the answer.
const PASSING = new Set(["connection", "date", "keep-alive", "transfer-encoding"]);

/** One line: a name, and a value as JSON. */
export function say(name, value) {
  process.stdout.write(`${name} ${JSON.stringify(value ?? null)}\n`);
}

/** All headers of an answer. */
export function headers(name, headers) {
  for (const [header, value] of [...headers].sort()) {
    if (!PASSING.has(header)) say(`${name} header ${header}`, value);
  }
}

/** A text that is too long to print. */
export function digest(name, text) {
  say(name, { bytes: Buffer.byteLength(text), sha256: createHash("sha256").update(text).digest("hex") });
}

/** What is thrown: its kind, its words, and what the client read out of the answer. */
export function error(name, error) {
  const { status, requestID, code, type } = error;
  const cause = error.cause?.constructor.name;
  say(name, { kind: error.constructor.name, text: error.message, cause, status, requestID, code, type, body: error.error });
}

/** Says what a promise or a stream of events breaks with. */
export async function broken(name, work) {
  try {
    await work();
  } catch (thrown) {
    error(name, thrown);
    return;
  }
  say(`${name} did not break`);
}

/** Runs the scenario that the first argument names; the second is what the user says in it. */
export async function run(scenarios) {
  const [name, prompt] = process.argv.slice(2);
  if (name === "--list") {
    process.stdout.write(scenarios.map((scenario) => `${scenario.name}\n`).join(""));
    return;
  }
  await scenarios.find((scenario) => scenario.name === name)(prompt);
}
