/** Tool calls on a thread whose object restarts at random moments. */
import { expect, it } from "vitest";
import { abortsDuring } from "../support/aborts.ts";
import { newCaller } from "../support/caller.ts";
import { seeded } from "../support/random.ts";

const ROUNDS = 4;
const COUNT = 40;
const COUNTED = Array.from({ length: COUNT }, (_, i) => i + 1).join(" ");
const random = seeded("restarts under tool calls");

interface Reply {
  result: { isError: boolean; content: { text: string }[] };
}

it("a tool call brings the run's final state", async () => {
  const caller = await newCaller();
  const messages = [{ role: "user", content: `count to ${COUNT}` }];
  const params = { name: "agent", arguments: { messages } };
  for (let round = 0; round < ROUNDS; round++) {
    const calling = caller.fetch("/mcp", { body: { jsonrpc: "2.0", id: 1, method: "tools/call", params } });
    const { result } = await abortsDuring(
      random,
      calling.then((response) => response.json<Reply>()),
    );
    expect(result.isError).toBe(false);
    const state = JSON.parse(result.content[0]?.text ?? "") as { messages: { content: string }[] };
    expect(state.messages.map(({ content }) => content)).toEqual([messages[0]?.content, COUNTED]);
  }
});
