// An agent of @openai/agents with one tool.

import { writeFileSync } from "node:fs";
import { Agent, run, tool } from "@openai/agents";
import { z } from "zod";

const writeProduct = tool({
  name: "write_product",
  description: "Write the product of two numbers to answer.txt, and return it.",
  parameters: z.object({ a: z.number(), b: z.number() }),
  execute: async ({ a, b }) => {
    const line = `product=${a * b}`;
    writeFileSync("answer.txt", line + "\n");
    return line;
  },
});

const agent = new Agent({ name: "clerk", instructions: "Use the tool.", model: "gpt-5", tools: [writeProduct] });
console.log((await run(agent, process.argv[2])).finalOutput);
