import { createExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, it } from "vitest";
import { app } from "../support/app.ts";
import { newCaller, send } from "../support/caller.ts";
import { sentRun } from "../support/traces.ts";

interface Metric {
  name: string;
  type: string;
  values: { part?: string; labels?: Record<string, string>; value: number }[];
}

it("the workspace's figures, for Prometheus and as JSON", async () => {
  const caller = await newCaller();
  const { thread_id } = await (await caller.fetch("/threads", { body: {} })).json<{ thread_id: string }>();
  await caller.fetch("/store/items", { method: "PUT", body: { namespace: ["n"], key: "k", value: {} } });
  const later = { assistant_id: "echo", input: { messages: [] }, after_seconds: 3600 };
  await caller.fetch(`/threads/${thread_id}/runs`, { body: later });

  const readMetrics = async () => (await caller.fetch("/metrics?format=json")).json<Metric[]>();
  const findValues = (metrics: Metric[], name: string) => metrics.find((one) => one.name === name)?.values;
  await expect.poll(async () => findValues(await readMetrics(), "lg_api_num_pending_runs")).toEqual([{ value: 1 }]);
  const metrics = await readMetrics();
  const value = (name: string) => findValues(metrics, name);
  expect(value("lg_api_num_running_runs")).toEqual([{ value: 0 }]);
  expect(value("weir_store_items")).toEqual([{ value: 1 }]);
  expect(value("weir_threads")).toEqual([{ labels: { status: "idle" }, value: 1 }]);

  const text = await (await caller.fetch("/metrics")).text();
  expect(text).toContain("# TYPE lg_api_num_pending_runs gauge\nlg_api_num_pending_runs 1\n");
  expect(text).toContain('weir_threads{status="idle"} 1\n');
  expect(
    text.split("\n").filter((line) => line && !/^(# (HELP|TYPE) \w+ .+|\w+(\{\w+="\w+"\})? [\d.]+)$/.test(line)),
  ).toEqual([]);

  const other = await (await newCaller()).fetch("/metrics");
  expect(await other.text()).toContain("lg_api_num_pending_runs 0\n");
  expect((await send("/metrics")).status).toBe(401);
});

it("how the workspace's runs went today: by status, how long they took and waited", async () => {
  const caller = await newCaller();
  const run = async (body: object) => (await caller.fetch("/runs/wait", { body })).text();
  const input = { messages: [{ role: "user", content: "What is 17 * 23?" }] };
  await run({ assistant_id: "agent", input });
  await run({ assistant_id: "echo", input });
  await run({ assistant_id: "agent", input, config: { recursion_limit: 1 } });
  const mail = { messages: [{ role: "user", content: "Write to ada@example.com: hi" }] };
  await run({ assistant_id: "approval", input: mail });

  const readMetrics = async (by = caller) => (await by.fetch("/metrics?format=json")).json<Metric[]>();
  const statuses = async () => {
    const values = (await readMetrics()).find(({ name }) => name === "weir_runs_total")?.values ?? [];
    return Object.fromEntries(values.map(({ labels, value }) => [labels?.status, value]));
  };
  // Asked again and again, a run counts once.
  await expect.poll(statuses).toEqual({ success: 2, error: 1, interrupted: 1 });
  expect(await statuses()).toEqual({ success: 2, error: 1, interrupted: 1 });
  await run({ assistant_id: "echo", input });
  await expect.poll(statuses).toEqual({ success: 3, error: 1, interrupted: 1 });

  const metrics = await readMetrics();
  for (const name of ["weir_run_duration_seconds", "weir_run_first_event_seconds", "weir_run_queue_seconds"]) {
    const { type, values = [] } = metrics.find((one) => one.name === name) ?? {};
    expect(type).toBe("histogram");
    const counts = values.filter(({ part }) => part === "bucket").map(({ value }) => value);
    expect(counts).toEqual(counts.toSorted((a, b) => a - b));
    expect(values.find(({ labels }) => labels?.le === "+Inf")?.value).toBe(5);
    expect(values.find(({ labels }) => labels?.le === "3600")?.value).toBe(5);
    expect(values.slice(-2)).toEqual([
      { part: "sum", value: expect.any(Number) },
      { part: "count", value: 5 },
    ]);
  }
  const text = await (await caller.fetch("/metrics")).text();
  expect(text).toContain("# TYPE weir_runs_total counter\n");
  expect(text).toMatch(
    /# TYPE weir_run_duration_seconds histogram\nweir_run_duration_seconds_bucket\{le="0\.05"\} \d\n[\s\S]*_bucket\{le="\+Inf"\} 5\nweir_run_duration_seconds_sum [\d.]+\nweir_run_duration_seconds_count 5\n/,
  );
  expect((await readMetrics(await newCaller())).some(({ name }) => name.startsWith("weir_run"))).toBe(false);
});

it("traces that clients send cannot change the figures", async () => {
  const caller = await newCaller();
  await (await caller.fetch("/runs/wait", { body: { assistant_id: "echo", input: { messages: [] } } })).text();
  const claims = [
    { library: "langsmith", run: { status: "success", took_ms: 1 } },
    { library: "weir", run: "success" },
    { library: "weir", run: { status: 'x"} 1\n', took_ms: 1 } },
    { library: "weir", run: { status: "success", took_ms: "1", queued_ms: -1 } },
    { library: "weir" },
  ];
  const post = claims.map((runtime) => ({
    ...sentRun(Date.now() * 1000),
    session_name: "default",
    extra: { runtime },
  }));
  expect((await caller.fetch("/runs/batch", { body: { post, patch: [] } })).status).toBe(202);
  const lines = async () =>
    (await (await caller.fetch("/metrics")).text()).split("\n").filter((line) => /^weir_run.*(total|count)/.test(line));
  await expect
    .poll(lines)
    .toEqual([
      'weir_runs_total{status="success"} 2',
      "weir_run_duration_seconds_count 1",
      "weir_run_first_event_seconds_count 1",
      "weir_run_queue_seconds_count 1",
    ]);
});

it("truncate empties what is named, on localhost only", async () => {
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
