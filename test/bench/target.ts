/** What is measured: an address that the stock client talks to, and for a Weir started here what it counts itself. */
import { Client } from "langgraph-sdk-1-15";
import { asDeployed, type CountingServer, startServer } from "../support/server.ts";
import type { RoundsOptions } from "./runs/rounds.ts";

export interface Target {
  name: string;
  client: Client;
  weir?: CountingServer;
  stop(): Promise<void>;
}

/** One file of this folder exports one of these as `bench`. It has `run` or `start`. */
export interface Bench {
  title: string;
  /** Needs a Weir started here. */
  weirOnly?: boolean;
  /** Runs only when it is named: it takes long, or needs options. */
  byName?: boolean;
  /** Measures the server that all benches with `run` share. */
  run?(target: Target): Promise<void>;
  /** Starts the servers that it measures. */
  start?(options: Options): Promise<void>;
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

export async function openTarget({ url, key }: Options): Promise<Target> {
  if (url) {
    const client = new Client({ apiUrl: url, apiKey: key ?? null });
    return { name: url, client, stop: () => Promise.resolve() };
  }
  const weir = await startServer({}, asDeployed());
  const client = new Client({ apiUrl: weir.url, apiKey: weir.key });
  return { name: "Weir, started here", client, weir, stop: () => weir.stop() };
}
