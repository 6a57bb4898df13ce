/** What the log of a run says already: for a run that starts again after a crash, and for readers that name a checkpoint. */
import { canonical } from "./canonical.ts";
import type { StoredEvent } from "./segments.ts";
import type { Tables } from "../store/tables.ts";
import type { Refs } from "./values.ts";

/** What a run's log contains from before a crash. */
export interface PriorAttempt {
  /** Updates since each graph's last state: namespace, a blank, and the data (`canonical`). */
  updates: Set<string>;
  /** The tasks whose result it has. */
  finished: Set<string>;
  /** The names of the tasks that began and have no result: where the process stopped. */
  inFlight: string[];
  /** The root state after its last step. */
  values?: Refs;
}

/** What the log has of a run that starts again. `from` is the run's first sequence number. */
export function readPriorAttempt(tables: Tables, from: number, runId: string): PriorAttempt {
  const updates = new Map<string, Set<string>>();
  const finished = new Set<string>();
  const began = new Map<string, string>();
  let values: Refs | undefined;
  for (const { run, method, ns, data } of eventsFrom(tables, from)) {
    if (run !== runId) continue;
    const graph = ns.join("|");
    if (method === "values") updates.delete(graph);
    if (method === "values" && ns.length === 0) values = (data?.$v as Refs | undefined) ?? values;
    if (method === "updates") updates.set(graph, (updates.get(graph) ?? new Set()).add(`${graph} ${canonical(data)}`));
    if (method !== "tasks" || !data) continue;
    const { id, name } = (data.$t ?? data) as { id: string; name: string };
    if ("result" in data) finished.add(id);
    if ("result" in data || "error" in data) began.delete(id);
    else began.set(id, name);
  }
  const inFlight = [...began.values()];
  return { updates: new Set([...updates.values()].flatMap((prior) => [...prior])), finished, inFlight, values };
}

/** The sequence number of the root `values` event that follows this checkpoint's envelope. */
export function seqOfCheckpoint(tables: Tables, from: number, checkpointId: string): number | undefined {
  let found = false;
  for (const { seq, ns, method, data } of eventsFrom(tables, from)) {
    if (ns.length > 0) continue;
    if (found && method === "values") return seq;
    if (method === "checkpoints") found = data?.id === checkpointId;
  }
  return undefined;
}

function* eventsFrom(tables: Tables, from: number): Generator<StoredEvent, void, void> {
  for (const row of tables.eventsAfter(from - 1)) {
    for (const event of JSON.parse(row.events) as StoredEvent[]) if (event.seq >= from) yield event;
  }
}
