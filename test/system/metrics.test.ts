import { createExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, it } from "vitest";
import { app } from "../../src/app.ts";
import { newCaller, send } from "../support/caller.ts";

interface Metric {
  name: string;
  values: { labels?: Record<string, string>; value: number }[];
}

it("the workspace's figures, for Prometheus and as JSON", async () => {
  const caller = await newCaller();
  const { thread_id } = await (await caller.fetch("/threads", { body: {} })).json<{ thread_id: string }>();
  await caller.fetch("/store/items", { method: "PUT", body: { namespace: ["n"], key: "k", value: {} } });
  const later = { assistant_id: "echo", input: { messages: [] }, after_seconds: 3600 };
  await caller.fetch(`/threads/${thread_id}/runs`, { body: later });

  const measured = async () => (await caller.fetch("/metrics?format=json")).json<Metric[]>();
  const of = (metrics: Metric[], name: string) => metrics.find((one) => one.name === name)?.values;
  await expect.poll(async () => of(await measured(), "lg_api_num_pending_runs")).toEqual([{ value: 1 }]);
  const metrics = await measured();
  const value = (name: string) => of(metrics, name);
  expect(value("lg_api_num_running_runs")).toEqual([{ value: 0 }]);
  expect(value("weir_store_items")).toEqual([{ value: 1 }]);
  expect(value("weir_threads")).toEqual([{ labels: { status: "busy" }, value: 1 }]);

  const text = await (await caller.fetch("/metrics")).text();
  expect(text).toContain("# TYPE lg_api_num_pending_runs gauge\nlg_api_num_pending_runs 1\n");
  expect(text).toContain('weir_threads{status="busy"} 1\n');
  expect(
    text.split("\n").filter((line) => line && !/^(# (HELP|TYPE) \w+ .+|\w+(\{\w+="\w+"\})? [\d.]+)$/.test(line)),
  ).toEqual([]);

  const other = await (await newCaller()).fetch("/metrics");
  expect(await other.text()).toContain("lg_api_num_pending_runs 0\n");
  expect((await send("/metrics")).status).toBe(401);
});

it("truncate empties what is named, on one's own machine only", async () => {
  const caller = await newCaller();
  await caller.fetch("/threads", { body: {} });
  await caller.fetch("/assistants", { body: { graph_id: "echo" } });
  await caller.fetch("/store/items", { method: "PUT", body: { namespace: ["n"], key: "k", value: {} } });
  const truncate = (origin: string, vars: object, body: object) =>
    app.fetch(
      new Request(`${origin}/internal/truncate`, {
        method: "POST",
        headers: { "x-api-key": caller.key, "content-type": "application/json" },
        body: JSON.stringify(body),
      }),
      { ...env, ...vars },
      createExecutionContext(),
    );
  const counts = async () => {
    const [threads, assistants] = await Promise.all([
      caller.fetch("/threads/count", { body: {} }),
      caller.fetch("/assistants/count", { body: {} }),
    ]);
    const items = await caller.fetch("/store/items/search", { body: { namespace_prefix: [] } });
    return [await threads.json(), await assistants.json(), (await items.json<{ items: object[] }>()).items.length];
  };
  const [, all] = await counts();
  const everything = { threads: true, assistants: true, store: true };
  expect((await truncate("https://weir.test", { AUTH: "open" }, everything)).status).toBe(404);
  expect((await truncate("http://localhost", { AUTH: "" }, everything)).status).toBe(404);
  expect(await counts()).toEqual([1, all, 1]);
  expect(await (await truncate("http://localhost", { AUTH: "open" }, { store: true })).json()).toEqual({ ok: true });
  expect(await counts()).toEqual([1, all, 0]);
  await truncate("http://localhost", { AUTH: "open" }, everything);
  expect(await counts()).toEqual([0, Number(all) - 1, 0]);
});
