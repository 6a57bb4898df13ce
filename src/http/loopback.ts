/**
 * `new Client()` of @langchain/langgraph-sdk without a URL reaches its own server through two globals. The call goes
 * through the application in this isolate, on behalf of the caller whose run or request it is made in.
 */
import { waitUntil } from "cloudflare:workers";
import { Problem, problemResponse } from "../lib/problem.ts";
import { ORIGIN, ownAddress } from "../loopback/address.ts";
import { type Behalf, behalf, noteForApp, noteInner, onBehalf } from "../loopback/caller.ts";

type Fetch = (request: Request, env: Env, ctx: ExecutionContext) => Promise<Response>;

/** How many calls of this server to itself may be nested: a run starts a run that starts a run, and so on. */
export const MOST_NESTED = 10;

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
export async function callApp(on: Behalf, path: string, init: RequestInit): Promise<Response> {
  return callOwn(on, path, init, noteForApp);
}

/**
 * Calls a path of this server in this isolate, on behalf of a caller: the route checks the caller's permissions as for a request
 * from outside. `note` gets the request before it is made.
 */
export async function callOwn(
  on: Behalf,
  path: string,
  init: RequestInit,
  note?: (request: Request) => void,
): Promise<Response> {
  const address = ownAddress(path);
  if (!address || !worker) throw new Error(`${path} is no path of this server.`);
  const [fetch, request] = [worker, new Request(address, init)];
  note?.(request);
  return onBehalf(on, () => call(fetch, request));
}

async function call(fetch: Fetch, request: Request): Promise<Response> {
  const on = behalf();
  if (!on)
    throw new Error("A Client without a URL works in a run or a request of this server. Give it an apiUrl elsewhere.");
  const { env, principal } = on;
  const depth = (principal.depth ?? 0) + 1;
  // Not 508: the SDK repeats a call that got it.
  if (depth > MOST_NESTED)
    return problemResponse(
      new Problem(409, `Calls of this server to itself are nested more than ${MOST_NESTED} deep.`),
    );
  // The SDK sends a LangSmith key of the environment as X-API-Key automatically. An Authorization header is the
  // project's.
  if (!request.headers.has("authorization")) noteInner(request, { ...principal, depth });
  return fetch(request, env, context);
}
