/** One way to call the server: credentials in, problem+json out as an ApiError. */
import { freshen } from "./oauth.ts";
import { resolveAddress } from "./server.ts";
import { credentials, currentSession } from "./session.ts";

/** The server's error. `status` 0: it did not answer. */
export class ApiError extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/** `fetch` with this tab's credentials, refreshed when they are about to end. Also the stream's fetch. */
export async function authFetch(input: RequestInfo | URL, init?: RequestInit): Promise<Response> {
  await freshen();
  const headers = new Headers(init?.headers);
  for (const [name, value] of Object.entries(credentials())) headers.set(name, value);
  return fetch(typeof input === "string" ? resolveAddress(input) : input, { ...init, headers });
}

/** Method, path and body. */
export type Request = [method: string, path: string, body?: unknown];

/** A response to another caller is not used. */
const requestKey = (request: Request) => JSON.stringify([currentSession()?.secret, request]);

/** Sends a request that a view will make as soon as its code is loaded: the next `callFor` with it gets its response. */
export function callAhead(request: Request): void {
  const key = requestKey(request);
  if (!isAhead(key)) keepAhead(key, call(...request));
}

/** The response to a request, which may have been sent ahead. */
export function callFor<T>(request: Request, signal?: AbortSignal): Promise<T> {
  const [method, path, body] = request;
  return (takeAhead(requestKey(request)) as Promise<T> | undefined) ?? call<T>(method, path, body, signal);
}

/** Calls the server and reads JSON. A response without a body is `undefined`. */
export async function call<T>(method: string, path: string, body?: unknown, signal?: AbortSignal): Promise<T> {
  const response = await authFetch(path, {
    method,
    headers: body === undefined ? {} : { "content-type": "application/json" },
    body: body === undefined ? undefined : JSON.stringify(body),
    signal,
  }).catch((error: unknown) => {
    if (signal?.aborted) throw error;
    throw new ApiError(0, "The server did not answer.");
  });
  const text = await response.text();
  if (!response.ok) throw new ApiError(response.status, readDetail(text) ?? `The server answered ${response.status}.`);
  return (text === "" ? undefined : JSON.parse(text)) as T;
}

/** The sentence in an error's body: problem+json's `detail`, or the plain text of it. */
function readDetail(text: string): string | undefined {
  try {
    const body = JSON.parse(text) as { detail?: unknown; message?: unknown };
    const detail = body.detail ?? body.message;
    return typeof detail === "string" ? detail : undefined;
  } catch {
    return text.length > 0 && text.length < 300 && !text.startsWith("<") ? text : undefined;
  }
}

/** For `catch`. A 404 is no failure: there is nothing yet. */
export const none = (error: unknown): null => {
  if (error instanceof ApiError && error.status === 404) return null;
  throw error;
};

// Answers that were requested before the code that needs them was loaded. Each is used once, and only while it is new.

/** Milliseconds since the request. */
const MOST_AGE = 10_000;

const responses = new Map<string, { response: Promise<unknown>; at: number }>();

/** Whether a response waits under this key. */
function isAhead(key: string): boolean {
  const kept = responses.get(key);
  return kept !== undefined && Date.now() - kept.at <= MOST_AGE;
}

/** Keeps a response for the next `takeAhead`. A failure that is not taken yet is not kept: the request is made again. */
function keepAhead(key: string, response: Promise<unknown>): void {
  const kept = { response, at: Date.now() };
  responses.set(key, kept);
  response.catch(() => responses.get(key) === kept && responses.delete(key));
}

/** The response under this key, which is removed. */
function takeAhead(key: string): Promise<unknown> | undefined {
  const response = isAhead(key) ? responses.get(key)?.response : undefined;
  responses.delete(key);
  return response;
}
