import {
  Annotation,
  END,
  MessagesAnnotation,
  MessagesValue,
  START,
  StateGraph,
  StateSchema,
  MessagesZodMeta,
  MessagesZodState,
} from "@langchain/langgraph";
import { registry } from "@langchain/langgraph/zod";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { drawGraph, introspectSchemas, subgraphSchemas } from "../../src/runtime/introspect.ts";

const Inner = new StateSchema({ messages: MessagesValue, depth: z.number() });
const leaf = new StateGraph(Inner)
  .addNode("deep", () => ({ depth: 1 }))
  .addNode("deeper", () => ({ depth: 2 }))
  .addEdge(START, "deep")
  .addEdge("deep", "deeper")
  .addEdge("deeper", END)
  .compile();
const inner = new StateGraph(Inner)
  .addNode("leaf", leaf)
  .addNode("after", () => ({}))
  .addEdge(START, "leaf")
  .addEdge("leaf", "after")
  .addEdge("after", END)
  .compile();
const outer = new StateGraph(new StateSchema({ messages: MessagesValue, topic: z.string().default("") }), {
  context: z.object({ model: z.string().default("m").describe("Which model") }),
})
  .addNode("inner", inner)
  .addNode("tail", () => ({}))
  .addEdge(START, "inner")
  .addConditionalEdges("inner", () => "tail", ["tail", END])
  .addEdge("tail", END)
  .compile();

describe("a graph's schemas", () => {
  it("come from a StateSchema", async () => {
    const schemas = await introspectSchemas(outer);
    for (const name of ["input_schema", "output_schema", "state_schema"] as const) {
      expect(schemas[name]).toMatchObject({ properties: { topic: { type: "string" } } });
      expect(schemas[name]).toMatchObject({ properties: { messages: { langgraph_type: "messages" } } });
    }
    expect(schemas.context_schema).toMatchObject({
      properties: { model: { type: "string", description: "Which model" } },
    });
    expect(schemas.config_schema).toEqual(schemas.context_schema);
  });

  it("come from zod objects of either version", async () => {
    const four = z.object({
      messages: z.custom<unknown[]>().register(registry, MessagesZodMeta as never),
      n: z.number(),
    });
    const withZod = new StateGraph(four)
      .addNode("a", () => ({}))
      .addEdge(START, "a")
      .compile();
    expect((await introspectSchemas(withZod)).state_schema).toMatchObject({
      properties: { messages: { langgraph_type: "messages" } },
    });
    const three = new StateGraph(MessagesZodState)
      .addNode("a", () => ({}))
      .addEdge(START, "a")
      .compile();
    expect((await introspectSchemas(three)).input_schema).toMatchObject({
      properties: { messages: { langgraph_type: "messages" } },
    });
  });

  it("name the channels of an Annotation", async () => {
    const State = Annotation.Root({
      ...MessagesAnnotation.spec,
      sum: Annotation<number>({ reducer: (a, b) => a + b }),
      last: Annotation<string>,
    });
    const graph = new StateGraph(State)
      .addNode("a", () => ({}))
      .addEdge(START, "a")
      .compile();
    const schema = { type: "object", properties: { messages: { langgraph_type: "messages" }, sum: {}, last: {} } };
    expect(await introspectSchemas(graph)).toEqual({
      input_schema: schema,
      output_schema: schema,
      state_schema: schema,
      config_schema: null,
      context_schema: null,
    });
  });
});

describe("a graph's subgraphs", () => {
  it("are found by namespace, and recursively", async () => {
    expect(Object.keys(await subgraphSchemas(outer, undefined, false))).toEqual(["inner"]);
    expect(Object.keys(await subgraphSchemas(outer, undefined, true))).toEqual(["inner", "inner|leaf"]);
    expect(Object.keys(await subgraphSchemas(outer, "inner|leaf", true))).toEqual(["inner|leaf"]);
    expect(await subgraphSchemas(outer, "nowhere", true)).toEqual({});
  });

  it("have the schemas of their types where they have none at run time", async () => {
    const Deep = Annotation.Root({ deep: Annotation<string> });
    const graphWith = (name: string, node: typeof leaf | (() => object)) =>
      new StateGraph(Deep)
        .addNode(name, node as () => object)
        .addEdge(START, name)
        .compile();
    const annotated = graphWith("inner", graphWith("leaf", graphWith("end", () => ({})) as never) as never);
    const state = { type: "object", properties: { deep: { type: "string" } } };
    const found = await subgraphSchemas(annotated, undefined, true, { "inner|leaf": { state }, inner: {} });
    expect(found["inner|leaf"]?.state_schema).toEqual({ ...state, $schema: "http://json-schema.org/draft-07/schema#" });
    expect(found.inner?.state_schema).toEqual({ type: "object", properties: { deep: {} } });
  });
});

describe("a drawing", () => {
  const ids = async (xray: boolean | number) =>
    (await drawGraph(outer, xray)).nodes.map((node) => (node as { id: string }).id);

  it("has nodes and edges", async () => {
    const { nodes, edges } = await drawGraph(outer, false);
    expect(nodes).toMatchObject([
      { id: "__start__", type: "schema" },
      { id: "inner", type: "runnable" },
      { id: "tail" },
      { id: "__end__" },
    ]);
    expect(edges).toContainEqual({ source: "__start__", target: "inner", conditional: false });
    expect(edges).toContainEqual({ source: "inner", target: "tail", conditional: true });
  });

  it("shows as many levels of subgraphs as asked", async () => {
    expect(await ids(false)).toEqual(["__start__", "inner", "tail", "__end__"]);
    expect(await ids(true)).toEqual(expect.arrayContaining(["inner:leaf:deep", "inner:after"]));
    expect(await ids(1)).toContain("inner:leaf");
  });
});
