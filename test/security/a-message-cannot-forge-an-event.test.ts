/** Text of a message stays in the data of its frame, also for clients that split lines as Python's `splitlines()` does. */
import { beforeAll, expect, it } from "vitest";
import { type Caller, newCaller } from "../support/caller.ts";

/** Every character at which `splitlines()` splits. */
const BREAKS = ["\n", "\r", "\r\n", "\v", "\f", "\u001c", "\u001d", "\u001e", "\u0085", "\u2028", "\u2029"];
const CONTENT = BREAKS.map((one) => `x${one}event: forged${one}data: {}${one}${one}`).join("");
const input = { messages: [{ role: "user", content: CONTENT }] };

let caller: Caller;
beforeAll(async () => void (caller = await newCaller()));

async function readLines(path: string, body: object): Promise<string[]> {
  const response = await caller.fetch(path, { body });
  expect(response.status).toBe(200);
  const breaks = new Set(BREAKS);
  const lines = [""];
  for (const character of await response.text()) {
    if (breaks.has(character)) lines.push("");
    else lines[lines.length - 1] += character;
  }
  return lines;
}

/** The data of the frames, each one line. */
function dataIn(lines: string[]): unknown[] {
  expect(lines.filter((line) => !/^(?:event: [\w|/-]+|data: .*|id: \S+|:.*|)$/.test(line))).toEqual([]);
  expect(lines).not.toContain("event: forged");
  return lines.filter((line) => line.startsWith("data: ")).map((line) => JSON.parse(line.slice(6)) as unknown);
}

it("in the classic streams", async () => {
  const data = dataIn(
    await readLines("/runs/stream", { assistant_id: "echo", input, stream_mode: ["values", "updates"] }),
  );
  const values = data.find((one) => JSON.stringify(one).includes('"messages"')) as { messages: { content: string }[] };
  expect(values.messages[0]?.content).toBe(CONTENT);
});

it("in AG-UI", async () => {
  const messages = [{ id: "m", role: "user", content: CONTENT }];
  const data = dataIn(await readLines("/agui/echo", { threadId: crypto.randomUUID(), runId: "r", messages }));
  expect(JSON.stringify(data)).toContain(JSON.stringify(CONTENT).slice(1, -1));
});

it("in A2A", async () => {
  const message = { messageId: "m", role: "ROLE_USER", parts: [{ text: CONTENT }] };
  const call = { jsonrpc: "2.0", id: 1, method: "SendStreamingMessage", params: { message } };
  const data = dataIn(await readLines("/a2a/echo", call));
  expect(JSON.stringify(data)).toContain(JSON.stringify(CONTENT).slice(1, -1));
});
