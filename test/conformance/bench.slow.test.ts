/** The counters of the benches: what they count is known from elsewhere here. */
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { commitsBetween, readLogs } from "../../tools/bench/runs/wal.ts";
import type { Counts, Snapshot } from "../../tools/bench/workers/counting/counts.ts";
import { type CountingServer, startServer, withCounts } from "../support/server.ts";

describe("commits in write-ahead logs", () => {
  const folder = mkdtempSync(join(tmpdir(), "weir-wal-"));
  const objects = join(folder, "v3", "do", "weir-Thread");
  mkdirSync(objects, { recursive: true });
  const database = new DatabaseSync(join(objects, "0123.sqlite"));
  afterAll(() => {
    database.close();
    rmSync(folder, { recursive: true });
  });

  it("are counted for each database, also after the log has restarted", () => {
    database.exec("PRAGMA journal_mode = WAL; CREATE TABLE t (x)");
    const before = readLogs(folder);
    for (let n = 0; n < 3; n += 1) database.exec(`INSERT INTO t VALUES (${n})`);
    // One commit of many pages.
    database.exec("BEGIN; INSERT INTO t VALUES (4); INSERT INTO t VALUES (zeroblob(50000)); COMMIT");
    const between = readLogs(folder);
    expect(commitsBetween(before, between)).toMatchObject({ thread: 4, "thread alarms": 0, D1: 0 });

    database.exec("PRAGMA wal_checkpoint(RESTART); INSERT INTO t VALUES (6)");
    expect(commitsBetween(between, readLogs(folder))).toMatchObject({ thread: 1 });
  });
});

it("the benches run on the Miniflare of wrangler", () => {
  const read = createRequire(import.meta.url);
  const { dependencies } = read("wrangler/package.json") as { dependencies: Record<string, string> };
  const own = read("../../package.json") as { dependencies: Record<string, string> };
  expect(own.dependencies.miniflare).toBe(dependencies.miniflare);
});

describe("the counting Worker", () => {
  let server: CountingServer;
  beforeAll(async () => {
    server = await startServer({}, withCounts());
  });
  afterAll(() => server.stop());

  const counts = async (): Promise<Counts> =>
    (await (await fetch(`${server.url}/bench/counts`)).json<Snapshot>()).counts;
  const call = async (path: string, body?: object) => {
    const headers = { ...server.headers, "content-type": "application/json" };
    const method = body ? "POST" : "GET";
    const answer = await fetch(server.url + path, { method, headers, body: body && JSON.stringify(body) });
    expect(answer.status).toBe(200);
    return answer.json<{ thread_id: string }>();
  };

  it("counts requests, calls, rows and alarms of a run, and rows that a read takes", async () => {
    const start = await counts();
    const { thread_id } = await call("/threads", {});
    const input = { messages: [{ role: "user", content: "hello" }] };
    await call(`/threads/${thread_id}/runs/wait`, { assistant_id: "echo", input });
    const ran = await counts();
    const computeRise = (meter: keyof Counts) => (ran[meter] ?? 0) - (start[meter] ?? 0);
    expect(computeRise("requests")).toBe(2);
    for (const meter of ["calls: Thread", "rows written: Thread", "alarms set: Thread", "D1 rows written"] as const)
      expect(computeRise(meter)).toBeGreaterThan(0);
    expect(computeRise("subrequests")).toBeGreaterThanOrEqual(computeRise("calls: Thread") + 1);

    await call(`/threads/${thread_id}/history`);
    const read = await counts();
    expect(read.requests).toBe((ran.requests ?? 0) + 1);
    expect(read["rows read: Thread"]).toBeGreaterThan(ran["rows read: Thread"] ?? 0);
  });
});
