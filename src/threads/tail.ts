/** Readers of the log: what is there, in order, and then what comes. */
import { canonical } from "./canonical.ts";
import type { EventMethod, TailQuery } from "./events.ts";
import type { Journal } from "./journal.ts";
import type { RecentEvent } from "./recent.ts";
import type { SegmentRow, Tables } from "./tables.ts";
import type { Refs, Values } from "./values.ts";

interface Stored {
  seq: number;
  run: string;
  method: EventMethod;
  meta?: number;
  refs?: boolean;
  data: Record<string, unknown> | null;
}

export interface TailSource {
  tables: Tables;
  journal: Journal;
  values: Values;
  /** Whether everything about this run has been written and made known. */
  settled(runId: string): boolean;
}

/** The log as lines of JSON. `onLeave` runs when the reader goes before the end. */
export function tail(source: TailSource, query: TailQuery, onLeave: () => void): ReadableStream<Uint8Array> {
  const { journal } = source;
  const encoder = new TextEncoder();
  let cursor = query.after;
  let wake: (() => void) | undefined;
  let left = false;
  const unfollow = journal.follow(() => wake?.());
  const ended = () => (query.replayOnly ? true : query.runId !== undefined && source.settled(query.runId));
  const leave = (controller: ReadableStreamDefaultController<Uint8Array>) => {
    unfollow();
    controller.close();
  };
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      for (;;) {
        if (journal.ended) return leave(controller);
        // Asked before reading: what was written before it was settled is then surely read.
        const over = ended();
        const { lines, last } = read(source, cursor, query);
        cursor = last;
        if (lines.length > 0) return controller.enqueue(encoder.encode(`${lines.join("\n")}\n`));
        if (left) return;
        if (cursor < journal.visible) continue;
        if (over) return leave(controller);
        await new Promise<void>((resolve) => (wake = resolve));
      }
    },
    cancel() {
      left = true;
      unfollow();
      wake?.();
      onLeave();
    },
  });
}

/** What a run's log has told before a crash. */
export interface Told {
  /** Updates since each graph's last state: namespace, a blank, and the data (`canonical`). */
  updates: Set<string>;
  /** The tasks whose result it has. */
  finished: Set<string>;
}

/** What the log has of a run that starts again. `from` is the run's first sequence number. */
export function toldBefore(tables: Tables, from: number, runId: string): Told {
  const updates = new Map<string, Set<string>>();
  const finished = new Set<string>();
  for (let cursor = from - 1; ;) {
    const rows = tables.segmentsAfter(cursor, 16);
    const last = rows.at(-1);
    if (!last) return { updates: new Set([...updates.values()].flatMap((told) => [...told])), finished };
    for (const { seq, run, method, ns, data } of rows.flatMap(
      (row) => JSON.parse(row.events) as (Stored & { ns: string[] })[],
    )) {
      const graph = ns.join("|");
      if (seq <= cursor || run !== runId) continue;
      if (method === "values") updates.delete(graph);
      if (method === "tasks" && data && "result" in data) finished.add(String(data.id));
      if (method === "updates")
        updates.set(graph, (updates.get(graph) ?? new Set()).add(`${graph} ${canonical(data)}`));
    }
    cursor = last.last_seq;
  }
}

/** The sequence number of the root `values` event that follows this checkpoint's envelope. */
export function seqOfCheckpoint(tables: Tables, from: number, checkpointId: string): number | undefined {
  let cursor = from - 1;
  let found = false;
  for (;;) {
    const rows = tables.segmentsAfter(cursor, 16);
    const last = rows.at(-1);
    if (!last) return undefined;
    for (const event of rows.flatMap((row) => JSON.parse(row.events) as (Stored & { ns: string[] })[])) {
      if (event.seq <= cursor || event.ns.length > 0) continue;
      if (found && event.method === "values") return event.seq;
      if (event.method === "checkpoints") found = event.data?.id === checkpointId;
    }
    cursor = last.last_seq;
  }
}

/** The lines of the next events after `cursor` that the query asks for, and how far they reach. */
function read(source: TailSource, cursor: number, query: TailQuery): { lines: string[]; last: number } {
  const { tables, journal, values } = source;
  const { visible, recent } = journal;
  const wanted = ({ seq, run, method }: Pick<Stored, "seq" | "run" | "method">) =>
    seq > cursor &&
    seq <= visible &&
    (query.runId === undefined || run === query.runId) &&
    (query.methods?.includes(method) ?? true);
  const latest = recent.after(cursor, visible);
  if (latest) {
    const lines = latest.filter(wanted).map((event) => recent.line(event, () => lineOf(event, values)));
    return { lines, last: latest.at(-1)?.seq ?? cursor };
  }
  const rows = tables.segmentsAfter(cursor, 16);
  const lines = rows.flatMap((row) =>
    (JSON.parse(row.events) as Stored[]).filter(wanted).map((event) => storedLine(event, row, values)),
  );
  return { lines, last: Math.min(rows.at(-1)?.last_seq ?? cursor, visible) };
}

function lineOf({ head, meta, data, refs }: RecentEvent, values: Values): string {
  return line(head, meta, refs ? whole(JSON.parse(data) as Record<string, unknown>, values) : data);
}

function storedLine({ meta, data, refs, ...rest }: Stored, row: SegmentRow, values: Values): string {
  const metadata = meta === undefined ? undefined : JSON.stringify((JSON.parse(row.metas) as unknown[])[meta]);
  return line(JSON.stringify(rest).slice(0, -1), metadata, refs ? whole(data ?? {}, values) : JSON.stringify(data));
}

function line(head: string, meta: string | undefined, data: string): string {
  return `${head}${meta === undefined ? "" : `,"meta":${meta}`},"data":${data}}`;
}

/** The event's data with what it refers to put back in, as JSON. */
function whole(data: Record<string, unknown>, values: Values): string {
  if (typeof data.$b === "string") return values.readBlob(data.$b);
  if ("$x" in data) return values.flat(data.$x as Refs[string]);
  const state = values.flatAll(data.$v as Refs);
  if (!("$t" in data)) return state;
  return `${JSON.stringify(data.$t).slice(0, -1)},"input":${state}}`;
}
