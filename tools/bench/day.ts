/**
 * One day of a project: `--rows` trace runs are sent to it, its shards grow at a quarter of its size, each shard copies its
 * runs until it has `--copies` times as many, and the day is exported to an S3 server in another process. `/ok` is called beside
 * ingest and export.
 */
import { execFileSync } from "node:child_process";
import { rmSync } from "node:fs";
import { multiply, withBenchRoutes } from "../../test/support/server.ts";
import { startBucket } from "./exports/bucket.ts";
import { call, check, timeExport } from "./exports/server.ts";
import { load, mb, ms, percentile, table } from "./figures.ts";
import { Isolate } from "./inspector.ts";
import { startPlain } from "./servers/plain.ts";
import { workerdUsage } from "./servers/processes.ts";
import type { Weir } from "./servers/server.ts";
import type { Bench } from "./bench.ts";
import { BATCH, batch, BOUNDARY } from "./traces/batch.ts";

const DAY = Date.parse("2026-11-01T00:00:00Z");
const AT_ONCE = 5;
/** About the bytes of a run in a partition. */
const RUN_BYTES = 3_700;

/** Sends runs in batches of 100, five requests at a time. Gives the seconds. */
async function send(server: Weir, rows: number): Promise<number> {
  const started = performance.now();
  let next = 0;
  const worker = async () => {
    while (next < rows) {
      const { body } = batch("bench", (next += BATCH) - BATCH, [DAY]);
      for (;;) {
        const response = await fetch(`${server.url}/runs/multipart`, {
          method: "POST",
          body,
          headers: {
            ...server.headers,
            "content-encoding": "gzip",
            "content-type": `multipart/form-data; boundary=${BOUNDARY}`,
          },
        });
        await response.arrayBuffer();
        if (response.status === 202) break;
        // As the SDKs do with a 503.
        await new Promise((resolve) => setTimeout(resolve, 1_000));
      }
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  return (performance.now() - started) / 1000;
}

/** The result of some work, and the times of calls of `/ok` during it. */
async function timeBeside<T>(server: Weir, work: Promise<T>): Promise<[T, number[]]> {
  const times: number[] = [];
  const going = { on: true };
  const result = work.finally(() => (going.on = false));
  while (going.on) {
    const at = performance.now();
    await (await fetch(`${server.url}/ok`)).arrayBuffer();
    times.push(performance.now() - at);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  return [await result, times];
}

export const bench: Bench = {
  title: "one day of a project: ingest, shards and export",
  byName: true,
  async start({ rows: sent, copies, codecs }) {
    const rows = sent * copies;
    await using bucket = await startBucket();
    const vars = { ALLOW_PRIVATE_ADDRESSES: "true", TRACE_SHARD_BYTES: String((sent * RUN_BYTES) / 4) };
    const capped = { inspected: true, v8Flags: "--max-old-space-size=48" };
    await using server = await startPlain({ config: withBenchRoutes(), vars, ...capped });
    using isolate = await Isolate.at(server);
    const before = workerdUsage(server.pid).cpu;
    const [[seconds, most], okTimes] = await timeBeside(
      server,
      isolate.watch(send(server, sent)).then(([s, m]) => [s, m] as const),
    );
    const cpu = workerdUsage(server.pid).cpu - before;
    const kib = () => Number(execFileSync("du", ["-sk", server.persistTo], { encoding: "utf8" }).split("\t")[0]);
    const columns = ["s", "rows/s", "rows per CPU second", "`/ok` p50", "p99", "heap and buffers"];
    const figures = (count: number, s: number, c: number, times: number[], both: number) => [
      count,
      s.toFixed(1),
      Math.round(count / s),
      Math.round(count / c),
      ms(percentile(times, 50)),
      ms(percentile(times, 99)),
      mb(both),
    ];
    const results: (string | number)[][] = [["ingest", ...figures(sent, seconds, cpu, okTimes, most.both)]];
    const [project] = await call<{ id: string }[]>(server, "/api/v1/sessions?name=bench");
    if (copies > 1) await multiply(server, project?.id ?? "", DAY, { times: copies });
    const destination = await call<{ id: string }>(server, "/api/v1/bulk-exports/destinations", bucket.destination);
    for (const compression of codecs) {
      const job = {
        bulk_export_destination_id: destination.id,
        session_id: project?.id,
        compression,
        start_time: new Date(DAY),
        end_time: new Date(DAY + 86_400_000),
      };
      const [[timed, memory], times] = await timeBeside(server, isolate.watch(timeExport(server, rows, job)));
      await check(bucket, timed.id, rows);
      rmSync(bucket.folder, { recursive: true });
      results.push([`export, ${compression}`, ...figures(rows, timed.seconds, timed.cpu, times, memory.both)]);
    }
    table(["", "runs", ...columns], results);
    console.log(
      `\n${Math.round((kib() * 1024) / rows)} bytes a run on disk. RSS of workerd: ${mb(workerdUsage(server.pid).rss)}. Load: ${load()}.`,
    );
  },
};
