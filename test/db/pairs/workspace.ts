/** The workspace in which pairs of changes are tried, and what they name. */
import { type Json, makeThings } from "../../security/things.ts";
import { type Caller, newCaller } from "../../support/caller.ts";

export type Change = [method: string, path: string, body?: unknown];

export interface Kind {
  /** Makes one and returns its id. `n` differs at each call. */
  make(n: number): Promise<string>;
  changes(id: string): Record<string, Change>;
  /** What shows the thing. */
  reads(id: string): string[];
}

/** Ids of things that the changes name. */
export const made = { projectId: "", runId: "", destinationId: "", queueId: "" };
let caller: Caller;

export async function prepareWorkspace(): Promise<void> {
  caller = await newCaller();
  const things = await makeThings(async (method, path, body) => (await call(method, path, body)).body as Json, "two");
  made.projectId = things.project_id;
  made.runId = things.trace_run_id;
  made.destinationId = things.destination_id;
  made.queueId = things.queue_id;
}

export async function call(method: string, path: string, body?: unknown): Promise<{ status: number; body: unknown }> {
  const response = await caller.fetch(path, { method, ...(body !== undefined && { body }) });
  const text = await response.text();
  if (response.status >= 500) throw new Error(`${method} ${path}: ${response.status} ${text}`);
  return { status: response.status, body: text === "" ? null : (JSON.parse(text) as unknown) };
}

export async function create(path: string, body: unknown, id: string): Promise<string> {
  const { status, body: made } = await call("POST", path, body);
  if (status >= 300) throw new Error(`POST ${path}: ${status} ${JSON.stringify(made)}`);
  return String((made as Json)[id]);
}

export const said = { messages: [{ role: "user", content: "hi" }] };
export const metadata = (name: string) => ({ metadata: { [name]: 1 } });
