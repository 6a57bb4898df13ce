/** The effects of the product outside of its memory: calls to D1, R2, queues and objects. A test can watch, hold and fail them. */
import { abortAllDurableObjects } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { pause } from "../../support/aborts.ts";
import { TracePartition } from "../../support/edge-worker.ts";

export interface Effect {
  /** What is done, without ids: `d1 delete feedback_places`, `r2 put`, `object deleteTraces`, `queue send`. */
  name: string;
  /** Everything that it names: statements with their parameters, keys, the object. */
  text: string;
}

export interface Watch {
  on: (effect: Effect) => boolean;
  /** Throws to fail the effect before it is carried out. */
  before?: (effect: Effect) => Promise<void> | void;
  /** Throws to lose the answer of an effect that was carried out. */
  after?: (effect: Effect) => Promise<void> | void;
}

/** Something that happens at one effect. `isDone` tells whether it came to that. */
export interface Fault {
  stop: () => void;
  isDone: () => boolean;
}

type Method = (this: unknown, ...args: unknown[]) => unknown;
interface Prepared {
  statement: string;
  params: unknown[];
}

const watches = new Set<Watch>();

/** Calls the watch around each effect that it is on, until the returned function is called. */
export function watch(given: Watch): () => void {
  install();
  watches.add(given);
  return () => void watches.delete(given);
}

/** Carries out an effect with what the watches do around it. */
export async function runWatched(effect: Effect, carryOut: () => unknown): Promise<unknown> {
  const own = [...watches].filter((one) => one.on(effect));
  for (const one of own) await one.before?.(effect);
  const answer = await carryOut();
  for (const one of own) await one.after?.(effect);
  return answer;
}

let isInstalled = false;

function install(): void {
  if (isInstalled) return;
  isInstalled = true;
  for (const name of ["run", "all", "raw", "first"])
    wrap(env.DB.prepare("SELECT 1"), name, (self) => ofStatements([self as Prepared]));
  wrap(env.DB, "batch", (_, [statements]) => ofStatements(statements as Prepared[]));
  for (const name of ["put", "get", "head", "list", "delete"])
    wrap(env.BLOBS, name, (_, [key]) => ({ name: `r2 ${name}`, text: JSON.stringify(key) }));
  for (const name of ["send", "sendBatch"])
    wrap(env.EXPORTS, name, (_, args) => ({ name: `queue ${name}`, text: JSON.stringify(args) }));
  wrapOn(TracePartition.prototype, "dispatch", (self, [method, args]) => ({
    name: `object ${String(method)}`,
    text: `${(self as { ctx: DurableObjectState }).ctx.id.name ?? ""} ${JSON.stringify(args)}`,
  }));
}

function ofStatements(statements: Prepared[]): Effect {
  const names = statements.map(({ statement }) => nameStatement(statement));
  return { name: `d1 ${[...new Set(names)].join(", ")}`, text: JSON.stringify(statements.map(({ params }) => params)) };
}

/** The verb and the first table of a statement. */
function nameStatement(statement: string): string {
  const verb = /^\s*(\w+)/.exec(statement)?.[1]?.toLowerCase() ?? "";
  const table = /(?:from|into|update)\s+(?:or \w+ )?"?(\w+)/i.exec(statement)?.[1]?.toLowerCase() ?? "";
  return `${verb} ${table}`;
}

const wrap = (instance: object, name: string, toEffect: (self: unknown, args: unknown[]) => Effect) =>
  wrapOn(Object.getPrototypeOf(instance) as object, name, toEffect);

function wrapOn(prototype: object, name: string, toEffect: (self: unknown, args: unknown[]) => Effect): void {
  const original = Reflect.get(prototype, name) as Method;
  const runEffect: Method = function (...args) {
    return watches.size === 0
      ? original.apply(this, args)
      : runWatched(toEffect(this, args), () => original.apply(this, args));
  };
  Reflect.defineProperty(prototype, name, { value: runEffect, writable: true, configurable: true });
}

/** What the platform says. A call of an object is not repeated after this error. */
const MESSAGES: Record<string, string> = {
  d1: "D1_ERROR: Network connection lost.",
  object: "disk I/O error: SQLITE_IOERR",
  r2: "put: We encountered an internal error. Please try again. (10001)",
};

/** Fails the first such effect with what the platform says. */
export function failOnce(
  on: Watch["on"],
  when: "before" | "after" = "before",
): { stop: () => void; isDone: () => boolean } {
  let done = false;
  const fail = ({ name }: Effect) => {
    if (done) return;
    done = true;
    throw new Error(MESSAGES[name.split(" ")[0] ?? ""] ?? "The effect fails.");
  };
  const stop = watch({ on, [when]: fail });
  return { stop, isDone: () => done };
}

/**
 * Restarts all objects after the first such effect. The test's own context restarts them: the runtime crashes when a call
 * restarts the object that carries it out.
 */
export function restartOnce(on: Watch["on"]): Fault {
  const state = { isReached: false, isRestarted: false, isStopped: false };
  const waitUntilRestarted = async () => {
    if (state.isReached) return;
    state.isReached = true;
    while (!state.isRestarted) await pause(2);
  };
  const stop = watch({ on, after: waitUntilRestarted });
  const restarting = async () => {
    while (!state.isReached && !state.isStopped) await pause(2);
    if (state.isReached) await abortAllDurableObjects();
    state.isRestarted = true;
  };
  void restarting();
  return {
    stop: () => {
      state.isStopped = true;
      stop();
    },
    isDone: () => state.isReached,
  };
}

/** Holds the first such effect before it is carried out, until `work` is done. */
export function holdOnce(on: Watch["on"], work: () => Promise<void>): { stop: () => void; isDone: () => boolean } {
  let done = false;
  const hold = async () => {
    if (done) return;
    done = true;
    await work();
  };
  const stop = watch({ on, before: hold });
  return { stop, isDone: () => done };
}
