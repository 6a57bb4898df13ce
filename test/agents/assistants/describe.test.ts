import "../../../src/runtime/install.ts";
import { START, StateGraph, StateSchema } from "@langchain/langgraph";
import { beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { graphs } from "../../../src/deployment.ts";
import { type Caller, newCaller } from "../../support/caller.ts";

let caller: Caller;
beforeAll(async () => {
  caller = await newCaller();
});

async function get<T>(path: string): Promise<T> {
  const response = await caller.fetch(`/assistants/${path}`);
  expect(response.status).toBe(200);
  return response.json<T>();
}

describe("an assistant's graph", () => {
  it("is drawn", async () => {
    for (const xray of ["", "?xray=true", "?xray=false", "?xray=2"]) {
      const drawn = await get<{ nodes: { id: string }[]; edges: object[] }>(`echo/graph${xray}`);
      expect(drawn.nodes.map(({ id }) => id)).toEqual(["__start__", "echo", "__end__"]);
      expect(drawn.edges).toHaveLength(2);
    }
  });

  it("has schemas", async () => {
    expect(await get("echo/schemas")).toMatchObject({
      graph_id: "echo",
      input_schema: { type: "object", properties: { messages: { langgraph_type: "messages" } } },
      output_schema: { type: "object" },
      state_schema: { type: "object" },
      context_schema: null,
    });
    expect(await get("agent/schemas")).toMatchObject({ context_schema: { properties: { model: {} } } });
  });

  it("lists subgraphs", async () => {
    expect(await get("echo/subgraphs?recurse=true")).toEqual({});
    expect(await get("echo/subgraphs/nowhere?recurse=false")).toEqual({});
  });

  it("names the schemas of a subgraph as both Agent Servers do", async () => {
    const inner = new StateGraph(new StateSchema({ text: z.string() }))
      .addNode("say", () => ({}))
      .addEdge(START, "say")
      .compile();
    const outer = new StateGraph(new StateSchema({ text: z.string() }))
      .addNode("inner", inner)
      .addEdge(START, "inner")
      .compile();
    Object.assign(graphs, { echo: outer });
    for (const path of ["echo/subgraphs", "echo/subgraphs/inner"]) {
      const found = await get<{ inner: Record<string, unknown> }>(path);
      expect(found.inner.state).toMatchObject({ properties: { text: { type: "string" } } });
      for (const kind of ["state", "input", "output", "config"])
        expect(found.inner[kind]).toEqual(found.inner[`${kind}_schema`]);
    }
  });
});
