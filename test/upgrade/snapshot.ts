/** An idle thread as clients see it. The fixture and the test use the same function, so equal snapshots mean equal answers. */
import type { Api } from "../support/api.ts";
import { classicLog, digest, type Folded, foldEvents, protocolLog } from "./log.ts";

interface Run {
  run_id: string;
  status: string;
}

interface State {
  values: Record<string, unknown>;
  next: string[];
  checkpoint: { checkpoint_id: string };
}

export interface ThreadSnapshot {
  what: string;
  thread: string;
  status: string;
  metadata: string;
  /** Newest first. */
  runs: { count: number; newest: string; digest: string };
  state: { checkpoint: string; next: string[]; values: string; messages: number };
  /** The newest ten checkpoints. */
  history: string;
  /** The streaming protocol's log of all runs. Null when the thread has no run. */
  log: Folded | null;
  /** The classic stream of the newest run. */
  classic: Folded | null;
}

/** Every run of a thread, newest first. */
export async function listRuns(api: Api, thread: string): Promise<Run[]> {
  return api.get(`/threads/${thread}/runs?limit=1000`);
}

export async function snapshot(api: Api, what: string, thread: string): Promise<ThreadSnapshot> {
  const record = await api.get<{ status: string; metadata: object }>(`/threads/${thread}`);
  const runs = (await listRuns(api, thread)).map(({ run_id, status }) => [run_id, status]);
  const newest = runs[0]?.[0];
  const state = await api.get<State>(`/threads/${thread}/state`);
  const history = await api.get<State[]>(`/threads/${thread}/history?limit=10`);
  return {
    what,
    thread,
    status: record.status,
    metadata: digest(record.metadata),
    runs: { count: runs.length, newest: newest ?? "", digest: digest(runs) },
    state: {
      checkpoint: state.checkpoint.checkpoint_id,
      next: state.next,
      values: digest(state.values),
      messages: (state.values.messages as unknown[] | undefined)?.length ?? 0,
    },
    history: digest(history.map(({ checkpoint, values, next }) => [checkpoint.checkpoint_id, values, next])),
    log: newest === undefined ? null : foldEvents(await protocolLog(api, thread, newest)),
    classic: newest === undefined ? null : foldEvents(await classicLog(api, thread, newest)),
  };
}
