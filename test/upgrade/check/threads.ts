/** Checks threads of an older release: idle ones read as before and take new runs, interrupted ones resume. */
import { expect } from "vitest";
import { type Api, human, waitUntil } from "../../support/api.ts";
import { classicLog, digest } from "../log.ts";
import type { Threads } from "../manifest.ts";
import { listRuns, snapshot, type ThreadSnapshot } from "../snapshot.ts";

interface State {
  values: { messages: { type: string; content: string }[]; sent?: { to: string }[] };
  next: string[];
}

const readState = (api: Api, thread: string) => api.get<State>(`/threads/${thread}/state`);

/** The sequence numbers of a run's events. */
async function listEventIds(api: Api, thread: string, run: string): Promise<number[]> {
  return (await classicLog(api, thread, run)).map(({ id }) => Number(id));
}

/** The thread is unchanged and takes another turn. */
export async function expectAtRest(api: Api, known: ThreadSnapshot): Promise<void> {
  const { thread, what } = known;
  const now = await snapshot(api, what, thread);
  // The streaming protocol shows events in another form since the state was made. Their number and texts are the same.
  const log = known.log && { ...known.log, digest: now.log?.digest };
  expect(now).toEqual({ ...known, log });
  const last = known.runs.count === 0 ? 0 : Math.max(...(await listEventIds(api, thread, known.runs.newest)));
  await api.post(`/threads/${thread}/runs/wait`, { assistant_id: "echo", input: human("after the upgrade") });
  const { values, next } = await readState(api, thread);
  expect(next).toEqual([]);
  expect(values.messages.slice(known.state.messages).map(({ content }) => content)).toEqual([
    "after the upgrade",
    "You said: after the upgrade",
  ]);
  const runs = await listRuns(api, thread);
  expect(runs.map(({ run_id }) => run_id).slice(1, 2)).toEqual(known.runs.count === 0 ? [] : [known.runs.newest]);
  expect(runs).toHaveLength(known.runs.count + 1);
  expect(Math.min(...(await listEventIds(api, thread, runs[0]?.run_id ?? "")))).toBeGreaterThan(last);
}

export async function expectMiddle(api: Api, { thread, checkpoint, values }: Threads["middle"]): Promise<void> {
  expect(digest((await api.get<State>(`/threads/${thread}/state/${checkpoint}`)).values)).toBe(values);
}

const APPROVE = { decisions: [{ type: "approve" }] };

/** The interrupted thread resumes and completes. */
export async function expectAnswered(api: Api, { by, thread, interrupt }: Threads["waiting"][number]): Promise<void> {
  const respond = () =>
    api.post<{ type: string }>(`/threads/${thread}/commands`, {
      id: 1,
      method: "input.respond",
      params: { namespace: [], interrupt_id: interrupt, response: APPROVE },
    });
  if (by === "command") {
    expect(await respond()).toMatchObject({ type: "success" });
  } else {
    await api.post(`/threads/${thread}/runs/wait`, { assistant_id: "approval", command: { resume: APPROVE } });
  }
  const state = await waitUntil("the mail is sent", 30, async () => {
    const found = await readState(api, thread);
    return found.next.length === 0 ? found : undefined;
  });
  expect(state.values.sent?.map(({ to }) => to)).toEqual(["ada@example.com"]);
  expect(state.values.messages.map(({ type }) => type)).toEqual(["human", "ai", "tool", "ai"]);
}

/** A TTL keeps its expiry time. An expired thread is deleted by its alarm. */
export async function expectLifetimes(api: Api, { lasting, expired, kept }: Threads): Promise<void> {
  const shown = await api.get<{ ttl: object }>(`/threads/${lasting.thread}?include=ttl`);
  expect(shown.ttl).toMatchObject({ strategy: "delete", expires_at: lasting.expires_at });
  const checkListed = async () => {
    const found = await api.post<object[]>("/threads/search", { ids: [expired], select: ["thread_id"] });
    return found.length === 0 ? "gone" : undefined;
  };
  expect(await waitUntil("the expired thread is gone", 90, checkListed)).toBe("gone");
  expect((await api.send("GET", `/threads/${expired}`)).status).toBe(404);
  const { values } = await readState(api, kept);
  expect(values.messages.map(({ content }) => content)).toEqual(["alone", "You said: alone"]);
}
