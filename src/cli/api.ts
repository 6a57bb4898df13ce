/** Calls of a deployment's own API, as the command line makes them. */
import { CliFault } from "./console.ts";

/** `globalThis.fetch`; tests give another. */
export type Fetch = typeof globalThis.fetch;

export interface ApiOptions {
  /** The deployment's address, without a path. */
  url: string;
  /** An API key or the admin key. Left out for a local server with AUTH=open. */
  key?: string;
  /** The workspace in which the admin key acts. */
  workspaceId?: string;
  /** What comes before each path. */
  root?: string;
  fetch?: Fetch;
}

/** A function that sends a request with the credential, and returns the answer. @throws Fault when there is none */
export function sendTo({ url, key, workspaceId, fetch = globalThis.fetch }: Omit<ApiOptions, "root">) {
  return async (method: string, path: string, body?: unknown): Promise<Response> => {
    const headers = {
      ...(key && { "x-api-key": key }),
      ...(workspaceId && { "x-tenant-id": workspaceId }),
      ...(body !== undefined && { "content-type": "application/json" }),
    };
    const request = { method, headers, body: body === undefined ? undefined : JSON.stringify(body) };
    return fetch(`${url}${path}`, request).catch((error: unknown) => {
      throw new CliFault(`${url} does not answer. Is the server running?`, { cause: error });
    });
  };
}

/**
 * A function that calls `<root><path>`, `/api/v1<path>` where no root is given, and returns the answer's JSON.
 *
 * @throws Fault with the server's own `detail`, for every status of 400 and above that is not in `accepted`.
 */
export function createApi({ root = "/api/v1", ...options }: ApiOptions) {
  const send = sendTo(options);
  return async <T>(method: string, path: string, body?: unknown, accepted: number[] = []): Promise<T> => {
    const response = await send(method, root + path, body);
    const text = await response.text();
    if (!response.ok && !accepted.includes(response.status)) {
      throw new CliFault(`${method} ${path} was refused with status ${response.status}: ${readDetail(text)}`);
    }
    return (text ? JSON.parse(text) : undefined) as T;
  };
}

function readDetail(text: string): string {
  try {
    return (JSON.parse(text) as { detail?: string }).detail ?? text;
  } catch {
    return text.slice(0, 200);
  }
}
