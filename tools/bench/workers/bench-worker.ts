/**
 * The Worker with three more routes, for benches that need more data than they have time to send.
 * `POST /bench/multiply?workspace=…&project=…&day=…&rows=…` copies the runs of a partition, inside it, until it has `rows`, or
 * with `times` instead that many times what it has; without both it seals some of its blocks, and says whether there are more.
 * `shard` names another shard than 0. A shard without runs answers "none".
 * `POST /bench/threads` lists threads in the index of a workspace (bench-index.ts), `GET /bench/rows?thread=…` gives the rows that
 * the object of a thread has written since it started.
 */
import weir from "../../../examples/demo/worker.ts";
import { ObjectTables } from "../../../src/lib/object-tables.ts";
import { addToCounts, readMeta } from "../../../src/traces/partition/store/meta.ts";
import { SLOTS, slotColumn } from "../../../src/traces/partition/store/payloads.ts";
import {
  PACKED_COLUMNS,
  PARTITION_SCHEMA,
  PAYLOAD_COLUMNS,
  RUN_COLUMNS,
} from "../../../src/traces/partition/store/tables.ts";
import { TracePartition as Product } from "../../../src/traces/partition/object.ts";
import { fillIndex, type Filling } from "./bench-index.ts";

export * from "../../../examples/demo/worker.ts";

/** Copies of one transaction: what it keeps in memory stays small. */
const AT_ONCE = 10_000;
/** The group of each UUID by which copies differ; the originals have -8000- there. */
const ORIGINAL = "-8000-";
const TIMES = new Set(["start_time", "end_time"]);
const REPLACED = new Set(["id", "trace_id", "parent_run_id", "parent_run_ids", "dotted_order"]);
const SLOT_COLUMNS = SLOTS.flatMap((slot) => PACKED_COLUMNS.map((column) => slotColumn(column, slot)));

export class TracePartition extends Product {
  /** Copy k starts k times the originals' span later, so that equal texts are far from each other. False without runs. */
  async multiply(wantedRows: number, times: number): Promise<boolean> {
    const { sql } = this.ctx.storage;
    if (!new ObjectTables(this.ctx.storage, PARTITION_SCHEMA).made) return false;
    const { count, span, last } = sql
      .exec<{ count: number; span: number; last: number }>(
        "SELECT count(*) AS count, max(start_time) - min(start_time) + 1 AS span, max(n) AS last FROM runs",
      )
      .one();
    // The numbers of a copy begin with a pack.
    const numbers = Math.ceil((last + 1) / SLOTS.length) * SLOTS.length;
    const rows = wantedRows || times * count;
    const copies = Math.ceil(rows / count);
    if (copies > 4095) throw new Error(`${count} runs are too few to make ${rows} of.`);
    for (let copy = 1; copy < copies; copy++) {
      const group = `-8${copy.toString(16).padStart(3, "0")}-`;
      const shift = (name: string): (string | number)[] => {
        if (name === "n") return [copy * numbers];
        if (TIMES.has(name)) return [copy * span];
        return REPLACED.has(name) ? [ORIGINAL, group] : [];
      };
      const left = rows - copy * count;
      // Numbers begin with 1.
      const wanted = left < count ? left + 1 : numbers;
      for (let from = 0; from < wanted; from += AT_ONCE) {
        const size = Math.min(AT_ONCE, wanted - from);
        const bindColumns = (columns: readonly string[]) => [...columns.flatMap(shift), from, from + size];
        this.ctx.storage.transactionSync(() => {
          sql.exec(
            `INSERT INTO runs (${RUN_COLUMNS.join()}) ${copyRows(RUN_COLUMNS, "runs")}`,
            ...bindColumns(RUN_COLUMNS),
          );
          const { made } = sql.exec<{ made: number }>("SELECT changes() AS made").one();
          const columns = ["n", ...PAYLOAD_COLUMNS];
          sql.exec(
            `INSERT INTO payloads (${columns.join()}) ${copyRows(columns, "payloads")}`,
            ...bindColumns(columns),
          );
          const packed = ["n", ...SLOT_COLUMNS];
          const packs = [copy * numbers, from, from + size].map((number) => Math.ceil(number / SLOTS.length));
          sql.exec(`INSERT INTO packs (${packed.join()}) ${copyRows(packed, "packs")}`, ...packs);
          const { bytes } = readMeta(sql, "counts") ?? { bytes: 0 };
          addToCounts(sql, { rows: made, bytes: Math.round((bytes / (copy * count)) * made), lastStart: 0 });
        });
        // What a transaction wrote must have left before the next one, or memory fills with it.
        await this.ctx.storage.sync();
      }
    }
    await this.alarm();
    return true;
  }

  /** Seals some blocks; true when none is left. */
  async seal(): Promise<boolean> {
    return this.closeBlocks(true);
  }
}

function copyRows(columns: readonly string[], table: string): string {
  const expressions = columns.map((name) => {
    if (name === "n" || TIMES.has(name)) return `${name} + ?`;
    // The ids of copies do not have the time of their starts.
    if (name === "timed") return "0";
    return REPLACED.has(name) ? `replace(${name}, ?, ?)` : name;
  });
  return `SELECT ${expressions.join()} FROM ${table} WHERE n >= ? AND n < ?`;
}

interface Multiplying {
  multiply(rows: number, times: number): Promise<boolean>;
  seal(): Promise<boolean>;
}

export default {
  ...weir,
  async fetch(request, env, ctx): Promise<Response> {
    const { pathname, searchParams } = new URL(request.url);
    if (pathname === "/bench/threads") {
      await fillIndex(env, await request.json<Filling>());
      return new Response("done\n");
    }
    const thread = searchParams.get("thread");
    if (pathname === "/bench/rows" && thread)
      return Response.json((await env.THREAD.getByName(thread).figures()).rowsWritten);
    if (pathname !== "/bench/multiply") return weir.fetch(request, env, ctx);
    const shard = Number(searchParams.get("shard"));
    const name = ["workspace", "project", "day"].map((part) => searchParams.get(part)).join("/");
    const partition = env.TRACE_PARTITION.getByName(shard > 0 ? `${name}#${shard}` : name) as unknown as Multiplying;
    const [rows, times] = [Number(searchParams.get("rows")), Number(searchParams.get("times"))];
    if (!rows && !times) return new Response((await partition.seal()) ? "done" : "more");
    return new Response((await partition.multiply(rows, times)) ? "done" : "none");
  },
} satisfies ExportedHandler<Env>;
