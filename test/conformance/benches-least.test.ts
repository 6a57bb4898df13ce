/** The benches that measure Weir alone, each once with its least load. Those that start other servers are in benches.test.ts. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, afterEach, beforeEach, expect, it, type MockInstance, vi } from "vitest";
import { HELPERS } from "../bench/helpers.ts";
import { type Bench, openTarget, type Options, type Target } from "../bench/target.ts";

const LEAST: Options = {
  runs: 1,
  rounds: 1,
  atOnce: [1],
  graphs: ["echo"],
  rows: 100,
  copies: 1,
  idle: 1,
  codecs: ["none"],
};
const LIMIT = 200_000;

/** By bench, the cells that its tables have first. Rows of `exports` are made by the thousand. */
const BENCHES: [name: string, rows: (string | RegExp)[], options?: Partial<Options>][] = [
  ["replay", [/^\d+$/]],
  ["protocol", [/^replay of \d+ events/, "bytes on the wire a token"]],
  ["fairness", ["alone", "beside its own burst"]],
  ["tokens", ["Weir, plain"]],
  ["search", ["the newest 10", "count of one user's"]],
  ["readers", ["before the readers", "thirty seconds after they left"]],
  ["storage", [/stateless runs$/, /^deleting/]],
  ["small", ["one day", "a year"]],
  ["exports", ["none"], { rows: 2_000 }],
  ["backfill", ["`{}`", /gt\(latency/]],
  ["day", ["ingest", "export, none"]],
  ["masking", ["none", "ten"]],
  ["runs", ["rows written: Thread", "echo, 1 at a time"]],
  ["cost", ["run of `echo`", "row exported", "minute connected, SSE"]],
];

let shared: Target | undefined;
afterAll(async () => shared?.stop());
let log: MockInstance<typeof console.log>;
beforeEach(() => {
  vi.stubEnv("BENCH_LEAST", "true");
  vi.stubEnv("ALONE", "true");
  log = vi.spyOn(console, "log").mockImplementation(() => {});
  vi.spyOn(console, "error").mockImplementation(() => {});
});
afterEach(() => {
  vi.restoreAllMocks();
  vi.unstubAllEnvs();
});

it.each(BENCHES)(
  "%s",
  async (name, rows, more) => {
    const options = { ...LEAST, ...more };
    const { bench } = (await import(`../bench/${name}.ts`)) as { bench: Bench };
    await bench.start?.(options);
    if (bench.run) await bench.run((shared ??= await openTarget(options)));
    const lines = log.mock.calls.flat().join("\n").split("\n");
    const cells = lines
      .filter((line) => /^\| (?!-)/.test(line))
      .map((line) => line.split("|").map((cell) => cell.trim()));
    const first = cells.map(([, cell = ""]) => cell);
    const isFirst = (row: string | RegExp) =>
      first.some((cell) => (row instanceof RegExp ? row.test(cell) : row === cell));
    expect(rows.filter((row) => !isFirst(row))).toEqual([]);
    for (const row of cells) expect(row).not.toContain("NaN");
  },
  LIMIT,
);

it("has each bench here or in benches.test.ts", () => {
  const other = readFileSync(join(import.meta.dirname, "benches.test.ts"), "utf8");
  const all = readdirSync(join(import.meta.dirname, "..", "bench"))
    .filter((file) => file.endsWith(".ts") && !HELPERS.has(file))
    .map((file) => file.slice(0, -3));
  const covered = BENCHES.map(([name]) => name);
  expect(all.filter((name) => !covered.includes(name) && !other.includes(`"${name}"`))).toEqual([]);
});
