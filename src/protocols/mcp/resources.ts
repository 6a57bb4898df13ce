/** Threads, runs, traces and assistants as resources, as far as the caller may read them. */
import {
  type CompleteRequestParams,
  type CompleteResult,
  type ListResourcesResult,
  type ReadResourceResult,
  ResourceNotFoundError,
  type ResourceTemplateType,
} from "@modelcontextprotocol/server";
import { isUuid } from "../../lib/uuid.ts";
import { may, type Permission, type Principal } from "../../http/principal.ts";
import { findThreads } from "../../threads/api/search.ts";
import { threadStub } from "../../threads/remote.ts";
import { readTree } from "../../traces/query/find.ts";
import { runOfTree, TREE_NAMES } from "../../traces/query/row.ts";
import { authorize, containsJson, type UserFilter } from "../../access/users/handlers.ts";
import { assistantOfTool, namesOfTools, PAGE } from "./tools.ts";

/** Who reads. */
export interface ResourceReader {
  env: Env;
  principal: Principal;
  /** What the caller sees of assistants. */
  visible: () => Promise<UserFilter>;
}

const JSON_TYPE = "application/json";
/** The runs of a trace that are given. */
const MAX_RUNS = 1_000;
/** The most values of a completion, by the protocol. */
const MAX_VALUES = 100;

/** What reading a resource needs, by the first part of its address. */
const PERMISSION_OF: Record<string, Permission> = { assistants: "assistants.read", traces: "traces.read" };

const ASSISTANT = "weir://assistants/{name}";

export const TEMPLATES: ResourceTemplateType[] = [
  { uriTemplate: ASSISTANT, name: "assistant", description: "An assistant, by the name of its tool." },
  { uriTemplate: "weir://threads/{thread_id}", name: "thread", description: "A thread with its state." },
  { uriTemplate: "weir://threads/{thread_id}/runs/{run_id}", name: "run", description: "A run of a thread." },
  { uriTemplate: "weir://traces/{trace_id}", name: "trace", description: "The runs of a trace, as a tree." },
].map((template) => ({ ...template, mimeType: JSON_TYPE }));

/** The newest threads. */
export async function listResources({ env, principal }: ResourceReader, offset: number): Promise<ListResourcesResult> {
  if (!may(principal, "threads.read")) return { resources: [] };
  const metadata = await authorize(principal, "threads", "search", { metadata: {} });
  const page = { limit: PAGE, offset, sort_by: "updated_at" as const, sort_order: "desc" as const };
  const select = ["thread_id", "updated_at"];
  const threads = await findThreads(env, principal.workspaceId, { ...page, metadata, select });
  const resources = threads.slice(0, PAGE).map(({ thread_id, updated_at }) => ({
    uri: `weir://threads/${String(thread_id)}`,
    name: `Thread ${String(thread_id)}`,
    mimeType: JSON_TYPE,
    annotations: { lastModified: String(updated_at) },
  }));
  return threads.length > PAGE ? { resources, nextCursor: String(offset + PAGE) } : { resources };
}

/** @throws ResourceNotFoundError for what is not there, and for what the caller may not read */
export async function readResource(reader: ResourceReader, uri: string): Promise<ReadResourceResult> {
  const path = /^weir:\/\/(.+)$/.exec(uri)?.[1]?.split("/") ?? [];
  const value = may(reader.principal, PERMISSION_OF[path[0] ?? ""] ?? "threads.read")
    ? await valueAt(reader, path)
    : undefined;
  if (value === undefined) throw new ResourceNotFoundError(uri);
  return { contents: [{ uri, mimeType: JSON_TYPE, text: JSON.stringify(value) }] };
}

async function valueAt(reader: ResourceReader, [noun, id = "", ...more]: string[]): Promise<object | undefined> {
  if (noun === "assistants" && more.length === 0) return readAssistant(reader, id);
  if (!isUuid(id)) return undefined;
  const own = id.toLowerCase();
  if (noun === "traces" && more.length === 0) return readTrace(reader, own);
  if (noun !== "threads") return undefined;
  if (more.length === 0) return readThread(reader, own);
  const [runs, runId = ""] = more;
  return runs === "runs" && more.length === 2 && isUuid(runId) ? readRun(reader, own, runId.toLowerCase()) : undefined;
}

async function readAssistant({ env, principal, visible }: ResourceReader, name: string): Promise<object | undefined> {
  return assistantOfTool(env, principal.workspaceId, name, await visible());
}

async function readThread({ env, principal }: ResourceReader, threadId: string): Promise<object | undefined> {
  const thread = await threadStub(env, principal.workspaceId, threadId).get();
  if (!thread) return undefined;
  const filter = await authorize(principal, "threads", "read", { thread_id: threadId });
  const { ttl: _, ...shown } = thread;
  return !filter || containsJson(thread.metadata, filter) ? shown : undefined;
}

async function readRun(reader: ResourceReader, threadId: string, runId: string): Promise<object | undefined> {
  const { env, principal } = reader;
  if (!(await readThread(reader, threadId))) return undefined;
  return threadStub(env, principal.workspaceId, threadId).getRun(runId);
}

/** Traces are the workspace's: no handler of `Auth` decides about them, so a user reads none. */
async function readTrace({ env, principal }: ResourceReader, traceId: string): Promise<object | undefined> {
  if (principal.user || !may(principal, "traces.read")) return undefined;
  const runs = await readTree(env, principal.workspaceId, [], traceId, MAX_RUNS);
  return runs.length > 0 ? { runs: runs.map((run) => runOfTree(run, TREE_NAMES)) } : undefined;
}

/** The names of assistants that begin with what has been written. */
export async function completeName(
  { env, principal, visible }: ResourceReader,
  { ref, argument }: CompleteRequestParams,
): Promise<CompleteResult["completion"]> {
  if (
    ref.type !== "ref/resource" ||
    ref.uri !== ASSISTANT ||
    argument.name !== "name" ||
    !may(principal, "assistants.read")
  )
    return { values: [] };
  const names = await namesOfTools(env, principal.workspaceId, await visible());
  const values = names.filter((name) => name.toLowerCase().startsWith(argument.value.toLowerCase()));
  return { values: values.slice(0, MAX_VALUES), total: values.length, hasMore: values.length > MAX_VALUES };
}
