/** What is measured: an address that the stock client talks to, and for a Weir started here what it counts itself. */
import { Client } from "langgraph-sdk-1-15";
import { localConfig } from "../../scripts/local-server.ts";
import { type CountingServer, startServer } from "../support/server.ts";

export interface Target {
  name: string;
  client: Client;
  /** How many runs the sequential measure makes. */
  runs: number;
  weir?: CountingServer;
  stop(): Promise<void>;
}

/** One file of this folder exports one of these as `bench`. */
export interface Bench {
  title: string;
  /** Needs counters that only a Weir started here can give. */
  weirOnly?: boolean;
  run(target: Target): Promise<void>;
}

interface Options {
  url: string | undefined;
  key: string | undefined;
  runs: number;
}

export async function openTarget({ url, key, runs }: Options): Promise<Target> {
  if (url) {
    const client = new Client({ apiUrl: url, apiKey: key ?? null });
    return { name: url, client, runs, stop: () => Promise.resolve() };
  }
  const weir = await startServer({}, localConfig());
  const client = new Client({ apiUrl: weir.url, apiKey: weir.key });
  return { name: "Weir, started here", client, runs, weir, stop: () => weir.stop() };
}
