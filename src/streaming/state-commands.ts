/** Commands that read. */
import type * as v from "valibot";
import { selectFields } from "../http/shapes.ts";
import { toProblem } from "../lib/problem.ts";
import type { Json } from "../lib/json.ts";
import { readEvents } from "../threads/log/events.ts";
import { readStates } from "../threads/remote.ts";
import type { Run, ThreadState } from "../threads/types.ts";
import type { Answer, Commander } from "./commander.ts";
import { CommandError } from "./errors.ts";
import type * as schema from "../protocols/streaming/schema.ts";

/** `state.get`: the newest values of the thread or of one of its namespaces. */
export async function getState(
  { thread }: Commander,
  { namespace, keys }: v.InferOutput<typeof schema.StateGet>,
): Promise<Answer> {
  const ns = namespace?.join("|") ?? "";
  const state = await thread.state({ checkpoint: ns ? { checkpoint_ns: ns } : undefined }).catch(notFound);
  if (!state) throw new CommandError("no_such_run", "Nothing has run on this thread yet.");
  if (ns && !state.checkpoint?.checkpoint_id) throw new CommandError("no_such_namespace", "Nothing ran there.");
  const values = (state.values ?? {}) as Json;
  const shown = selectFields(values, keys ?? undefined);
  return {
    result: { values: shown, ...(state.checkpoint && { checkpoint: { id: state.checkpoint.checkpoint_id, ns } }) },
  };
}

/** `state.listCheckpoints`: newest first. */
export async function listCheckpoints(
  { thread }: Commander,
  { namespace, limit, before }: v.InferOutput<typeof schema.ListCheckpoints>,
): Promise<Answer> {
  const ns = namespace?.join("|");
  const checkpoint = ns ? { checkpoint_ns: ns } : undefined;
  const states = await thread.history({ limit: limit ?? 20, before: before ?? undefined, checkpoint }).catch(notFound);
  if (!states) throw new CommandError("no_such_run", "Nothing has run on this thread yet.");
  const checkpoints: Json[] = [];
  for await (const state of readStates(states)) checkpoints.push(toWireCheckpoint(state));
  return { result: { checkpoints } };
}

function toWireCheckpoint({ checkpoint, created_at, metadata }: ThreadState): Json {
  const { step } = metadata ?? {};
  return { id: checkpoint?.checkpoint_id, timestamp: created_at, step, metadata: metadata ?? {} };
}

interface Tree {
  namespace: string[];
  status: string;
  graph_name: string;
  children?: Tree[];
}

/** The run's graphs, as far as they have begun: the newest run's when none is named. */
export async function getTree(
  { thread }: Commander,
  { run_id }: v.InferOutput<typeof schema.GetTree>,
): Promise<Answer> {
  const run: Run | undefined = run_id
    ? await thread.getRun(run_id)
    : (await thread.listRuns({ limit: 1, offset: 0 }).catch(notFound))?.[0];
  const first = run && run.status !== "pending" ? await thread.firstSeq(run.run_id) : undefined;
  if (!run || first === undefined) throw new CommandError("no_such_run", "There is no such run on this thread.");
  const query = { after: first - 1, runId: run.run_id, methods: ["lifecycle" as const], replayOnly: true };
  const nodes = new Map<string, Tree>();
  const root: Tree = { namespace: [], status: "running", graph_name: "" };
  for await (const { ns, data } of readEvents(await thread.follow(query))) {
    const { event, graph_name } = data as { event: string; graph_name?: string };
    const key = ns.join("|");
    const node = ns.length === 0 ? root : (nodes.get(key) ?? { namespace: ns, status: "", graph_name: "" });
    node.status = event === "started" ? "running" : event;
    node.graph_name = graph_name ?? node.graph_name;
    if (ns.length === 0 || nodes.has(key)) continue;
    nodes.set(key, node);
    const parent = nodes.get(ns.slice(0, -1).join("|")) ?? root;
    (parent.children ??= []).push(node);
  }
  return { result: { tree: root } };
}

/** A thread that does not exist has nothing; any other error stays one. */
function notFound(error: unknown): undefined {
  if (toProblem(error).status !== 404) throw error;
  return undefined;
}
