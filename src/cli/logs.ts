/** `weir logs`: the live log of a deployment, one line a request. */
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { readArguments, ENV, CliFault, printable } from "./console.ts";
import { openAccount } from "./deploy/account.ts";
import type { DeployConfig } from "./deploy/plan.ts";
import { generate } from "./project/generate.ts";
import { findProject } from "./project/project.ts";
import { WRANGLER } from "./wrangler.ts";

export const usage = `weir logs [dir] [--env <name>]

Shows what a deployment does, one line a request, until Ctrl-C. Errors follow the line of their request.

  --env <name>  an environment of the project's wrangler configuration`;

export async function run(argv: string[]): Promise<number> {
  const { values, dir } = readArguments(argv, ENV);
  const project = await findProject(dir);
  const { wrangler } = await generate(project, values);
  const { id } = await openAccount({ cwd: project.root, accountId: (wrangler as DeployConfig).account_id });
  const args = ["tail", String(wrangler.name), "--format", "json"];
  const child = spawn(process.execPath, [WRANGLER, ...args], {
    cwd: project.root,
    env: { ...process.env, CLOUDFLARE_ACCOUNT_ID: id, WRANGLER_SEND_METRICS: "false" },
    stdio: ["inherit", "pipe", "inherit"],
  });
  const ended = new Promise<number>((resolve) => child.once("exit", (code) => resolve(code ?? 0)));
  for await (const event of eventsIn(createInterface({ input: child.stdout }))) {
    for (const line of formatEvent(event)) console.log(line);
  }
  const code = await ended;
  if (code !== 0)
    throw new CliFault(`The log of ${wrangler.name} could not be opened. Is it deployed in this account?`);
  return 0;
}

/** The shown part of one invocation in Wrangler's tail. */
export interface TailEvent {
  outcome: string;
  eventTimestamp: number;
  wallTime?: number;
  cpuTime?: number;
  event?: {
    request?: { method: string; url: string };
    response?: { status: number };
    cron?: string;
    queue?: string;
    batchSize?: number;
    rpcMethod?: string;
    scheduledTime?: number | string;
  } | null;
  logs?: { level: string; message: unknown[] }[];
  exceptions?: { name: string; message: string }[];
}

/** Wrangler prints each event as JSON over several lines, of which the last is a lone bracket. */
export async function* eventsIn(lines: AsyncIterable<string>): AsyncGenerator<TailEvent> {
  let text = "";
  for await (const line of lines) {
    if (text || line === "{") text += `${line}\n`;
    if (line !== "}" || !text) continue;
    yield JSON.parse(text) as TailEvent;
    text = "";
  }
}

/** One line for the invocation, and one for each error in it. */
export function formatEvent({
  outcome,
  eventTimestamp,
  wallTime,
  event,
  logs = [],
  exceptions = [],
}: TailEvent): string[] {
  const time = new Date(eventTimestamp).toISOString().slice(11, 19);
  const took = wallTime === undefined ? "" : `  ${wallTime} ms`;
  const ended = outcome === "ok" ? "" : `  ${outcome}`;
  const errors = [
    ...exceptions.map(({ name, message }) => `${name}: ${message}`),
    ...logs.filter(({ level }) => level === "error").map(({ message }) => message.map(formatValue).join(" ")),
  ];
  return [`${time}  ${describeEvent(event)}${took}${ended}`, ...errors.map((error) => `          ${printable(error)}`)];
}

function describeEvent(event: TailEvent["event"]): string {
  if (event?.request) {
    const { pathname, search } = new URL(event.request.url);
    return printable(`${event.request.method.padEnd(6)} ${pathname}${search}  ${event.response?.status ?? "-"}`);
  }
  if (event?.cron) return `cron   ${event.cron}`;
  if (event?.queue) return printable(`queue  ${event.queue}  ${event.batchSize ?? ""}`.trimEnd());
  if (event?.rpcMethod) return printable(`rpc    ${event.rpcMethod}`);
  if (event?.scheduledTime !== undefined) return "alarm";
  return "other";
}

const formatValue = (value: unknown) => (typeof value === "string" ? value : JSON.stringify(value));
