/** A driver in Python, whose cases are the cases of a test file: `python -m peers`, `python -m load`, or a script. */
import { execFileSync, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { stripVTControlCharacters } from "node:util";
import { FOLDER, program, pythonEnv } from "./environment.ts";

/** The last characters of a log that a failure shows. */
const SHOWN = 6_000;

const options = () => ({ cwd: FOLDER, env: pythonEnv() });

/** The JSON that the driver prints for these arguments. */
export function askDriver(args: string[]): unknown {
  return JSON.parse(execFileSync(program("clients", "python"), args, { ...options(), encoding: "utf8" }));
}

/** Runs a script to its end and gives the objects that it prints, one a line. `onLog` gets what it says beside them. */
export async function runScript<T>(args: string[], onLog: (text: string) => void = () => {}): Promise<T[]> {
  const child = spawn(program("clients", "python"), args, { ...options(), stdio: ["ignore", "pipe", "pipe"] });
  child.stderr.setEncoding("utf8").on("data", onLog);
  const printed: T[] = [];
  for await (const line of createInterface(child.stdout)) printed.push(JSON.parse(line) as T);
  return printed;
}

export interface Outcome {
  case: string;
  error: string | null;
}

export class Driver {
  readonly #outcomes = new Map<string, Outcome>();
  #log = "";

  /** Runs the driver to its end. */
  async run(args: string[]): Promise<void> {
    const outcomes = await runScript<Outcome>(args, (text) => (this.#log = (this.#log + text).slice(-SHOWN)));
    for (const outcome of outcomes) this.#outcomes.set(outcome.case, outcome);
  }

  /** Throws what went wrong in a case, which may be that the driver ended before it. */
  demandPassed(name: string): void {
    const outcome = this.#outcomes.get(name) ?? { error: "The driver ended before this case." };
    if (outcome.error !== null) throw new Error(outcome.error);
  }

  get log(): string {
    return this.#log;
  }
}

/** Prints these logs, by the name of their process. */
export function printLogs(logs: Record<string, string>): void {
  for (const [name, log] of Object.entries(logs))
    console.log(`--- ${name}\n${stripVTControlCharacters(log).slice(-SHOWN)}`);
}
