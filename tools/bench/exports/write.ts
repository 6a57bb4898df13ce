/**
 * Writes runs to a Parquet file through the export's own writer and sink, in a process whose heap is capped:
 * `node --max-old-space-size=64 write.mjs <rows> <codec> <file>` prints one line of JSON.
 */
import { appendFileSync, readFileSync, writeFileSync } from "node:fs";
import type { Compression } from "../../../src/exports/parquet/chunk.ts";
import { DEFAULT_FIELDS } from "../../../src/exports/parquet/columns.ts";
import { LIMITS } from "../../../src/exports/limits.ts";
import { RunFile } from "../../../src/exports/parquet/parquet.ts";
import { type ObjectStore, ObjectSink } from "../../../src/exports/s3/store.ts";
import { toPage } from "../../../test/support/pages.ts";
import { makeRuns } from "../../../test/support/runs.ts";

const [rows = "200000", codec = "zstandard", file = "/dev/null"] = process.argv.slice(2);
const count = Number(rows);

/** A store that keeps nothing but the file. */
const store: ObjectStore = {
  locate: (key) => key,
  put: async (_key, bytes) => writeFileSync(file, bytes),
  remove: async () => undefined,
  createUpload: async () => {
    writeFileSync(file, "");
    return "upload";
  },
  uploadPart: async (_key, _id, number, bytes) => {
    appendFileSync(file, bytes);
    return { number, etag: "" };
  },
  completeUpload: async () => undefined,
  confirm: async () => undefined,
  openUploads: async () => [],
  abortUpload: async () => undefined,
};

let live = 0;
const look = () => {
  const { heapUsed, external } = process.memoryUsage();
  live = Math.max(live, heapUsed + external);
};
const object = { key: "file", contentType: "application/vnd.apache.parquet", partBytes: LIMITS.partBytes };
const doNothing = async () => undefined;
const sink = new ObjectSink(store, object, { uploadDue: doNothing, uploadCreated: doNothing, partUploaded: doNothing });
const target = new RunFile(sink, DEFAULT_FIELDS, codec as Compression);
/** Seconds of processor time: what others do on this machine changes it little. */
const cpu = () => {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e6;
};
let making = 0;
const start = cpu();
for (let made = 0; made < count; made += 1000) {
  const before = cpu();
  const runs = makeRuns({
    tenantId: "00000000-0000-4000-8000-000000000001",
    projectId: "00000000-0000-4000-8000-000000000002",
    from: 1_767_225_600_000_000 + made * 1000,
    spread: 1_000_000,
    count: Math.min(1000, count - made),
    seed: made,
    size: 2_100,
  });
  const page = toPage(runs);
  making += cpu() - before;
  await target.add(page);
  look();
}
await target.finish();
await sink.complete();
const seconds = cpu() - start - making;
const text = target.textBytes;
// Not resourceUsage().maxRSS: Linux lets that begin with the parent's.
const rss = Number(/VmHWM:\s+(\d+)/.exec(readFileSync("/proc/self/status", "utf8"))?.[1] ?? 0) * 1024;
console.log(JSON.stringify({ rows: count, codec, seconds, text, bytes: sink.offset, live, rss }));
