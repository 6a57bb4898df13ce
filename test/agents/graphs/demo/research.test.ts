import type { AIMessage, ToolMessage } from "@langchain/core/messages";
import { expect, it } from "vitest";
import { human, lastText, onThread, openGraph } from "./support.ts";

it("research hands tasks to two subagents, each in its own namespace", async () => {
  const research = await openGraph("research");
  const namespaces = new Map<string, string[]>();
  const options = { ...onThread("t"), streamMode: "updates" as const, subgraphs: true };
  const events = await research.stream(human("Should we move the archive to the edge?"), options);
  for await (const [namespace, update] of events as AsyncIterable<[string[], object]>) {
    const key = namespace.join("|");
    namespaces.set(key, [...(namespaces.get(key) ?? []), ...Object.keys(update)]);
  }
  const nested = [...namespaces.keys()].filter(Boolean);
  expect(nested).toHaveLength(2);
  expect(nested.every((namespace) => /^tools:[0-9a-f-]{36}$/.test(namespace))).toBe(true);
  expect(namespaces.get("")).toEqual(["agent", "tools", "tools", "agent"]);

  const { values } = await research.getState(onThread("t"));
  const calls = (values.messages[1] as AIMessage).tool_calls ?? [];
  expect(calls.map(({ name, args }) => [name, args.subagent_type])).toEqual([
    ["task", "researcher"],
    ["task", "critic"],
  ]);
  const reports = values.messages.slice(2, 4) as ToolMessage[];
  expect(reports.map(({ tool_call_id }) => tool_call_id)).toEqual(calls.map(({ id }) => id));
  expect(lastText(values)).toMatch(/The researcher reports: In UTC it is .* The critic reports: /s);

  const history = [];
  for await (const state of research.getStateHistory(onThread("t"))) history.push(state);
  const pushed = history.flatMap(({ tasks }) => tasks).filter((task) => task.path?.[0] === "__pregel_push");
  expect(new Set(pushed.map(({ id, name }) => `${name}:${id}`))).toEqual(new Set(nested));
});
