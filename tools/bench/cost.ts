/** What each kind of work uses of what Cloudflare bills, and what a million 10-second runs of an agent cost. */
import type { Counts, Meter } from "./workers/counting/counts.ts";
import { type Kind, KINDS, LONG, PACE, SHORT, TOKENS } from "./cost/kinds.ts";
import { CPU_MS, PRICES, STORED_GB_MONTH } from "./cost/prices.ts";
import { table } from "./figures.ts";
import { difference, waitUntilSettled, startCounting } from "./servers/counting.ts";
import { cpuByRole } from "./servers/processes.ts";
import type { Weir } from "./servers/server.ts";
import type { Bench } from "./bench.ts";

/** What one unit of a kind uses. */
interface Used {
  counts: Counts;
  /** Of workerd: Worker, objects, D1 and the counting itself, of which only the Worker's part is billed. */
  cpuMs: number;
  /** Bytes of a thread afterwards. */
  stored: number;
}

const scaleCounts = (counts: Counts, by: number): Counts =>
  Object.fromEntries((Object.keys(counts) as Meter[]).map((meter) => [meter, (counts[meter] ?? 0) * by]));

async function measureUse(server: Weir, { work, before }: Kind): Promise<Used> {
  const made = (await before?.(server)) ?? "";
  // The first of its kind makes tables, projects and indexes; the second is what the others cost.
  if (!before) await work(server, made);
  const cpu = () => cpuByRole(server.pid, server.persistTo).workerd * 1000;
  const start = { counts: await waitUntilSettled(server), cpu: cpu() };
  const { units, threads = [] } = await work(server, made);
  const cpuMs = (cpu() - start.cpu) / units;
  const counts = scaleCounts(difference(start.counts, await waitUntilSettled(server)), 1 / units);
  let stored = 0;
  for (const thread of threads) {
    const size = await fetch(`${server.url}/bench/size?thread=${server.workspaceId}:${thread}`);
    stored += (await size.json<number>()) / units;
  }
  return { counts, cpuMs, stored };
}

const figure = (value: number) =>
  value === 0 ? "0" : value >= 10 ? value.toFixed(0) : String(Number(value.toPrecision(2)));
const dollars = (counts: Counts) => PRICES.reduce((sum, { amount, million }) => sum + amount(counts) * million, 0);

/** One row a kind: amounts of each meter, and dollars for a million. */
function showKinds(all: Map<string, Used>): void {
  const [none, long] = [all.get(SHORT), all.get(LONG)];
  const counts = new Map([...all].map(([kind, { counts }]) => [kind, counts]));
  if (none && long) counts.set("token, of these", scaleCounts(difference(none.counts, long.counts), 1 / (TOKENS - 1)));
  const rows = [...counts].map(([kind, counts]) => [
    kind,
    ...PRICES.map(({ amount }) => figure(amount(counts))),
    `$${dollars(counts).toFixed(2)}`,
  ]);
  table(["one", ...PRICES.map(({ meter }) => meter), "a million cost"], rows);
}

/** One row a meter, for a million of the long runs. */
function showMillion({ counts, cpuMs, stored }: Used): void {
  const lines = PRICES.map(({ meter, page, million, amount }) => ({ meter, page, million, each: amount(counts) }));
  const priced = lines.filter(({ each }) => each > 0);
  const row = ({ meter, page, million, each }: (typeof lines)[number]) => [
    meter,
    figure(each),
    `$${million}`,
    page,
    `$${(each * million).toFixed(2)}`,
  ];
  const total = priced.reduce((sum, { each, million }) => sum + each * million, 0);
  table(
    [`a million runs of 10 s and ${TOKENS} tokens`, "a run", "a million of these", "page", "cost"],
    [...priced.map(row), ["all", "", "", "", `$${total.toFixed(2)}`]],
  );
  const seconds = (counts["active: Thread"] ?? 0) + (counts["active: TracePartition"] ?? 0);
  console.log(`\nA run kept objects active for ${seconds.toFixed(1)} s: a busy machine makes it longer.`);
  console.log(
    `Workerd took ${figure(cpuMs)} ms of processor time a run, Worker, objects, D1 and counting together. Of these the ` +
      `Worker's are billed: at most $${(cpuMs * CPU_MS).toFixed(2)} more.`,
  );
  const month = ((stored * 1e6) / 1e9) * STORED_GB_MONTH;
  console.log(
    `Their threads keep ${figure(stored)} bytes each: $${month.toFixed(2)} a month for a million, until deleted.`,
  );
}

export const bench: Bench = {
  title: "what each kind of work uses of what Cloudflare bills",
  byName: true,
  async start() {
    await using server = await startCounting(PACE);
    const all = new Map<string, Used>();
    for (const [name, kind] of Object.entries(KINDS)) all.set(name, await measureUse(server, kind));
    showKinds(all);
    console.log("");
    const long = all.get(LONG);
    if (long) showMillion(long);
  },
};
