/** What a graph writes with a level, as log messages of a tool call. */
import "../../support/mcp-graphs.ts";
import { LOG_LEVEL_META_KEY } from "@modelcontextprotocol/client";
import { expect, it } from "vitest";
import { newCaller } from "../../support/caller.ts";
import { connectFirst, connectSecond } from "./connect.ts";

const CALL = { name: "test_tool_with_logging", arguments: { messages: [] } };
const SAID = ["Tool execution started", "Tool processing data", "Tool execution completed"].map((data) => ({
  level: "info",
  logger: "graph",
  data,
}));

it("arrives at a client of the first generation", async () => {
  const client = await connectFirst((await newCaller()).key);
  const { LoggingMessageNotificationSchema } = await import("@modelcontextprotocol/sdk/types.js");
  const logged: unknown[] = [];
  client.setNotificationHandler(LoggingMessageNotificationSchema, ({ params }) => void logged.push(params));
  expect(await client.setLoggingLevel("debug")).toEqual({});
  expect(await client.callTool(CALL)).toMatchObject({ content: [{ text: "Logged." }] });
  expect(logged).toEqual(SAID);
  await client.close();
});

it.each([
  ["debug", SAID],
  ["info", SAID],
  ["warning", []],
  [undefined, []],
] as const)("arrives at a client of the second generation from the level on that it names: %s", async (level, said) => {
  const client = await connectSecond((await newCaller()).key);
  const logged: unknown[] = [];
  client.setNotificationHandler("notifications/message", ({ params }) => void logged.push(params));
  const call = level === undefined ? CALL : { ...CALL, _meta: { [LOG_LEVEL_META_KEY]: level } };
  expect(await client.callTool(call)).toMatchObject({ content: [{ text: "Logged." }] });
  expect(logged).toEqual(said);
  await client.close();
});

it("is no progress", async () => {
  const client = await connectSecond((await newCaller()).key);
  const progress: unknown[] = [];
  await client.callTool(CALL, { onprogress: (one) => void progress.push(one.message) });
  expect(progress.filter((message) => !String(message).startsWith("Step"))).toEqual([]);
  await client.close();
});
