/**
 * The caller for whom code of the project runs. Its calls to its own server (`new Client()` without a URL) act for the
 * same caller.
 */
import { AsyncLocalStorage } from "node:async_hooks";
import type { Principal } from "../http/principal.ts";

export interface Behalf {
  env: Env;
  principal: Principal;
}

const current = new AsyncLocalStorage<Behalf>();

/** Runs the project's code on behalf of a caller. */
export const onBehalf = <T>(behalf: Behalf, code: () => T): T => current.run(behalf, code);

export const behalf = (): Behalf | undefined => current.getStore();

/** Requests that the project's code makes in this isolate. No request from outside is among them. */
const inner = new WeakMap<Request, Principal>();

/** Records that the request is the project's own, on behalf of this principal. */
export function noteInner(request: Request, principal: Principal): void {
  inner.set(request, principal);
}

/** Requests that only the project's `app` may answer. */
const forApp = new WeakSet<Request>();

/** Records that only the project's `app` may answer the request, and no built-in route. */
export function noteForApp(request: Request): void {
  forApp.add(request);
}

export const isForApp = (request: Request): boolean => forApp.has(request);

/** On whose behalf the project's code makes this request; undefined for a request from outside. */
export const innerCaller = (request: Request): Principal | undefined => inner.get(request);
