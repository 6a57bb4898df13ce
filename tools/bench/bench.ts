/** What a bench is, and which there are. */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import type { RoundsOptions } from "./runs/rounds.ts";

/** One file of this folder exports one of these as `bench`. */
export interface Bench {
  title: string;
  /** Measures also a server that runs already. */
  anyServer?: boolean;
  /** Runs only when it is named: it takes long, or needs options. */
  byName?: boolean;
  /** Starts the servers that it measures, and prints its tables. */
  start(options: Options): Promise<void>;
}

/** The codecs of exports. */
export const CODECS = ["none", "snappy", "gzip", "zstandard"] as const;

/** The options of the command line. */
export interface Options extends RoundsOptions {
  /** A server that runs already, its key, and the process above all others of it. */
  url?: string;
  key?: string;
  pid?: number;
  /** Another checkout to compare this one with. */
  against?: string;
  /** How many trace runs are exported, and how they are compressed. */
  rows: number;
  /** How many times the runs of `day` are there before its export. */
  copies: number;
  /** How long a server of `dev` rests before and while it is measured at rest; seconds. */
  idle: number;
  codecs: (typeof CODECS)[number][];
}

/** The files of this folder that are no benches. */
const HELPERS = new Set(["main.ts", "options.ts", "bench.ts", "figures.ts", "inspector.ts", "least.ts"]);

/** The names of all benches. */
export const NAMES = readdirSync(import.meta.dirname)
  .filter((file) => file.endsWith(".ts") && !HELPERS.has(file))
  .map((file) => file.slice(0, -3));

export async function readBench(name: string): Promise<Bench> {
  const file = join(import.meta.dirname, `${name}.ts`);
  return ((await import(/* @vite-ignore */ file)) as { bench: Bench }).bench;
}
