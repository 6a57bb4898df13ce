/** One request of a user of the deployment's own `Auth`, before it reaches the routes: its action and its resource. */
import type { Context } from "hono";
import type { App } from "../../http/context.ts";
import type { Principal } from "../../http/principal.ts";
import { readCopy, readJson } from "../../http/validate.ts";
import { isObject, type Json } from "../../lib/json.ts";
import { Problem } from "../../lib/problem.ts";
import { isUuid } from "../../lib/uuid.ts";
import { authorize, containsJson, type UserFilter } from "./handlers.ts";

/** The routes accept a UUID in capitals as the same id. The permission check and the lookup must do the same. */
function normaliseId(id: string): string {
  return isUuid(id) ? id.toLowerCase() : id;
}

const idIn = (value: unknown) => (typeof value === "string" ? normaliseId(value) : value);

function normaliseIds(body: Json): Json {
  const { thread_id, assistant_id, thread_ids, params } = body;
  return {
    ...body,
    ...(thread_id !== undefined && { thread_id: idIn(thread_id) }),
    ...(assistant_id !== undefined && { assistant_id: idIn(assistant_id) }),
    ...(Array.isArray(thread_ids) && { thread_ids: thread_ids.map(idIn) }),
    ...(isObject(params) && { params: normaliseIds(params) }),
  };
}

/** A request of a user, with the parts that its rule reads and changes. */
export class UserRequest {
  readonly principal: Principal;
  /** The path's parts that the table's pattern captured. */
  readonly ids: string[];

  constructor(
    readonly c: Context<App>,
    parts: string[],
  ) {
    this.principal = c.get("principal");
    this.ids = parts.map(normaliseId);
  }

  /** The body; an empty object where it is none, for the route itself to refuse. */
  async body(): Promise<Json> {
    const body = await this.json();
    return isObject(body) ? normaliseIds(body) : {};
  }

  /** The body as it was sent. */
  async json(): Promise<unknown> {
    return readCopy(this.c.req.raw, (copy) => readJson(copy, undefined, true));
  }

  /** Sends another body on to the route. */
  pass(body: unknown): void {
    const { raw } = this.c.req;
    const { signal } = raw;
    const headers = new Headers(raw.headers);
    headers.delete("content-length");
    headers.set("content-type", "application/json");
    this.c.req.raw = new Request(raw.url, { method: raw.method, headers, signal, body: JSON.stringify(body) });
  }

  allowed(resource: string, action: string, value: Json): Promise<UserFilter> {
    return authorize(this.principal, resource, action, value);
  }
}

/** Asks the handler of an event, and narrows the request to its answer or answers it. */
export type UserRule = (request: UserRequest) => Promise<Response | void>;

/** What a user may not see is as if it did not exist. */
export function requireMatch(metadata: Json | undefined, filter: UserFilter, what: string): void {
  if (!metadata || (filter && !containsJson(metadata, filter))) throw new Problem(404, `${what} not found.`);
}

export const readMetadata = (body: Json): Json => (isObject(body.metadata) ? { ...body.metadata } : {});
