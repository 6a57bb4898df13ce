/** What a graph's module exports for threads that an earlier version of the graph has left: `migrations` and `version`. */
import * as v from "valibot";
import type { Parked } from "../agents/graphs/continuity.ts";
import { readSibling } from "../agents/graphs/graph.ts";

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
export async function findMigration(graphId: string, left: Pick<Parked, "fingerprint" | "version">) {
  const migrations = await loadMigrations(graphId);
  return migrations.find(({ from }) => from === left.fingerprint || from === left.version);
}

export async function loadVersion(graphId: string): Promise<string | undefined> {
  const version = await readSibling(graphId, "version");
  return typeof version === "string" || typeof version === "number" ? String(version) : undefined;
}
