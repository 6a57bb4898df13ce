/** Tool calls on a thread whose object restarts at random moments. */
import { afterEach, describe, expect, it, vi } from "vitest";
import { remoteProblem } from "../../../src/lib/problem.ts";
import { RemoteThread } from "../../../src/threads/remote.ts";
import { abortsDuring } from "../../support/aborts.ts";
import { newCaller } from "../../support/caller.ts";
import { seeded } from "../../support/random.ts";

const ROUNDS = 4;
const COUNT = 40;
const COUNTED = Array.from({ length: COUNT }, (_, i) => i + 1).join(" ");
const random = seeded("restarts under tool calls");

interface Reply {
  result: { isError: boolean; content: { text: string }[] };
}

it("a tool call brings the run's answer", async () => {
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
    expect(result.content.map(({ text }) => text)).toEqual([COUNTED]);
  }
});

describe("a tool call that cannot be carried out", () => {
  afterEach(() => vi.restoreAllMocks());

  it.each([
    [remoteProblem(422, "The input is too long."), -32602, "The input is too long."],
    [Object.assign(new Error("any"), { overloaded: true }), -32603, "Too many requests"],
  ])("says why: %s", async (error, code, message) => {
    vi.spyOn(RemoteThread.prototype, "launch").mockRejectedValue(error);
    const caller = await newCaller();
    const params = { name: "echo", arguments: { messages: [] } };
    const answer = await caller.fetch("/mcp", { body: { jsonrpc: "2.0", id: 1, method: "tools/call", params } });
    const reply = await answer.json<{ error: { code: number; message: string } }>();
    expect(reply.error.code).toBe(code);
    expect(reply.error.message).toContain(message);
    expect(reply.error.message).not.toContain("Problem:");
  });
});
