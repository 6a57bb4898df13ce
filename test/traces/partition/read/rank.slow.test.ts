/** Runs sorted by a figure: all pages over days, shards, projects and sealed blocks, beside a plain sort. */
import { env, runInDurableObject } from "cloudflare:test";
import { beforeAll, describe, expect, it } from "vitest";
import { rankInPartition } from "../../../../src/traces/partition/read/rank.ts";
import { tracePartition } from "../../../../src/traces/stub.ts";
import type { RankedRun, RankRequest, RunSelection } from "../../../../src/traces/rpc.ts";
import type { RunWrite } from "../../../../src/traces/types.ts";
import { toDay } from "../../../../src/traces/time.ts";
import { type Caller, newCaller } from "../../../support/caller.ts";
import { seeded } from "../../../support/random.ts";
import { fillPartition, pick } from "../../../support/random-trace-runs.ts";
import { makeProject, NOON, uuid7 } from "../../../support/traces.ts";

const DAY_MICROS = 86_400_000_000;
const FIGURES = ["latency", "total_tokens", "total_cost"] as const;
const ORDERS = ["asc", "desc"] as const;
const random = seeded("sorted runs");

interface Plain {
  id: string;
  start: number;
  name: string;
  latency: number | null;
  total_tokens: number | null;
  total_cost: number | null;
}
type Figure = (typeof FIGURES)[number];

let caller: Caller;
const projects = [crypto.randomUUID(), crypto.randomUUID()] as const;
const plain: Plain[] = [];

function makeRun(start: number): Plain {
  const maybe = (value: number) => (random.next() < 0.8 ? value : null);
  const name = pick(random, ["agent", "other"]);
  const latency = maybe(random.between(0, 6) / 2);
  // Few different figures, so that most of them are tied.
  return {
    id: uuid7(start),
    start,
    name,
    latency,
    total_tokens: maybe(random.between(0, 8)),
    total_cost: maybe(random.between(0, 5) / 3),
  };
}

const toWrite = ({ id, start, name, latency, total_tokens, total_cost }: Plain): RunWrite => ({
  kind: "post",
  id,
  trace_id: id,
  name,
  start_time: start,
  ...(latency === null ? {} : { end_time: start + latency * 1e6 }),
  // Also a run with costs and without tokens.
  ...((total_tokens ?? total_cost) === null
    ? {}
    : { usage: { total_tokens, total_cost } as unknown as NonNullable<RunWrite["usage"]> }),
});

async function store(runs: Plain[], projectId: string, shard: number): Promise<void> {
  const place = { projectId, day: toDay(runs[0]?.start ?? 0), shard };
  const identity = { workspaceId: caller.workspaceId, ...place, traceTier: "longlived" as const };
  await tracePartition(env, caller.workspaceId, place).upsert(identity, runs.map(toWrite), { shards: shard + 1 });
}

function sortPlain<T extends Plain>(runs: T[], by: Figure, order: "asc" | "desc"): T[] {
  const sign = order === "asc" ? 1 : -1;
  return runs.toSorted((a, b) => {
    const [first, second] = [a[by], b[by]];
    if (first !== second) {
      if (first === null) return 1;
      if (second === null) return -1;
      return sign * (first - second);
    }
    return a.id < b.id ? -sign : sign;
  });
}

interface Page {
  runs: { id: string }[];
  cursors: { next: string | null };
  complete?: boolean;
}

const query = async (body: object) => caller.fetch("/api/v1/runs/query", { body: { session: projects, ...body } });

async function readAll(body: object, onPage = async (_page: Page) => {}): Promise<string[]> {
  const ids: string[] = [];
  for (let cursor: string | null | undefined; cursor !== null;) {
    const page = await (await query({ ...body, cursor })).json<Page>();
    expect(page.complete).toBe(true);
    ids.push(...page.runs.map(({ id }) => id));
    await onPage(page);
    cursor = page.cursors.next;
  }
  return ids;
}

beforeAll(async () => {
  caller = await newCaller();
  for (const projectId of projects) {
    await makeProject({ workspaceId: caller.workspaceId, projectId });
    for (const day of [0, 1, 2])
      for (const shard of [0, 1]) {
        const runs = Array.from({ length: 12 }, () => makeRun(NOON + day * DAY_MICROS + random.between(0, 1_000_000)));
        await store(runs, projectId, shard);
        plain.push(...runs);
      }
  }
});

describe("a query that is sorted by a figure", () => {
  it.each(FIGURES.flatMap((by) => ORDERS.map((order) => [by, order] as const)))("by %s, %s", async (sort_by, order) => {
    for (const limit of [17, 100]) {
      const ids = await readAll({ sort_by, order, limit });
      expect(ids).toEqual(sortPlain(plain, sort_by, order).map(({ id }) => id));
    }
    const named = { filter: 'eq(name, "agent")', start_time: new Date(NOON / 1000 + 1).toISOString() };
    const passing = plain.filter(({ name, start }) => name === "agent" && start >= NOON + 1_000);
    expect(await readAll({ sort_by, order, limit: 20, ...named })).toEqual(
      sortPlain(passing, sort_by, order).map(({ id }) => id),
    );
  });

  it("gives each run once while others arrive", async () => {
    const late: Plain[] = [];
    const known = sortPlain(plain, "latency", "desc").map(({ id }) => id);
    const ids = await readAll({ sort_by: "latency", order: "desc", limit: 10 }, async () => {
      const run = { ...makeRun(NOON + late.length), latency: late.length % 2 === 0 ? 9 : 0 };
      late.push(run);
      await store([run], projects[0], 0);
    });
    plain.push(...late);
    expect(ids.filter((id) => known.includes(id))).toEqual(known);
    expect(new Set(ids).size).toBe(ids.length);
  });

  it("takes no cursor of another order, and no figure that it does not know", async () => {
    const { cursors } = await (await query({ sort_by: "latency", limit: 5 })).json<Page>();
    for (const other of [{ sort_by: "total_cost" }, { sort_by: "latency", order: "asc" }, {}])
      expect((await query({ ...other, cursor: cursors.next })).status).toBe(422);
    expect((await query({ sort_by: "name" })).status).toBe(422);
    expect((await query({ sort_by: "start_time", limit: 1 })).status).toBe(200);
  });
});

describe("sealed blocks", () => {
  const COUNT = 8_000;
  const read = (day: { identity: { workspaceId: string; projectId: string; day: string } }) => {
    const { workspaceId, projectId, day: date } = day.identity;
    return env.TRACE_PARTITION.getByName(`${workspaceId}/${projectId}/${date}`);
  };

  it("give the first runs of each order, and those behind a run", async () => {
    const day = await fillPartition(1_100);
    await runInDurableObject(read(day), async (instance, { storage }) => {
      await (instance as unknown as { alarm(): Promise<void> }).alarm();
      expect(storage.sql.exec("SELECT block FROM blocks").toArray()).toHaveLength(2);
      const runs = day.runs.map((run) => ({
        ...run,
        start: run.start_time,
        latency: run.end_time === null ? null : (run.end_time - run.start_time) / 1e6,
      }));
      const noon = day.runs[0]!.start_time;
      for (const by of FIGURES)
        for (const order of ORDERS)
          for (const more of [{}, { isRoot: true }, { startTime: noon }, { endTime: noon }, { hasError: true }]) {
            const selected = runs.filter(
              (run) =>
                (!("isRoot" in more) || run.is_root) &&
                (!("hasError" in more) || run.error !== null) &&
                (!("startTime" in more) || run.start >= noon) &&
                (!("endTime" in more) || run.start < noon),
            );
            const expected = sortPlain(selected, by, order).map(({ id }) => id);
            const found: RankedRun[] = [];
            for (let page: RankedRun[] = []; found.length === 0 || page.length === 90;) {
              const after = found.at(-1) ?? null;
              page = rankInPartition(storage.sql, day.identity, { ...more, by, order, after, limit: 90 });
              found.push(...page);
            }
            expect({ by, order, more, ids: found.map(({ id }) => id) }).toEqual({ by, order, more, ids: expected });
          }
    });
  });

  it("are read as far as the first runs are in them", async () => {
    const identity = {
      workspaceId: crypto.randomUUID(),
      projectId: crypto.randomUUID(),
      day: "2026-11-20",
      shard: 0,
      traceTier: "longlived" as const,
    };
    await makeProject(identity);
    const runs = Array.from({ length: COUNT }, (_, n) => ({ ...makeRun(NOON + n * 1_000), latency: n }));
    await tracePartition(env, identity.workspaceId, identity).upsert(identity, runs.map(toWrite));
    await runInDurableObject(read({ identity }), async (instance, { storage }) => {
      await (instance as unknown as { alarm(): Promise<void> }).alarm();
      const count = (request: Partial<RunSelection & RankRequest>) => {
        let rows = 0;
        const counting = {
          exec: (text: string, ...values: unknown[]) => {
            const cursor = storage.sql.exec(text, ...values);
            const all = cursor.toArray();
            rows += cursor.rowsRead;
            return { toArray: () => all, one: () => all[0], raw: () => all.map((row) => Object.values(row)) };
          },
        } as unknown as SqlStorage;
        const found = rankInPartition(counting, identity, {
          by: "latency",
          order: "desc",
          after: null,
          limit: 51,
          ...request,
        });
        return { found, rows };
      };
      const first = count({});
      expect(first.found.map(({ figure }) => figure)).toEqual(Array.from({ length: 51 }, (_, n) => COUNT - 1 - n));
      expect(first.rows).toBeLessThan(COUNT / 2);
      // The least cost is that of runs in every block.
      const tied = count({ by: "total_cost", order: "asc" }).found.map(({ id }) => id);
      expect(tied).toEqual(
        sortPlain(runs, "total_cost", "asc")
          .slice(0, 51)
          .map(({ id }) => id),
      );
      const last = count({ startTime: NOON + (COUNT - 500) * 1_000, order: "asc" });
      expect(last.found[0]?.figure).toBe(COUNT - 500);
      expect(last.rows).toBeLessThan(COUNT / 4);
    });
  });
});
