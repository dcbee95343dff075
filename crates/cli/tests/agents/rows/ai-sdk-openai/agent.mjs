// An agent of Vercel's AI SDK with one tool; its text is streamed.

import { writeFileSync } from "node:fs";
import { openai } from "@ai-sdk/openai";
import { isStepCount, streamText, tool } from "ai";
import { z } from "zod";

const writeProduct = tool({
  description: "Write the product of two numbers to answer.txt, and return it.",
  inputSchema: z.object({ a: z.number(), b: z.number() }),
  execute: async ({ a, b }) => {
    const line = `product=${a * b}`;
    writeFileSync("answer.txt", line + "\n");
    return line;
  },
});

const stream = streamText({
  model: openai("gpt-5"),
  tools: { write_product: writeProduct },
  stopWhen: isStepCount(5),
  prompt: process.argv[2],
});
for await (const part of stream.textStream) process.stdout.write(part);
process.stdout.write("\n");
