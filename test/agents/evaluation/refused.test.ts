/** An experiment of which the server refuses runs. */
import { expect, test } from "vitest";
import { runExperiment } from "../../../src/agents/evaluation/experiment.ts";
import type { SendRequest } from "../../../src/agents/evaluation/evaluators.ts";

/** A server with `count` examples. It refuses the runs of those for which `refuses` is true. */
function serverWith(count: number, refuses: (example: number) => boolean) {
  const sent: string[] = [];
  let started = 0;
  const send: SendRequest = async (method, path, body) => {
    const route = `${method} ${path.split("?")[0]}`;
    sent.push(route);
    if (route === "GET /api/v1/datasets/d/versions") return Response.json([{ as_of: "2026-01-01T00:00:00Z" }]);
    if (route === "GET /api/v1/examples")
      return Response.json(Array.from({ length: count }, (_, i) => ({ id: `e${i}`, inputs: { i }, outputs: null })));
    if (route === "POST /runs/wait") {
      if (refuses((body as { input: { i: number } }).input.i))
        return Response.json({ detail: "The budget is spent." }, { status: 429 });
      started++;
      const headers = { "content-location": `/threads/x/runs/${crypto.randomUUID()}` };
      return Response.json({ answer: "yes" }, { headers });
    }
    return Response.json({ id: "x", name: "x", run_count: started });
  };
  const run = async () =>
    runExperiment(send, {
      dataset: "d",
      assistant: "a",
      prefix: "x",
      evaluators: [],
      concurrency: 2,
    });
  return { run, count: (route: string) => sent.filter((one) => one === route).length };
}

test("a refused run is counted, and the others continue", async () => {
  const server = serverWith(12, (i) => i % 3 === 0);
  const progress = await server.run();
  expect(progress).toMatchObject({ of: 12, done: 12, failed: 0, refused: 4 });
  expect(progress.trouble).toBe("POST /runs/wait: The budget is spent.");
});

test("refusals in a row end the experiment, which gets its end", async () => {
  const server = serverWith(50, (i) => i >= 10);
  await expect(server.run()).rejects.toThrow("The budget is spent.");
  expect(server.count("POST /runs/wait")).toBeLessThan(20);
  expect(server.count("PATCH /api/v1/sessions/x")).toBe(1);
});

test("an experiment of which all runs are refused is refused", async () => {
  const server = serverWith(2, () => true);
  await expect(server.run()).rejects.toThrow("The budget is spent.");
  expect(server.count("PATCH /api/v1/sessions/x")).toBe(1);
});

test("all pages of examples are of one version, so that changes meanwhile do not move them", async () => {
  const pages: URLSearchParams[] = [];
  const send: SendRequest = async (method, path, body) => {
    const [route, query] = path.split("?");
    if (route === "/api/v1/datasets/d/versions") return Response.json([{ as_of: "2026-01-01T00:00:00Z" }]);
    if (route === "/api/v1/examples") {
      pages.push(new URLSearchParams(query));
      const count = pages.length === 1 ? 100 : 20;
      return Response.json(
        Array.from({ length: count }, (_, i) => ({ id: `${pages.length}.${i}`, inputs: {}, outputs: null })),
      );
    }
    if (method === "POST" && path === "/runs/wait")
      return Response.json({ body }, { headers: { "content-location": `/threads/x/runs/${crypto.randomUUID()}` } });
    return Response.json({ id: "x", name: "x", run_count: 120 });
  };
  const wanted = { dataset: "d", assistant: "a", prefix: "x", evaluators: [], concurrency: 20 };
  expect(await runExperiment(send, wanted)).toMatchObject({ done: 120 });
  expect(pages.map((page) => [page.get("as_of"), page.get("offset")])).toEqual([
    ["2026-01-01T00:00:00Z", "0"],
    ["2026-01-01T00:00:00Z", "100"],
  ]);
});
