import { beforeEach, describe, expect, it } from "vitest";
import { graphIds } from "../../../src/agents/assistants/defaults.ts";
import type { Assistant } from "../../../src/agents/assistants/store.ts";
import { type Caller, newCaller } from "../../support/caller.ts";

const graph = graphIds()[0]!;
let caller: Caller;
beforeEach(async () => {
  caller = await newCaller();
});

async function call<T = Assistant>(path: string, body?: unknown, method?: string): Promise<T> {
  const response = await caller.fetch(`/assistants${path}`, { body, method });
  expect(response.status).toBe(200);
  return response.json<T>();
}

it("a configuration may say null for what it leaves out", async () => {
  const config = { tags: null, recursion_limit: null, configurable: null };
  expect(await call("", { graph_id: graph, config, context: null })).toMatchObject({ config: {}, context: {} });
});

describe("an assistant's versions", () => {
  it("are built from the supplied configuration only", async () => {
    const made = await call("", { graph_id: graph, context: { a: 1, b: 2 }, metadata: { x: 1 }, name: "one" });
    expect(made).toMatchObject({ version: 1, context: { a: 1, b: 2 }, config: {}, description: null });
    const second = await call(`/${made.assistant_id}`, { context: { a: 3 }, metadata: { y: 2 } }, "PATCH");
    expect(second).toMatchObject({ version: 2, context: { a: 3 }, metadata: { x: 1, y: 2 }, name: "one" });
    expect(second.context).toEqual({ a: 3 });
    const third = await call(`/${made.assistant_id}`, { name: "three" }, "PATCH");
    expect(third).toMatchObject({ version: 3, context: { a: 3 }, name: "three" });

    const active = await call(`/${made.assistant_id}/latest`, { version: 1 });
    expect(active).toMatchObject({ version: 1, context: { a: 1, b: 2 }, metadata: { x: 1 }, name: "one" });
    const fourth = await call(`/${made.assistant_id}`, {}, "PATCH");
    expect(fourth).toMatchObject({ version: 4, context: { a: 1, b: 2 } });
    const versions = await call<Assistant[]>(`/${made.assistant_id}/versions`, {});
    expect(versions.map(({ version }) => version)).toEqual([4, 3, 2, 1]);
    const missing = await caller.fetch(`/assistants/${made.assistant_id}/latest`, { body: { version: 9 } });
    expect(missing.status).toBe(404);

    expect((await caller.fetch(`/assistants/${made.assistant_id}`, { method: "DELETE" })).status).toBe(204);
    expect((await caller.fetch(`/assistants/${made.assistant_id}/versions`, { body: {} })).status).toBe(404);
  });

  it("get one number each under concurrent updates", async () => {
    const made = await call("", { graph_id: graph });
    await Promise.all(Array.from({ length: 8 }, (_, n) => call(`/${made.assistant_id}`, { context: { n } }, "PATCH")));
    const versions = await call<Assistant[]>(`/${made.assistant_id}/versions`, { limit: 100 });
    expect(versions.map(({ version }) => version)).toEqual([9, 8, 7, 6, 5, 4, 3, 2, 1]);
    const active = await call(`/${made.assistant_id}`);
    expect(active).toMatchObject({ version: 9, context: versions[0]?.context });
  });

  it("lose nothing when many updates come at once", async () => {
    const { assistant_id } = await call("", { graph_id: graph });
    const updates = Array.from({ length: 40 }, (_, n) => n);
    await Promise.all(updates.map((n) => call(`/${assistant_id}`, { metadata: { [`k${n}`]: n } }, "PATCH")));
    const versions = await call<Assistant[]>(`/${assistant_id}/versions`, { limit: 100 });
    expect(versions.map(({ version }) => version)).toEqual(Array.from({ length: 41 }, (_, n) => 41 - n));
    expect(Object.keys((await call(`/${assistant_id}`)).metadata)).toHaveLength(40);
  });

  it("are gone with a deleted assistant, also those that were being made", async () => {
    const { assistant_id } = await call("", { graph_id: graph });
    const patch = { method: "PATCH", body: { context: { a: 1 } } };
    const answers = await Promise.all([
      ...Array.from({ length: 10 }, () => caller.fetch(`/assistants/${assistant_id}`, patch)),
      caller.fetch(`/assistants/${assistant_id}`, { method: "DELETE" }),
    ]);
    for (const { status } of answers) expect([200, 204, 404]).toContain(status);
    const again = await call("", { graph_id: graph, assistant_id });
    const [only, ...others] = await call<Assistant[]>(`/${assistant_id}/versions`, {});
    expect([only?.version, only?.context, others]).toEqual([1, again.context, []]);
  });

  it("also of a default assistant, which a graph id names", async () => {
    const first = await call(`/${graph}`);
    expect(first).toMatchObject({ graph_id: graph, name: graph, version: 1, metadata: { created_by: "system" } });
    const second = await call(`/${graph}`, { context: { a: 1 } }, "PATCH");
    expect(second).toMatchObject({ assistant_id: first.assistant_id, version: 2 });
    expect((await caller.fetch(`/assistants/${graph}`, { method: "DELETE" })).status).toBe(204);
    expect(await call(`/${graph}`)).toMatchObject({ assistant_id: first.assistant_id, version: 1, context: {} });
  });
});
