/** Each bench once with its least load, and the counts that docs/benchmarks.md has. */
import { AsyncLocalStorage } from "node:async_hooks";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { buildPackage } from "../../scripts/build-package.ts";
import { NAMES, type Options, readBench } from "../../tools/bench/bench.ts";
import { stopShared } from "../../tools/bench/servers/plain.ts";
import { SOAK } from "../support/thorough.ts";

const ROOT = join(import.meta.dirname, "..", "..");
const LIMIT = 400_000;
const GRAPHS = ["echo", "agent"] as const;
/** A bench fails when a run has another number of events than it must have. */
const LEAST: Options = {
  runs: 1,
  rounds: 1,
  atOnce: [1],
  graphs: [...GRAPHS],
  rows: 100,
  copies: 1,
  idle: 1,
  codecs: ["none"],
  against: ROOT,
};

/** By bench, cells of its tables that only a whole measurement prints. Those that take long begin first. */
const BENCHES: Record<string, { cells: (string | RegExp)[]; options?: Partial<Options> }> = {
  runs: {
    cells: [
      "rows written: Thread",
      "echo, 1 at a time",
      "Weir, plain",
      "Weir, wrangler dev",
      /^Weir, plain \/ Weir, w/,
    ],
  },
  cost: { cells: ["run of `echo`", "row exported", "minute connected, SSE"] },
  dev: { cells: ["first answer, cold", "an edit that is served: median", "processor at rest", "echo", "agent"] },
  page: { cells: ["first composer on slow 4G, cold", "arrow keys in that trace"] },
  // Its rows are made by the thousand.
  exports: { cells: ["none"], options: { rows: 2_000 } },
  readers: { cells: ["before the readers", "thirty seconds after they left"] },
  streams: { cells: ["a stream open on each, objects started for it", "thirty seconds after they closed"] },
  turns: { cells: ["agent, one tool call", "10"] },
  floor: { cells: ["Weir", "floor"] },
  pair: { cells: ["here", "there"] },
  beside: { cells: ["here", "floor", ROOT] },
  traces: { cells: ["one day again", '`eq(run_type, "llm")`', "`{}`"] },
  tokens: { cells: ["Weir, plain"] },
  waiting: { cells: ["here", "there"] },
  search: { cells: ["the newest 10", "count of one user's"] },
  day: { cells: ["ingest", "export, none"] },
  backfill: { cells: ["`{}`", /gt\(latency/] },
  masking: { cells: ["none", "ten"] },
  small: { cells: ["one day", "a year"] },
  storage: { cells: [/stateless runs$/, /^deleting/] },
  history: { cells: ["the newest state", "history, all"] },
  replay: { cells: [/^\d+$/] },
  protocol: { cells: [/^replay of \d+ events/, "bytes on the wire a token"] },
  fairness: { cells: ["alone", "beside its own burst"] },
  // CI does not install the JavaScript Agent Server each time.
  ...(SOAK && { peer: { cells: ["Weir, plain", /^langgraph-api \d/, "Weir, wrangler dev"] } }),
};

/** What each bench prints. */
const printed = new AsyncLocalStorage<string[]>();

beforeAll(() => {
  vi.stubEnv("BENCH_LEAST", "true");
  vi.spyOn(console, "log").mockImplementation((...words) => printed.getStore()?.push(words.join(" ")));
  vi.spyOn(console, "error").mockImplementation(() => {});
  if (!SOAK) {
    vi.stubEnv("npm_config_offline", "true");
    vi.stubEnv("npm_config_cache", join(ROOT, "node_modules", ".cache", "an-empty-one"));
  }
});
afterAll(async () => {
  vi.restoreAllMocks();
  vi.unstubAllEnvs();
  await stopShared();
});

/** The cells of the rows of all tables in a text. */
const parseCells = (text: string): string[][] =>
  text
    .split("\n")
    .filter((line) => /^\| (?!-)/.test(line))
    .map((line) =>
      line
        .split("|")
        .slice(1, -1)
        .map((cell) => cell.trim()),
    );

/** Runs a bench. Gives the cells of its tables. */
async function measure(name: string): Promise<string[][]> {
  const bench = await readBench(name);
  const lines: string[] = [];
  await printed.run(lines, () => bench.start({ ...LEAST, ...BENCHES[name]?.options }));
  return parseCells(lines.join("\n"));
}

const measured = new Map<string, string[][]>();

describe("a bench measures all that it shows", { timeout: LIMIT }, () => {
  it.concurrent.each(Object.entries(BENCHES))("%s", async (name, { cells }) => {
    if (name === "dev") await buildPackage();
    const rows = await measure(name);
    measured.set(name, rows);
    const all = rows.flat();
    const isThere = (cell: string | RegExp) =>
      all.some((one) => (cell instanceof RegExp ? cell.test(one) : cell === one));
    expect(cells.filter((cell) => !isThere(cell))).toEqual([]);
    for (const row of rows) expect(row).not.toContain("NaN");
  });

  // CI counts a skipped test as a failure.
  it.concurrent.each(SOAK ? [] : ["peer"])("%s says so when the other server cannot be installed", async (name) => {
    await expect(measure(name)).rejects.toThrow(/npm cannot install the JavaScript Agent Server \d/);
  });
});

it("names every bench", () => {
  expect(new Set([...Object.keys(BENCHES), "peer"])).toEqual(new Set(NAMES));
});

/** What one run writes and calls, by the cell of docs/benchmarks.md that has it: the meters in the order of its numbers. */
const FIGURES: Record<string, string[]> = {
  "rows written: thread, index, partition, D1": [
    "rows written: Thread",
    "rows written: ThreadIndex",
    "rows written: TracePartition",
    "D1 rows written",
  ],
  "calls of the thread, index, trace partition": ["calls: Thread", "calls: ThreadIndex", "calls: TracePartition"],
  "rows, calls of the ledger, the limiter": [
    "rows written: Ledger",
    "calls: Ledger",
    "rows written: Limiter",
    "calls: Limiter",
  ],
};

/** What a loaded machine changes; every other number is exact. */
const isRight = (meter: string, count: number, said: number): boolean => {
  // Commits that wait for the disk gather, and rows that they share are written once.
  if (meter === "rows written: Thread") return count > 0 && count <= said;
  // A run of over 100 ms is written to the index once more: in two rows and by a call. Beside other tests there is one call more.
  if (meter === "rows written: ThreadIndex") return count === said || count === said + 2;
  if (meter === "calls: ThreadIndex") return count >= said && count <= said + 2;
  return count === said;
};

it("a run writes the rows and makes the calls that docs/benchmarks.md says", () => {
  const page = parseCells(readFileSync(join(ROOT, "docs", "benchmarks.md"), "utf8"));
  const counted = new Map((measured.get("runs") ?? []).map(([name = "", ...counts]) => [name, counts.map(Number)]));
  for (const [title, meters] of Object.entries(FIGURES)) {
    const cells = page.find(([name]) => name === title)?.slice(1, 1 + GRAPHS.length) ?? [];
    for (const [column, graph] of GRAPHS.entries()) {
      const said = (cells[column] ?? "").split(", ").map(Number);
      const counts = meters.map((meter) => counted.get(meter)?.[column] ?? NaN);
      const wrong = meters.filter((meter, at) => !isRight(meter, counts[at] ?? NaN, said[at] ?? NaN));
      expect({ title, graph, said, counts, wrong }).toEqual({ title, graph, said, counts, wrong: [] });
    }
  }
});
