/** One request of a user before it reaches the routes: its action and its resource. */
import type { Context } from "hono";
import { type Assistant, resolveAssistant } from "../agents/assistants/store.ts";
import type { Principal } from "../http/principal.ts";
import { findCronMetadata } from "../automation/crons/store.ts";
import { database } from "../db/client.ts";
import { isObject } from "../lib/json.ts";
import { Problem } from "../lib/problem.ts";
import type { App } from "../http/context.ts";
import { isUuid } from "../lib/uuid.ts";
import { readCopy, readJson } from "../http/validate.ts";
import { threadMetadata } from "../threads/api/access.ts";
import { threadStub } from "../threads/stub.ts";
import { authorize, containsJson, type Filter } from "../access/users/handlers.ts";
import { threadName } from "../threads/named.ts";

export type Json = Record<string, unknown>;

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

/** A call of a user, with the parts that its rule reads and changes. */
export class Call {
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
    return readCopy(this.c.req.raw, readJson);
  }

  /** Sends another body on to the route. */
  pass(body: unknown): void {
    const { raw } = this.c.req;
    const headers = new Headers(raw.headers);
    headers.delete("content-length");
    headers.set("content-type", "application/json");
    this.c.req.raw = new Request(raw.url, { method: raw.method, headers, body: JSON.stringify(body) });
  }

  allowed(resource: string, action: string, value: Json): Promise<Filter> {
    return authorize(this.principal, resource, action, value);
  }

  async namedAssistant(id: string): Promise<Assistant | undefined> {
    return resolveAssistant(database(this.c.env.DB), this.principal.workspaceId, id);
  }

  async assistant(id: string): Promise<Json | undefined> {
    return (await this.namedAssistant(id))?.metadata;
  }

  async thread(id: string): Promise<Json | undefined> {
    return threadMetadata(this.c.env, this.principal.workspaceId, id);
  }

  async run(threadId: string, runId: string): Promise<Json | undefined> {
    return (await threadStub(this.c.env, this.principal.workspaceId, threadId).getRun(runId))?.metadata;
  }

  async cron(id: string): Promise<Json | undefined> {
    return findCronMetadata(database(this.c.env.DB), this.principal.workspaceId, id);
  }

  /** A thread that this call works on, and makes when there is none: then it is the user's. */
  async own(threadId: string, action: "read" | "update" | "create_run"): Promise<void> {
    const metadata = await this.thread(threadId);
    if (metadata)
      return requireMatch(
        metadata,
        await this.allowed("threads", action, { thread_id: threadId }),
        threadName(threadId),
      );
    if (!isUuid(threadId)) return;
    const value = { thread_id: threadId, metadata: {}, if_exists: "do_nothing" };
    await this.allowed("threads", "create", value);
    const stub = threadStub(this.c.env, this.principal.workspaceId, threadId);
    await stub.create({ metadata: value.metadata, ifExists: "do_nothing" });
  }
}

/** What a user may not see is as if it did not exist. */
export function requireMatch(metadata: Json | undefined, filter: Filter, what: string): void {
  if (!metadata || (filter && !containsJson(metadata, filter))) throw new Problem(404, `${what} not found.`);
}

export const readMetadata = (body: Json): Json => (isObject(body.metadata) ? { ...body.metadata } : {});
