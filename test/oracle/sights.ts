/** What is visible of a case's thread over HTTP, in the words of the model. */
import { runInDurableObject } from "cloudflare:test";
import { defaultAssistantId } from "../../src/agents/assistants/defaults.ts";
import type { ThreadRpc } from "../../src/threads/rpc.ts";
import type { Event } from "../protocols/streaming/client.ts";
import { sseEvents, type SseEvent } from "../support/sse.ts";
import { Connection } from "./connection.ts";
import { limitTime } from "./patience.ts";
import { listAsks, compareText, readFrames, toValues } from "./views.ts";

const MINUTE = 60_000;
const isNear = (a: number, b: number): boolean => Math.abs(a - b) < 10 * MINUTE;

interface WireThread {
  status: string;
  values: unknown;
  interrupts: Record<string, { value: unknown }[]>;
  metadata: { graph_id?: string };
  ttl?: { strategy: string; ttl_minutes: number; expires_at: string };
}

interface Task {
  id: string;
  name: string;
  interrupts: { value: unknown }[];
}

/** A run in a list of runs. */
export const formatRun = (name: string, status: string, other?: string): string =>
  `${name} ${status}${other === undefined ? "" : " of another assistant"}`;

export class Sights extends Connection {
  /** The events that a reader of the streaming protocol has seen, and the frames that readers of runs have. */
  transcript: Event[] | undefined;
  readonly transcripts = new Map<string, SseEvent[]>();
  /** The questions by their tasks, as the thread and as its state show them. */
  readonly asked: { thread: unknown; state: unknown } = { thread: {}, state: {} };

  /** The thread. A lifetime that is near `left` milliseconds is shown as `left`: the case itself takes time. */
  async thread(left = 0): Promise<unknown> {
    const thread = await this.json<WireThread>(`${this.path}?include=ttl`);
    if (typeof thread === "number") return thread;
    const { status, values, interrupts, ttl, metadata } = thread;
    this.asked.thread = interrupts;
    const real = ttl && Date.parse(ttl.expires_at) - Date.now();
    return {
      status,
      graph: metadata.graph_id === this.graphId ? "own" : "other",
      values: toValues(values),
      asks: listAsks(interrupts),
      ttl: ttl && { strategy: ttl.strategy, ms: ttl.ttl_minutes * MINUTE, left: isNear(real ?? 0, left) ? left : real },
    };
  }

  async state(): Promise<unknown> {
    const state = await this.json<{ values: unknown; next: string[]; tasks: Task[] }>(`${this.path}/state`);
    if (typeof state === "number") return state;
    const asking = state.tasks.filter(({ interrupts }) => interrupts.length > 0);
    this.asked.state = Object.fromEntries(asking.map(({ id, interrupts }) => [id, interrupts]));
    const asks = state.tasks
      .flatMap(({ interrupts }) => interrupts.map(({ value }) => String(value)))
      .sort(compareText);
    return { values: toValues(state.values), next: state.next.sort(compareText), asks };
  }

  async history(): Promise<unknown> {
    const states = await this.json<{ values: unknown; next: string[]; metadata: { source: string; step: number } }[]>(
      `${this.path}/history?limit=100`,
    );
    if (typeof states === "number") return states;
    return states.map(({ values, next, metadata: { source, step } }) => {
      const { log, said, doc } = toValues(values);
      return { source, step, next: next.sort(), log: log.join(), said: [said.length, said.at(-1)], doc };
    });
  }

  /** The address of a checkpoint, by its place in the history. */
  async checkpoint(place: number): Promise<unknown> {
    const states = await this.json<{ checkpoint: unknown }[]>(`${this.path}/history?limit=100`);
    return typeof states === "number" ? states : states[place]?.checkpoint;
  }

  async runs(): Promise<unknown> {
    const runs = await this.json<{ run_id: string; status: string; assistant_id: string }[]>(
      `${this.path}/runs?limit=100`,
    );
    if (typeof runs === "number") return runs;
    const names = new Map([...this.ids].map(([name, id]) => [id, name]));
    const own = defaultAssistantId(this.graphId);
    return runs
      .map(({ run_id, status, assistant_id: assistant }) =>
        formatRun(names.get(run_id) ?? "unknown", status, assistant === own ? undefined : assistant),
      )
      .sort();
  }

  async found(): Promise<unknown> {
    const found = await this.json<{ status: string; values: unknown }[]>("/threads/search", {
      body: { ids: [this.threadId] },
    });
    if (typeof found === "number") return found;
    return found.map(({ status, values }) => ({ status, values: toValues(values) }));
  }

  /** Every event of the streaming protocol after a number, to that of the last event, which `lastEnd` gives. */
  async events(since: number, last: number): Promise<Event[]> {
    if (last <= since) return [];
    const channels = ["values", "messages", "lifecycle", "tasks", "updates", "checkpoints", "input"];
    const response = await this.call(`${this.path}/stream/events`, { body: { channels, since } });
    if (!response.ok) throw new Error(`the protocol's stream answers ${response.status}`);
    const read = async () => {
      const got: Event[] = [];
      for await (const { data } of sseEvents(response)) {
        got.push(data as Event);
        if ((data as Event).seq >= last) break;
      }
      return got;
    };
    return limitTime("the protocol's stream", read());
  }

  /** The number of the last event of a log at rest: the end of a run. 0 for a log without events. */
  async lastEnd(): Promise<number> {
    return runInDurableObject(this.stub, async (thread) => {
      const lines = await (thread as unknown as ThreadRpc).follow({
        after: 0,
        methods: ["lifecycle"],
        replayOnly: true,
      });
      const text = await limitTime("the replay of the log", new Response(lines).text());
      const ends = [...text.matchAll(/"seq":(\d+)/g)].map(([, seq]) => Number(seq));
      return Math.max(0, ...ends);
    });
  }

  async frames(name: string, after = "-1"): Promise<SseEvent[]> {
    const path = `${this.path}/runs/${this.ids.get(name)}/stream?stream_mode=messages-tuple&stream_mode=values`;
    const response = await this.call(path, { headers: { "last-event-id": after } });
    return response.ok ? limitTime(`the stream of ${name}`, readFrames(response)) : [];
  }
}
