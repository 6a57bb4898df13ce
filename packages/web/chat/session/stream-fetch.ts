/** The stream's `fetch`. It keeps the server from replaying what the page has read as the thread's state. */
import { authFetch } from "../../api/http.ts";
import { forgetState, readState } from "../../api/state.ts";
import type { Connections } from "./transport.ts";

interface Filter {
  channels: string[];
  namespaces?: unknown[][];
  depth?: number;
  since?: number;
}

/** The newest run of a thread, if it has one. */
export interface NewestRun {
  id: string | undefined;
  /** It has not ended. */
  open: boolean;
}

/** The state has what a run that has ended left. Its messages may be of a branch that was abandoned since. */
const startAt = ({ id, open }: NewestRun) => (id === undefined ? {} : open ? { since_run: id } : { after_run: id });

/** The client watches the runs of subagents, and what they ask, by a subscription of its own. */
const isWatch = ({ channels, namespaces }: Filter) => channels.join() === "lifecycle,input" && namespaces === undefined;

/** Of the thread itself, not of a subagent. */
const ofRoot = ({ namespaces = [] }: Filter) => namespaces.every((namespace) => namespace.length === 0);

/**
 * The client subscribes without a cursor and reads the thread's events from the first one, at each reconnect again. Here a
 * subscription starts at the run in progress or after the newest one of when the thread was opened, and a repeated one after
 * its last event. A subscription to a subagent (`namespaces`) still reads from the beginning: its run may be any of the thread's.
 * One connection has the events of all namespaces: the client gives them to the subscriptions that want them, and the one that
 * watches gets none.
 */
export function streamFetch(newest: NewestRun, connections: Connections): typeof fetch {
  let run = newest;
  /** Whether the thread has called any. */
  let subagents: boolean | undefined;
  const seen = new Map<string, string>();
  return async (input, init) => {
    const path = new URL(input instanceof Request ? input.url : input, location.origin).pathname;
    if (path.endsWith("/stream/events") && typeof init?.body === "string") {
      const { body } = init;
      const filter = JSON.parse(body) as Filter;
      if (isWatch(filter))
        return new Response(openUntil(init.signal), { headers: { "content-type": "text/event-stream" } });
      const { namespaces: _namespaces, depth: _depth, ...all } = filter;
      const first = filter.since !== undefined || !ofRoot(filter) ? {} : startAt(run);
      const ask = (signal: AbortSignal) => {
        const last = seen.get(body);
        const from = last === undefined ? first : { since_event_id: last };
        return authFetch(input, { ...init, signal, body: JSON.stringify({ ...all, ...from }) });
      };
      return connections.open(ask, (id) => seen.set(body, id), init.signal ?? undefined);
    }
    const state = /\/threads\/([^/]+)\/state$/.exec(path)?.[1];
    if (state !== undefined && (init?.method ?? "GET") === "GET") {
      const read = await readState(state);
      subagents = (read?.values?.messages ?? []).some(({ tool_calls = [] }) =>
        tool_calls.some(({ name }) => name === "task"),
      );
      return read ? Response.json(read) : new Response(null, { status: 404 });
    }
    // The client looks for subagents in 20 states with all their values.
    if (path.endsWith("/history") && subagents === false) return Response.json([]);
    const answer = await authFetch(input, init);
    const commanded = /\/threads\/([^/]+)\/commands$/.exec(path)?.[1];
    if (commanded === undefined) return answer;
    forgetState(commanded);
    const started = answer.ok ? await startedRun(answer.clone()) : undefined;
    if (started !== undefined) run = { id: started, open: true };
    return answer;
  };
}

/** The answer to a command that started a run names it. */
async function startedRun(answer: Response): Promise<string | undefined> {
  const { result } = (await answer.json()) as { result?: { run_id?: unknown } };
  return typeof result?.run_id === "string" ? result.run_id : undefined;
}

/** A body without events, which fails as that of a request does when `signal` aborts. */
const openUntil = (signal: AbortSignal | null | undefined) =>
  new ReadableStream({
    start: (controller) => signal?.addEventListener("abort", () => controller.error(signal.reason), { once: true }),
  });
