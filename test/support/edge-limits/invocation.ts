/** Counts what one invocation of the Worker or of a Durable Object sends out. */
import { AsyncLocalStorage } from "node:async_hooks";
import { recordCrossing } from "./record.ts";

/** Requests to anything outside the isolate per invocation, on the paid plan. */
export const SUBREQUESTS = 10_000;
/** Calls to D1 per invocation, on the paid plan. A batch is one call. */
export const D1_QUERIES = 1_000;

export interface Invocation {
  /** The handler or the class and method, for messages. */
  name: string;
  subrequests: number;
  queries: number;
}

const KEY = Symbol.for("weir.edge-limits.invocations");
const holder = globalThis as { [KEY]?: AsyncLocalStorage<Invocation> };
const invocations = (holder[KEY] ??= new AsyncLocalStorage<Invocation>());

/** The invocation that the caller runs in. None in a test's own code. */
export const getInvocation = (): Invocation | undefined => invocations.getStore();

/** Runs `work` as an invocation of its own. */
export function invoke<T>(name: string, work: (invocation: Invocation) => T): T {
  const invocation = { name, subrequests: 0, queries: 0 };
  return invocations.run(invocation, () => work(invocation));
}

/** Counts one request to the outside. Throws beyond the limit. */
export function countSubrequest(): void {
  const invocation = getInvocation();
  if (!invocation) return;
  invocation.subrequests += 1;
  if (invocation.subrequests <= SUBREQUESTS) return;
  throw recordCrossing("subrequests", `Too many subrequests: ${invocation.name} made ${invocation.subrequests}.`);
}

/** Counts one call to D1, which is a subrequest too. Throws beyond the limit. */
export function countQuery(): void {
  countSubrequest();
  const invocation = getInvocation();
  if (!invocation) return;
  invocation.queries += 1;
  if (invocation.queries <= D1_QUERIES) return;
  throw recordCrossing(
    "d1-queries",
    `D1_ERROR: Too many queries: ${invocation.name} sent ${invocation.queries} to D1.`,
  );
}
