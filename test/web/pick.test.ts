import { describe, expect, it } from "vitest";
import type { Assistant, ThreadRow } from "../../packages/web/api/types.ts";
import { assistantForNew, readAssistant } from "../../packages/web/chat/header/pick.ts";

const assistant = (assistant_id: string, graph_id: string): Assistant => ({
  assistant_id,
  graph_id,
  name: assistant_id,
  version: 1,
});
const thread = (metadata: Record<string, unknown>): ThreadRow => ({
  thread_id: "t",
  status: "idle",
  created_at: "",
  updated_at: "",
  metadata,
});

describe("the assistant of a conversation", () => {
  it("is for a new thread the one chosen, that of the graph agent, or the first", () => {
    const [a, b, c] = [assistant("a", "other"), assistant("b", "agent"), assistant("c", "third")];
    expect(assistantForNew([a, b, c], "c")).toBe(c);
    expect(assistantForNew([a, b, c], "third")).toBe(c);
    expect(assistantForNew([a, b, c], "deleted")).toBe(b);
    expect(assistantForNew([a, c], undefined)).toBe(a);
    expect(assistantForNew([], "c")).toBeUndefined();
  });

  it("is the one that the server made for the graph agent, also where a person made a newer one", () => {
    const configured = assistant("careful", "agent");
    const made = { ...assistant("agent", "agent"), metadata: { created_by: "system" } };
    expect(assistantForNew([configured, made], undefined)).toBe(made);
  });

  it("is for a begun thread that of its first run, by its graph where only that is known", () => {
    expect(readAssistant(thread({ assistant_id: "x", graph_id: "g" }))).toEqual({ id: "x", graph: "g" });
    expect(readAssistant(thread({ graph_id: "g" }))).toEqual({ id: "g", graph: "g" });
    expect(readAssistant(thread({}))).toEqual({ id: undefined, graph: undefined });
    expect(readAssistant(undefined)).toEqual({ id: undefined, graph: undefined });
  });
});
