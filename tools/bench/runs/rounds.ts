/** Measures servers side by side: the same loads on each in turn, in several rounds. */
import { load, ms, percentile, table } from "../figures.ts";
import type { Server } from "../servers/server.ts";
import { type Driven, drive, type Graph, type Load, timeRun, type Times, WORK } from "./drive.ts";

export interface RoundsOptions {
  rounds: number;
  /** Runs of one load in one round; at least two for each that is under way at the same time. */
  runs: number;
  atOnce: number[];
  graphs: Graph[];
}

interface Measured {
  load: Load;
  server: Server;
  /** One of each round. */
  rounds: Driven[];
}

const WARM_UP = 20;

/** The servers take turns, and begin in turn, so that other load of this machine affects all equally. */
export async function measureRounds(servers: Server[], options: RoundsOptions): Promise<Measured[]> {
  const measured = options.graphs.flatMap((graph) =>
    options.atOnce.flatMap((atOnce) => {
      const load = { graph, atOnce, runs: Math.max(options.runs, 2 * atOnce) };
      return servers.map((server): Measured => ({ load, server, rounds: [] }));
    }),
  );
  for (const { client } of servers)
    for (const graph of options.graphs)
      for (let i = 0; i < Math.min(WARM_UP, options.runs); i += 1) await timeRun(client, graph);
  for (let round = 0; round < options.rounds; round += 1) {
    console.error(`round ${round + 1} of ${options.rounds}`);
    for (let first = 0; first < measured.length; first += servers.length) {
      const group = measured.slice(first, first + servers.length);
      const turn = round % 2 === 0 ? group : group.toReversed();
      for (const { server, load, rounds } of turn) rounds.push(await drive(server, load));
    }
  }
  return measured;
}

type Figure = (driven: Driven) => number;

const pickPercentile =
  (pick: (times: Times) => number, p: number): Figure =>
  ({ times }) =>
    percentile(times.map(pick), p);
const FIGURES: Record<string, Figure> = {
  "runs/s": ({ perSecond }) => perSecond,
  "server CPU": ({ cpu: { workerd, proxy, node } }) => workerd + proxy + node,
  workerd: ({ cpu }) => cpu.workerd,
  proxy: ({ cpu }) => cpu.proxy,
  node: ({ cpu }) => cpu.node,
  client: ({ cpu }) => cpu.client,
};
const TIMES: Record<string, (times: Times) => number> = {
  "first event": ({ first }) => first,
  "first token": ({ token }) => token,
  "last event": ({ last }) => last,
  "stream closed": ({ close }) => close,
};

const median = (rounds: Driven[], figure: Figure) => percentile(rounds.map(figure), 50);

/** The median of the rounds for each load and server. */
export function showFigures(measured: Measured[]): void {
  const heads = [
    "load",
    "server",
    "runs",
    ...Object.keys(FIGURES),
    ...Object.keys(TIMES).map((name) => `${name} p50 (p95)`),
  ];
  const number = (value: number) => (Number.isNaN(value) ? "-" : value.toFixed(1));
  const rows = measured.map(({ load, server, rounds }) => [
    `${load.graph}, ${load.atOnce} at a time`,
    server.name,
    load.runs * rounds.length,
    ...Object.values(FIGURES).map((figure) => number(median(rounds, figure))),
    ...Object.values(TIMES).map(
      (pick) => `${ms(median(rounds, pickPercentile(pick, 50)))} (${ms(median(rounds, pickPercentile(pick, 95)))})`,
    ),
  ]);
  console.log(`Processor time in ms a run. A thread is made for each run, inside the clock. Load: ${load()}.\n`);
  table(heads, rows);
}

const COMPARED: Record<string, Figure> = {
  "server CPU": ({ cpu: { workerd, proxy, node } }) => workerd + proxy + node,
  "runs/s": ({ perSecond }) => perSecond,
  "first event p50": pickPercentile(({ first }) => first, 50),
  "first token p50": pickPercentile(({ token }) => token, 50),
  "last event p50": pickPercentile(({ last }) => last, 50),
  "stream closed p50": pickPercentile(({ close }) => close, 50),
  "stream closed p95": pickPercentile(({ close }) => close, 95),
};

/** The first server's figures divided by each other's, round by round: median, and least to most. */
export function showRatios(measured: Measured[]): void {
  const rows = measured.flatMap((other) => {
    const first = measured.find(({ load }) => load === other.load);
    if (!first || first === other) return [];
    const ratios = Object.values(COMPARED).map((figure) => {
      const each = other.rounds.flatMap((round, index) => {
        const ours = first.rounds[index];
        return ours ? [figure(ours) / figure(round)] : [];
      });
      if (each.some(Number.isNaN)) return "-";
      const at = (p: number) => percentile(each, p).toFixed(2);
      return `${at(50)} (${at(0)} to ${at(100)})`;
    });
    return [
      [`${other.load.graph}, ${other.load.atOnce} at a time`, `${first.server.name} / ${other.server.name}`, ...ratios],
    ];
  });
  if (rows.length === 0) return;
  console.log(
    `\nRatios, each within one round: median (least to most) of ${measured[0]?.rounds.length ?? 0} rounds.\n`,
  );
  table(["load", "ratio", ...Object.keys(COMPARED)], rows);
}

/** Both tables. */
export async function compare(servers: Server[], options: RoundsOptions): Promise<void> {
  const measured = await measureRounds(servers, options);
  showFigures(measured);
  showRatios(measured);
}

export const GRAPHS = Object.keys(WORK) as Graph[];
