import assert from "node:assert/strict";
import { test } from "node:test";
import { HumanMessage } from "@langchain/core/messages";
import { agent } from "../src/agent.ts";
import { calculator, currentTime } from "../src/tools.ts";

// Without a key and without bindings the model is the offline one, so these tests need no network.
const ask = async (question: string) => {
  const { messages } = await agent({}, {}).invoke({ messages: [new HumanMessage(question)] });
  return messages;
};

test("the agent calls a tool and answers with its result", async () => {
  const messages = await ask("What is 17 * 24?");
  assert.deepEqual(
    messages.map(({ type }) => type),
    ["human", "ai", "tool", "ai"],
  );
  assert.match(messages.at(-1)?.text ?? "", /408/);
});

test("the agent answers without a tool", async () => {
  assert.equal((await ask("Hello!")).length, 2);
});

test("the calculator refuses what is no expression", async () => {
  assert.equal(await calculator.invoke({ expression: "(2 + 3) * 4" }), "20");
  await assert.rejects(calculator.invoke({ expression: "two" }));
});

test("the clock supports time zones", async () => {
  assert.match(await currentTime.invoke({ zone: "Asia/Tokyo" }), /\d{2}:\d{2}/);
});
