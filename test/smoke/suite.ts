/** How the checks run: one after the other, each with a line of its own, and everything they made is removed at the end. */
import { Client } from "langgraph-sdk-1-15";
import { Api } from "../support/api.ts";

export interface Check {
  /** What a deployment does when it is right. */
  name: string;
  /** The demo graph that it needs. */
  graph?: string;
  run(smoke: Smoke): Promise<void>;
}

/** Thrown by a check that the deployment gives nothing to do: no failure. */
export class NotRun extends Error {}

/** Only runs over REST name the project of their traces. */
export const OWN_TRACES =
  "the traces of the runs over A2A, MCP and the streaming protocol, in the deployment's own project, until their retention ends";

/** A check that takes longer counts as failed, milliseconds. */
const LONGEST_MS = 60_000;

interface Undo {
  what: string;
  undo: () => Promise<unknown>;
}

/** A deployment under test, and what the checks leave in it. */
export class Smoke extends Api {
  readonly key: string;
  /** Gets the traces of the checks, which are removed with it. */
  readonly project = `smoke ${crypto.randomUUID()}`;
  readonly client: Client;
  /** The deployment's graphs. Set by the check of the key. */
  graphs: string[] = [];
  readonly #undo: Undo[] = [];
  readonly #left: string[] = [];

  constructor(url: string, key: string) {
    super(url.replace(/\/+$/, ""), { "x-api-key": key });
    this.key = key;
    // A repetition would hide a fault.
    this.client = new Client({ apiUrl: this.url, apiKey: key, callerOptions: { maxRetries: 0 } });
  }

  /** Has `undo` run at the end, the newest first. */
  later(what: string, undo: () => Promise<unknown>): void {
    this.#undo.push({ what, undo });
  }

  /** Names what stays in the deployment, because no call removes it. */
  leaves(what: string): void {
    if (!this.#left.includes(what)) this.#left.push(what);
  }

  get left(): string[] {
    return this.#left;
  }

  /** Removes what the checks made. Gives what could not be removed, with the reason. */
  async cleanUp(): Promise<{ removed: number; failed: string[] }> {
    const failed: string[] = [];
    const all = this.#undo.splice(0).toReversed();
    for (const { what, undo } of all) {
      try {
        await undo();
      } catch (error) {
        failed.push(`${what}: ${reasonOf(error)}`);
      }
    }
    return { removed: all.length - failed.length, failed };
  }
}

export interface Totals {
  ok: number;
  failed: number;
  notRun: number;
}

/** Runs the checks and prints a line for each. `say` takes the lines. */
export async function runChecks(smoke: Smoke, checks: Check[], say: (line: string) => void): Promise<Totals> {
  const totals: Totals = { ok: 0, failed: 0, notRun: 0 };
  for (const check of checks) {
    const began = Date.now();
    try {
      if (check.graph !== undefined && !smoke.graphs.includes(check.graph)) {
        throw new NotRun(`the deployment has no graph "${check.graph}"`);
      }
      await within(LONGEST_MS, check.run(smoke));
      totals.ok += 1;
      say(`ok       ${check.name} (${Date.now() - began} ms)`);
    } catch (error) {
      if (error instanceof NotRun) {
        totals.notRun += 1;
        say(`not run  ${check.name}: ${error.message}`);
      } else {
        totals.failed += 1;
        say(`FAILED   ${check.name}: ${reasonOf(error)}`);
      }
    }
  }
  return totals;
}

async function within(milliseconds: number, work: Promise<void>): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`No end after ${milliseconds / 1000} s.`)), milliseconds);
  });
  try {
    await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** An error in one line, with what caused it: `fetch` says why only there. */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const cause = error.cause instanceof Error ? ` (${error.cause.message})` : "";
  return `${error.message}${cause}`.replaceAll(/\s+/g, " ").slice(0, 600);
}
