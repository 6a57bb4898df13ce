/** Whether a stored state continues on a graph: everything that it holds and waits for must be there. */
import * as v from "valibot";
import type { GraphShape } from "../../runtime/introspect.ts";
import { readSibling } from "./graph.ts";

/** A place where a thread waits or holds values: a checkpoint of its graph, or of a nested graph that is in the middle of its work. */
export interface WaitingState {
  /** The nodes that lead to the nested graph; empty for the graph itself. */
  path: string[];
  /** The channels that hold something. */
  channels: string[];
  /** The nodes of the tasks that were sent (`Send`). */
  sends: string[];
  /** The fingerprint of the graph that wrote it; absent in checkpoints of versions before 1.1. */
  fingerprint?: string;
  /** The `version` that the graph's module exported. */
  version?: string;
}

/** One thing that a graph lacks. `path`: the nodes that lead to the nested graph where it is missing. */
export type Incompatibility = v.InferOutput<typeof Incompatibility>;
export const Incompatibility = v.object({
  kind: v.picklist(["graph", "node", "edge", "channel", "channel_kind"]),
  name: v.string(),
  path: v.array(v.string()),
  /** For `channel_kind`: the kind before and after. */
  from: v.optional(v.string()),
  to: v.optional(v.string()),
});

/** The channels through which LangGraph starts a node. */
export const TO_NODE = "branch:to:";
export const JOIN = "join:";

/**
 * What `shape` lacks to continue from `parked`. `before` is the shape of the graph that wrote it, where that is known: the kinds
 * of channels are compared then.
 */
export function findIncompatibilities(
  waiting: WaitingState,
  shape: GraphShape,
  before?: GraphShape,
): Incompatibility[] {
  const { path } = waiting;
  const graph = nestedShape(shape, path);
  // A node that is gone, and at which the nested graph works, is missing to the graph around it.
  if (!graph) return [];
  const old = before && nestedShape(before, path);
  const found = waiting.channels.flatMap((channel): Incompatibility[] => {
    const kind = graph.channels[channel];
    if (kind === undefined) return [{ ...nameChannel(channel), path }];
    const was = old?.channels[channel];
    if (was === undefined || isSameKind(was, kind)) return [];
    return [{ kind: "channel_kind", name: channel, path, from: was, to: kind }];
  });
  const sent = waiting.sends.filter((node) => !graph.nodes.includes(node));
  const gone = sent.map((name): Incompatibility => ({ kind: "node", name, path }));
  return dropDuplicates([...found, ...gone]);
}

/** A sentence for each, such as `node "ask" is gone`. */
export function describeIncompatibility({ kind, name, path, from, to }: Incompatibility): string {
  const where = path.length > 0 ? ` of the graph in "${path.join(" > ")}"` : "";
  if (kind === "channel_kind") return `channel "${name}"${where} was ${from} and is ${to}`;
  return `${kind} "${name}"${where} is gone`;
}

function nameChannel(channel: string): Pick<Incompatibility, "kind" | "name"> {
  if (channel.startsWith(TO_NODE)) return { kind: "node", name: channel.slice(TO_NODE.length) };
  if (channel.startsWith(JOIN))
    return { kind: "edge", name: channel.slice(JOIN.length).replace(/:([^:]*)$/, " -> $1") };
  return { kind: "channel", name: channel };
}

/** Undefined where the graph is not known to have such a nested graph: a node may call one from its code. */
export function nestedShape(shape: GraphShape, path: string[]): GraphShape | undefined {
  return path.reduce<GraphShape | undefined>((at, node) => at?.subgraphs[node], shape);
}

/** What one of these stores, the other reads. */
const ALIKE = [
  ["LastValue", "reducer", "messages", "LastValueAfterFinish"],
  ["EphemeralValue", "UntrackedValue"],
];

const isSameKind = (a: string, b: string): boolean =>
  a === b || ALIKE.some((kinds) => kinds.includes(a) && kinds.includes(b));

const dropDuplicates = (breaks: Incompatibility[]): Incompatibility[] => [
  ...new Map(breaks.map((one) => [JSON.stringify([one.kind, one.path, one.name]), one])).values(),
];

// What a graph's module exports for threads that an earlier version of the graph has left: `migrations` and `version`.

/** A node to run next: by its name, or with an input of its own (`Send`). */
export type NextNode = string | { node: string; input: unknown };

/** The state of a thread, as a migration gets it. */
export interface OldState {
  /** The values of the state's keys, with what ended tasks of the current step wrote. */
  values: Record<string, unknown>;
  /** The nodes that would run next, also those that the graph no longer has. */
  next: NextNode[];
  /** What the questions ask that wait for an answer. */
  questions: unknown[];
}

/** What a migration returns. What it leaves out stays as it is. */
export interface NewState {
  /** All values of the new state. */
  values?: Record<string, unknown>;
  next?: NextNode[];
}

export interface Migration {
  /** The fingerprint of the graph that wrote the state, or the `version` that its module exported. */
  from: string;
  migrate: (state: OldState) => NewState | Promise<NewState>;
}

const Migrations = v.array(
  v.object({
    from: v.string(),
    migrate: v.custom<Migration["migrate"]>((given) => typeof given === "function", "is not a function"),
  }),
);

/** What a migration may return. */
export const NewState = v.object({
  values: v.optional(v.record(v.string(), v.unknown())),
  next: v.optional(v.array(v.union([v.string(), v.object({ node: v.string(), input: v.unknown() })]))),
});

/** The migrations of a graph. Throws a TypeError when the export is not a list of them. */
export async function loadMigrations(graphId: string): Promise<Migration[]> {
  const exported = await readSibling(graphId, "migrations");
  if (exported === undefined) return [];
  const { success, output } = v.safeParse(Migrations, [exported].flat());
  if (success) return output;
  throw new TypeError(
    `The module of graph "${graphId}" exports "migrations", which must be a list of {from, migrate}.`,
  );
}

/** The migration for a state that this version of the graph left; undefined where there is none. */
export async function findMigration(graphId: string, left: Pick<WaitingState, "fingerprint" | "version">) {
  const migrations = await loadMigrations(graphId);
  return migrations.find(({ from }) => from === left.fingerprint || from === left.version);
}

export async function loadVersion(graphId: string): Promise<string | undefined> {
  const version = await readSibling(graphId, "version");
  return typeof version === "string" || typeof version === "number" ? String(version) : undefined;
}
