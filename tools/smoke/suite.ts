/** Runs the checks in order, prints a line for each, and removes what they made. */
import { Client } from "@langchain/langgraph-sdk";
import { Api } from "../../test/support/api.ts";

export interface Check {
  /** The part of the API and the expected behaviour. */
  name: string;
  /** The demo graph that the check needs. */
  graph?: string;
  run(smoke: Smoke): Promise<void>;
}

/** Thrown by a check that does not apply to the deployment. It is not a failure. */
export class NotRun extends Error {}

/** Only runs over REST can set the project of their traces. */
export const OWN_TRACES =
  "the traces of the runs over A2A, MCP and the streaming protocol, in the deployment's own project, until their retention ends";

/** The longest time of a check, milliseconds. */
const LONGEST_MS = 60_000;

interface Undo {
  what: string;
  undo: () => Promise<unknown>;
}

/** The deployment under test, and what the checks made in it. */
export class Smoke extends Api {
  readonly key: string;
  /** The project for the traces of the checks. */
  readonly project = `smoke ${crypto.randomUUID()}`;
  readonly client: Client;
  /** The graphs of the deployment. Set by the check of the key. */
  graphs: string[] = [];
  readonly #undo: Undo[] = [];
  readonly #left: string[] = [];

  constructor(url: string, key: string) {
    super(url.replace(/\/+$/, ""), { "x-api-key": key });
    this.key = key;
    // Retries would hide faults.
    this.client = new Client({ apiUrl: this.url, apiKey: key, callerOptions: { maxRetries: 0 } });
  }

  /** Registers `undo` for the cleanup, which runs in reverse order. */
  undoLater(what: string, undo: () => Promise<unknown>): void {
    this.#undo.push({ what, undo });
  }

  /** Records what stays in the deployment because no API call deletes it. */
  noteLeft(what: string): void {
    if (!this.#left.includes(what)) this.#left.push(what);
  }

  get left(): string[] {
    return this.#left;
  }

  /** Removes what the checks made. Returns the failures with their reasons. */
  async cleanUp(): Promise<{ removed: number; failed: string[] }> {
    const failed: string[] = [];
    const all = this.#undo.splice(0).toReversed();
    for (const { what, undo } of all) {
      try {
        await undo();
      } catch (error) {
        failed.push(`${what}: ${describeError(error)}`);
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

/** Runs the checks and passes a line for each to `say`. */
export async function runChecks(smoke: Smoke, checks: Check[], say: (line: string) => void): Promise<Totals> {
  const totals: Totals = { ok: 0, failed: 0, notRun: 0 };
  for (const check of checks) {
    const began = Date.now();
    try {
      if (check.graph !== undefined && !smoke.graphs.includes(check.graph)) {
        throw new NotRun(`the deployment has no graph "${check.graph}"`);
      }
      await limitTime(LONGEST_MS, check.run(smoke));
      totals.ok += 1;
      say(`ok       ${check.name} (${Date.now() - began} ms)`);
    } catch (error) {
      if (error instanceof NotRun) {
        totals.notRun += 1;
        say(`not run  ${check.name}: ${error.message}`);
      } else {
        totals.failed += 1;
        say(`FAILED   ${check.name}: ${describeError(error)}`);
      }
    }
  }
  return totals;
}

async function limitTime(milliseconds: number, work: Promise<void>): Promise<void> {
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

/** An error in one line, with its cause, which holds the reason of a failed `fetch`. */
export function describeError(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const cause = error.cause instanceof Error ? ` (${error.cause.message})` : "";
  return `${error.message}${cause}`.replaceAll(/\s+/g, " ").slice(0, 600);
}
