/**
 * `new Client()` of @langchain/langgraph-sdk without a URL reaches its own server through two globals. The call goes
 * through the application in this isolate, on behalf of the caller whose run or request it is made in.
 */
import { AsyncLocalStorage } from "node:async_hooks";
import type { Principal, AppUser } from "./principal.ts";
import { waitUntil } from "cloudflare:workers";
import { Problem, problemResponse } from "../lib/problem.ts";

// Addresses of this server as code within it calls them.

/** A host of no network: the address is never connected to. */
export const ORIGIN = "http://weir.internal";

/** The address of a path of this server. Undefined for a path that URL parsers resolve to another host, such as `//host`. */
export function ownAddress(path: string): URL | undefined {
  const url = path.startsWith("/") ? URL.parse(ORIGIN + path) : null;
  return url && !url.pathname.startsWith("//") ? url : undefined;
}

// The caller for whom code of the project runs. Its calls to its own server (`new Client()` without a URL) act for the
// same caller.

export interface Caller {
  env: Env;
  principal: Principal;
}

const current = new AsyncLocalStorage<Caller>();

/** Runs the project's code on behalf of a caller. */
export const callAs = <T>(caller: Caller, code: () => T): T => current.run(caller, code);

export const currentCaller = (): Caller | undefined => current.getStore();

/** Requests that the project's code makes in this isolate. No request from outside is among them. */
const ownRequests = new WeakMap<Request, Principal>();

/** Records that the request is the project's own, on behalf of this principal. */
export function noteOwnRequest(request: Request, principal: Principal): void {
  ownRequests.set(request, principal);
}

/** Requests that only the project's `app` may answer. */
const forApp = new WeakSet<Request>();

/** Records that only the project's `app` may answer the request, and no built-in route. */
export function reserveForApp(request: Request): void {
  forApp.add(request);
}

export const isForApp = (request: Request): boolean => forApp.has(request);

/** On whose behalf the project's code makes this request; undefined for a request from outside. */
export const principalOfOwnRequest = (request: Request): Principal | undefined => ownRequests.get(request);

type Fetch = (request: Request, env: Env, ctx: ExecutionContext) => Promise<Response>;

/** How many calls of this server to itself may be nested: a run starts a run that starts a run, and so on. */
export const MAX_NESTED = 10;

/** The ExecutionContext of a call outside of a request. */
const context = { waitUntil, passThroughOnException() {}, props: {} } as unknown as ExecutionContext;

/** The Worker's own. */
let worker: Fetch | undefined;

/** Sets the globals. `fetch` is the Worker's own. */
export function installLoopback(fetch: Fetch): void {
  worker = fetch;
  Object.assign(globalThis, {
    [Symbol.for("langgraph_api:url")]: ORIGIN,
    [Symbol.for("langgraph_api:fetch")]: async (input: RequestInfo | URL, init?: RequestInit) =>
      call(fetch, new Request(input, init)),
  });
}

/** Calls a path of the project's `app` in this isolate, on behalf of a caller. Built-in routes do not answer it. */
export async function callApp(on: Caller, path: string, init: RequestInit): Promise<Response> {
  return callOwn(on, path, init, reserveForApp);
}

/**
 * Calls a path of this server in this isolate, on behalf of a caller: the route checks the caller's permissions as for a request
 * from outside. `note` gets the request before it is made.
 */
export async function callOwn(
  on: Caller,
  path: string,
  init: RequestInit,
  note?: (request: Request) => void,
): Promise<Response> {
  const address = ownAddress(path);
  if (!address || !worker) throw new Error(`${path} is no path of this server.`);
  const [fetch, request] = [worker, new Request(address, init)];
  note?.(request);
  return callAs(on, () => call(fetch, request));
}

async function call(fetch: Fetch, request: Request): Promise<Response> {
  const on = currentCaller();
  if (!on)
    throw new Error("A Client without a URL works in a run or a request of this server. Give it an apiUrl elsewhere.");
  const { env, principal } = on;
  const depth = (principal.depth ?? 0) + 1;
  // Not 508: the SDK repeats a call that got it.
  if (depth > MAX_NESTED)
    return problemResponse(new Problem(409, `Calls of this server to itself are nested more than ${MAX_NESTED} deep.`));
  // The SDK sends a LangSmith key of the environment as X-API-Key automatically. An Authorization header is the
  // project's.
  if (!request.headers.has("authorization")) noteOwnRequest(request, { ...principal, depth });
  return fetch(request, env, context);
}

// A run that calls its own server: with the rights of its user, in its workspace.

export interface RunPrincipal {
  run_id: string;
  user?: AppUser;
  /** How many calls of this server to itself led to the run. */
  depth?: number;
}

/** What is read of a run that calls its own server. */
interface CallingRun {
  id: string;
  request: { configurable?: Record<string, unknown> | undefined; depth?: number | undefined };
}

export function principalOfRun({ id, request }: CallingRun): RunPrincipal {
  const user = request.configurable?.langgraph_auth_user as AppUser | undefined;
  return { run_id: id, user, depth: request.depth };
}

/** The caller that the run is, with what running graphs needs. */
export function toCaller(env: Env, workspaceId: string, { run_id, user, depth }: RunPrincipal): Caller {
  return { env, principal: { workspaceId, scopes: ["read", "write"], credentialId: run_id, kind: "run", user, depth } };
}
