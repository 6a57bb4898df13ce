/** The benches that start servers of their own, each once with its least load, and the counts that docs/benchmarks.md has. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, afterEach, beforeEach, describe, expect, it, type MockInstance, vi } from "vitest";
import { buildPackage } from "../../scripts/build-package.ts";
import { showCounts } from "../bench/runs/counts.ts";
import { type Bench, openTarget, type Options, type Target } from "../bench/target.ts";
import { SOAK } from "../support/thorough.ts";

const ROOT = join(import.meta.dirname, "..", "..");
/** The bench fails when a run has another number of events than it must have. */
const LEAST: Options = {
  runs: 1,
  rounds: 1,
  atOnce: [1],
  graphs: ["echo", "agent"],
  rows: 1,
  copies: 1,
  idle: 1,
  codecs: ["none"],
  against: ROOT,
};
const LIMIT = 400_000;

/** The server of the benches that share one. */
let shared: Target | undefined;
afterAll(async () => shared?.stop());

let log: MockInstance<typeof console.log>;
beforeEach(() => {
  log = vi.spyOn(console, "log").mockImplementation(() => {});
  vi.spyOn(console, "error").mockImplementation(() => {});
});
afterEach(() => {
  vi.restoreAllMocks();
  vi.unstubAllEnvs();
});

/** The other server is not installed each time. */
function withoutPeer(): void {
  vi.stubEnv("npm_config_offline", "true");
  vi.stubEnv("npm_config_cache", join(ROOT, "node_modules", ".cache", "an-empty-one"));
}

/** The cells of the rows of all tables among the lines. */
const cellsOf = (lines: string[]): string[][] =>
  lines
    .filter((line) => /^\| (?!-)/.test(line))
    .map((line) =>
      line
        .split("|")
        .slice(1, -1)
        .map((cell) => cell.trim()),
    );
const printed = () => cellsOf(log.mock.calls.flat().join("\n").split("\n"));

async function start(name: string, options = LEAST): Promise<void> {
  vi.stubEnv("BENCH_LEAST", "true");
  const { bench } = (await import(`../bench/${name}.ts`)) as { bench: Bench };
  await bench.start?.(options);
  if (bench.run) await bench.run((shared ??= await openTarget(options)));
}

describe("a bench measures each of its servers", () => {
  it.each<[string, string[]]>([
    ["floor", ["Weir", "floor"]],
    ["pair", ["here", "there"]],
    ["beside", ["here", "floor", ROOT]],
  ])(
    "%s",
    async (name, servers) => {
      await start(name);
      const cells = printed();
      for (const server of servers) expect(cells.filter((row) => row.includes(server))).not.toEqual([]);
      for (const row of cells) expect(row).not.toContain("NaN");
    },
    LIMIT,
  );

  it("peer says so when the other server cannot be installed", async () => {
    withoutPeer();
    await expect(start("peer")).rejects.toThrow(/npm cannot install the JavaScript Agent Server \d/);
    expect(printed()).toEqual([]);
  });

  // CI counts a skipped test as a failure, and does not install the other server each time.
  it.each(SOAK ? ["langgraph-api"] : [])(
    "peer, %s",
    async (name) => {
      await start("peer");
      expect(printed().filter((row) => row[1]?.startsWith(name))).toHaveLength(2);
    },
    LIMIT,
  );
});

/** A row of each table, by its first cell, that only a whole measurement prints. */
it.each<[string, string[]]>([
  ["turns", ["agent, one tool call", "10"]],
  ["history", ["the newest state", "history, all"]],
  ["traces", ["one day again", '`eq(run_type, "llm")`', "`{}`"]],
  ["streams", ["a stream open on each, objects started for it", "thirty seconds after they closed"]],
  ["page", ["first composer on slow 4G, cold", "arrow keys in that trace"]],
  ["dev", ["first answer, cold", "an edit that is served: median", "processor at rest", "echo", "agent"]],
])(
  "%s measures all that it shows",
  async (name, rows) => {
    if (name === "dev") {
      await buildPackage();
      withoutPeer();
    }
    await start(name);
    const cells = printed();
    expect(cells.map(([first]) => first)).toEqual(expect.arrayContaining(rows));
    for (const row of cells) expect(row).not.toContain("NaN");
  },
  LIMIT,
);

it(
  "a run writes the rows and makes the calls that docs/benchmarks.md says",
  async () => {
    const page = cellsOf(readFileSync(join(ROOT, "docs", "benchmarks.md"), "utf8").split("\n"));
    await showCounts(["echo", "agent"]);
    const counted = printed();
    const columns = (meters: string[]) =>
      [1, 2].map((graph) => meters.map((meter) => counted.find(([name]) => name === meter)?.[graph]).join(", "));
    const said = (title: string) => page.find(([name]) => name === title)?.slice(1, 3);
    const objects = ["Thread", "ThreadIndex", "TracePartition"];
    expect(said("rows written: thread, index, partition, D1")).toEqual(
      columns([...objects.map((name) => `rows written: ${name}`), "D1 rows written"]),
    );
    expect(said("calls of the thread, index, trace partition")).toEqual(
      columns(objects.map((name) => `calls: ${name}`)),
    );
  },
  LIMIT,
);
