/** Checks work that was in progress when the older release was killed. */
import { expect } from "vitest";
import type { Receiver } from "../../support/receiver.ts";
import { expectNothingTwice } from "../../support/run-events.ts";
import { type Api, waitUntil } from "../../support/api.ts";
import { classicLog, summarizeEvents } from "../log.ts";
import { a2aCall, a2aMessage } from "../make/in-flight.ts";
import type { A2aTasks, CutRun, Threads } from "../manifest.ts";
import { listRuns } from "../snapshot.ts";

/** Every open run ends by the alarm of its thread. The search reads the index only, so it does not start an object. */
export async function expectAllEnd(api: Api, { cut, queued }: Threads): Promise<void> {
  const ids = [...cut, ...queued].map(({ thread }) => thread);
  const statuses = async () => {
    const found = await api.post<{ status: string }[]>("/threads/search", {
      ids,
      limit: 1_000,
      select: ["thread_id", "status"],
    });
    return found.map(({ status }) => status);
  };
  const end = async () => {
    const found = await statuses();
    return found.includes("busy") ? undefined : found;
  };
  expect(await waitUntil("every run has ended", 90, end)).toEqual(ids.map(() => "idle"));
}

interface State {
  values: { messages: { type: string }[] };
}

/** A reader that sends its last event id gets exactly the remaining events. The log starts with the events it already had. */
export async function expectWhole(api: Api, { thread, run, nodes, seen: before }: CutRun): Promise<void> {
  const whole = await classicLog(api, thread, run);
  expect(summarizeEvents(whole.slice(0, before.count))).toEqual(before);
  const rest = await classicLog(api, thread, run, before.last_id);
  expect(rest).toEqual(whole.slice(before.count));
  expect(rest.length).toBeGreaterThan(0);
  const ids = whole.map(({ id }) => Number(id));
  expect(ids).toEqual([...ids].sort((a, b) => a - b));
  expectNothingTwice(whole, nodes);
  const { status } = await api.get<{ status: string }>(`/threads/${thread}/runs/${run}`);
  expect(status).toBe("success");
  const { values } = await api.get<State>(`/threads/${thread}/state`);
  const types = nodes.map((node) => (node === "tools" ? "tool" : "ai"));
  expect(values.messages.map(({ type }) => type)).toEqual(["human", ...types]);
}

/** Queued runs have run in order. */
export async function expectInOrder(api: Api, { thread, runs, messages }: Threads["queued"][number]): Promise<void> {
  const listed = (await listRuns(api, thread)).toReversed();
  expect(listed.map(({ run_id, status }) => [run_id, status])).toEqual(runs.map((id) => [id, "success"]));
  const state = await api.get<State>(`/threads/${thread}/state`);
  expect(state.values.messages.map(({ type }) => type)).toEqual(
    Array.from({ length: messages }, (_, n) => (n % 2 === 0 ? "human" : "ai")),
  );
}

/** A stateless run ends, and its thread is deleted. `expectTraced` checks that the run completed. */
export async function expectStateless(api: Api, { stateless }: Threads): Promise<void> {
  const isGone = async () => (await api.send("GET", `/threads/${stateless}`)).status === 404 || undefined;
  expect(await waitUntil("the stateless run has ended", 60, isGone)).toBe(true);
}

/** The outbox of the older release is delivered: the webhook and the push notification. */
export async function expectDelivered({ webhook }: Threads, { task }: A2aTasks["waiting"], to: Receiver) {
  const listReceived = (path: string) => to.received.filter((one) => one.path === path);
  await expect
    .poll(() => listReceived("/webhook").length + listReceived("/task").length, { timeout: 90_000 })
    .toBeGreaterThanOrEqual(2);
  const [hook] = listReceived("/webhook");
  expect(hook?.body).toMatchObject({ run_id: webhook.run, thread_id: webhook.thread, status: "success" });
  // The workspace has no signing secret.
  expect(hook?.headers["weir-delivery"]).toBe(hook?.body.delivery_id);
  expect(hook?.headers["weir-signature"]).toBeUndefined();
  const [pushed] = listReceived("/task");
  expect(pushed?.headers["x-a2a-notification-token"]).toBe("of the fixture");
  expect(pushed?.body.task).toMatchObject({ id: task, status: { state: "TASK_STATE_INPUT_REQUIRED" } });
}

interface Task {
  id: string;
  status: { state: string };
  artifacts?: { parts: { text?: string }[] }[];
}

export async function expectTasks(api: Api, { waiting, cut }: A2aTasks): Promise<void> {
  const get = (agent: string, id: string) => a2aCall<Task>(api, agent, "GetTask", { id });
  expect((await get("approval", waiting.task)).status.state).toBe("TASK_STATE_INPUT_REQUIRED");
  const answer = a2aMessage("approve", { taskId: waiting.task, contextId: waiting.context });
  const { task } = await a2aCall<{ task: Task }>(api, "approval", "SendMessage", answer);
  expect([task.id, task.status.state]).toEqual([waiting.task, "TASK_STATE_COMPLETED"]);
  const done = await waitUntil("the task at work has ended", 60, async () => {
    const found = await get("agent", cut.task);
    return found.status.state === "TASK_STATE_WORKING" ? undefined : found;
  });
  expect(done.status.state).toBe("TASK_STATE_COMPLETED");
  const texts = (done.artifacts ?? []).map(({ parts }) => parts.map(({ text }) => text ?? "").join(""));
  expect(texts.join("\n")).toMatch(new RegExp(`\\b${cut.ends_with}\\b`));
}
