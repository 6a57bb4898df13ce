import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { TestServer } from "../support/server.ts";
import { sharedServer } from "../support/shared-server.ts";
import { type Client, createClient, VERSIONS } from "./clients.ts";

let server: TestServer;
beforeAll(async () => {
  server = await sharedServer();
});
afterAll(() => server.stop());

describe.each(VERSIONS)("assistants of client %s", (version) => {
  let assistants: Client["assistants"];
  beforeAll(async () => {
    assistants = createClient(version, await server.startAnother()).assistants;
  });

  it("create", async () => {
    const assistantId = crypto.randomUUID();
    const given = { graphId: "agent", assistantId, context: { temperature: 0 }, metadata: { team: "a" }, name: "One" };
    const made = await assistants.create({ ...given, description: "First" });
    expect(made).toMatchObject({
      assistant_id: assistantId,
      graph_id: "agent",
      name: "One",
      description: "First",
      version: 1,
      config: {},
      context: { temperature: 0 },
      metadata: { team: "a" },
      created_at: expect.stringMatching(/^\d{4}-.*(Z|\+00:00)$/),
    });
    await expect(assistants.create(given)).rejects.toThrow("HTTP 409");
    expect(await assistants.create({ ...given, ifExists: "do_nothing" })).toEqual(made);
    await expect(assistants.create({ graphId: "nowhere" })).rejects.toThrow("HTTP 404");
    expect(await assistants.create({ graphId: "echo" })).toMatchObject({ name: "Untitled" });
  });

  it("get", async () => {
    const byGraph = await assistants.get("echo");
    expect(byGraph).toMatchObject({
      assistant_id: "046b5dc7-2108-582c-9c6c-31d556d138f0",
      metadata: { created_by: "system" },
    });
    expect(await assistants.get(byGraph.assistant_id)).toEqual(byGraph);
    await expect(assistants.get(crypto.randomUUID())).rejects.toThrow("HTTP 404");
  });

  it("update, getVersions, setLatest", async () => {
    const { assistant_id } = await assistants.create({ graphId: "agent", context: { a: 1, b: 2 }, metadata: { x: 1 } });
    const second = await assistants.update(assistant_id, { context: { a: 3 }, metadata: { y: 2 }, name: "Two" });
    expect(second).toMatchObject({ version: 2, name: "Two", metadata: { x: 1, y: 2 } });
    expect(second.context).toEqual({ a: 3 });
    expect((await assistants.getVersions(assistant_id)).map((one) => one.version)).toEqual([2, 1]);
    expect(await assistants.getVersions(assistant_id, { limit: 1, offset: 1 })).toMatchObject([{ version: 1 }]);
    expect(await assistants.getVersions(assistant_id, { metadata: { y: 2 } })).toMatchObject([{ version: 2 }]);
    expect(await assistants.setLatest(assistant_id, 1)).toMatchObject({ version: 1, context: { a: 1, b: 2 } });
    expect(await assistants.get(assistant_id)).toMatchObject({ version: 1 });
    await expect(assistants.setLatest(assistant_id, 7)).rejects.toThrow("HTTP 404");
  });

  it("search, count", async () => {
    for (const name of ["Red kite", "red fox", "Blue jay"]) {
      await assistants.create({ graphId: "echo", name, metadata: { kind: { wild: true }, tags: [name] } });
    }
    const found = await assistants.search({ metadata: { kind: { wild: true } }, sortBy: "name", sortOrder: "asc" });
    expect(found.map(({ name }) => name)).toEqual(["Blue jay", "Red kite", "red fox"]);
    expect(await assistants.search({ name: "RED", graphId: "echo" })).toHaveLength(2);
    const page = await assistants.search({ name: "red", limit: 1, includePagination: true });
    expect(page).toMatchObject({ next: "1", assistants: [{ name: "red fox" }] });
    expect(await assistants.search({ name: "kite", select: ["name"] })).toEqual([{ name: "Red kite" }]);
    expect(await assistants.count({ metadata: { tags: ["red fox"] } })).toBe(1);
    expect(await assistants.count({ name: "red" })).toBe(2);
  });

  it("delete", async () => {
    const { assistant_id } = await assistants.create({ graphId: "echo" });
    await assistants.update(assistant_id, {});
    await assistants.delete(assistant_id);
    await expect(assistants.get(assistant_id)).rejects.toThrow("HTTP 404");
    await expect(assistants.getVersions(assistant_id)).rejects.toThrow("HTTP 404");
    await expect(assistants.delete(assistant_id)).rejects.toThrow("HTTP 404");
  });

  it("getGraph", async () => {
    for (const xray of [undefined, true, false, 2]) {
      const graph = await assistants.getGraph("echo", { xray });
      expect(graph.nodes.map(({ id }) => id)).toEqual(["__start__", "echo", "__end__"]);
    }
  });

  it("getSchemas", async () => {
    const schemas = await assistants.getSchemas("agent");
    expect(schemas).toMatchObject({
      graph_id: "agent",
      input_schema: { type: "object" },
      context_schema: { type: "object" },
    });
  });

  it("getSubgraphs", async () => {
    expect(await assistants.getSubgraphs("echo", { recurse: true })).toEqual({});
    expect(await assistants.getSubgraphs("echo", { namespace: "none" })).toEqual({});
  });
});

describe("assistants and runs", () => {
  it("a run takes the active version's context; deleting takes threads along when asked", async () => {
    const client = createClient("1.15.0", server);
    const { assistant_id } = await client.assistants.create({ graphId: "agent", metadata: { tier: "one" } });
    await client.assistants.update(assistant_id, { metadata: { tier: "two" } });
    const runs = async () => {
      const { thread_id } = await client.threads.create();
      await client.runs.wait(thread_id, assistant_id, { input: { messages: [{ role: "user", content: "hi" }] } });
      const [run] = await client.runs.list(thread_id);
      return { thread_id, run };
    };
    const second = await runs();
    expect(second.run).toMatchObject({ assistant_id, status: "success", metadata: { tier: "two" } });
    await client.assistants.setLatest(assistant_id, 1);
    const first = await runs();
    expect(first.run).toMatchObject({ metadata: { tier: "one" } });
    await client.assistants.delete(assistant_id, { deleteThreads: true });
    await expect(client.threads.get(first.thread_id)).rejects.toThrow("HTTP 404");
    await expect(client.threads.get(second.thread_id)).rejects.toThrow("HTTP 404");
  });
});
