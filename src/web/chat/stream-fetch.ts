/** The stream's `fetch`. It keeps the server from replaying what the page has read as the thread's state. */
import { authFetch } from "../api/http.ts";
import { forgetState, readState } from "../api/state.ts";

interface Filter {
  namespaces?: unknown[][];
  since?: number;
}

/** Of the thread itself, not of a subagent. */
const ofRoot = ({ namespaces = [] }: Filter) => namespaces.every((namespace) => namespace.length === 0);

/**
 * The client subscribes without a cursor and reads the thread's events from the first one, at each reconnect again. Here a
 * subscription starts at the newest run of when the thread was opened, and a repeated one after its last event.
 * A subscription to a subagent (`namespaces`) still reads from the beginning: its run may be any of the thread's.
 */
export function streamFetch(newestRun: string | undefined): typeof fetch {
  let run = newestRun;
  /** Whether the thread has called any. */
  let subagents: boolean | undefined;
  const seen = new Map<string, string>();
  return async (input, init) => {
    const path = new URL(input instanceof Request ? input.url : input, location.origin).pathname;
    if (path.endsWith("/stream/events") && typeof init?.body === "string") {
      const { body } = init;
      const filter = JSON.parse(body) as Filter;
      const last = seen.get(body);
      const first = run === undefined || filter.since !== undefined || !ofRoot(filter) ? {} : { since_run: run };
      const from = last === undefined ? first : { since_event_id: last };
      const answer = await authFetch(input, { ...init, body: JSON.stringify({ ...filter, ...from }) });
      return noting(answer, (id) => seen.set(body, id));
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
    if (answer.ok) run = (await startedRun(answer.clone())) ?? run;
    return answer;
  };
}

/** The answer to a command that started a run names it. */
async function startedRun(answer: Response): Promise<string | undefined> {
  const { result } = (await answer.json()) as { result?: { run_id?: unknown } };
  return typeof result?.run_id === "string" ? result.run_id : undefined;
}

/** Passes a stream of events on, and gives the id of each event that went by. */
function noting(answer: Response, note: (id: string) => void): Response {
  if (!answer.ok || !answer.body) return answer;
  const decoder = new TextDecoder();
  let rest = "";
  const body = answer.body.pipeThrough(
    new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, controller) {
        const text = rest + decoder.decode(chunk, { stream: true });
        const end = text.lastIndexOf("\n\n");
        rest = text.slice(end + 1);
        const id = end < 0 ? undefined : /^id: ?(.+)$/m.exec(text.slice(text.lastIndexOf("\nid:", end) + 1))?.[1];
        controller.enqueue(chunk);
        if (id) note(id);
      },
    }),
  );
  return new Response(body, { status: answer.status, headers: answer.headers });
}
