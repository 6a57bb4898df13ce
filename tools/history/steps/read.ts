/** Requests that read. */
import type { ThreadState } from "@langchain/langgraph-sdk";
import { AUDITOR, type Of, type RunSeen, type StateSeen } from "../record.ts";
import { readStatus } from "../recorder.ts";
import { toShown, textsIn } from "../shown.ts";
import type { KnownRun, Step } from "../world.ts";

function stateSeen({ values, tasks, checkpoint, parent_checkpoint, metadata, next }: ThreadState): StateSeen {
  const { run_id, source } = (metadata ?? {}) as { run_id?: string; source?: string };
  return {
    ...toShown(values, tasks),
    ...(checkpoint?.checkpoint_id && { checkpoint: checkpoint.checkpoint_id }),
    ...(parent_checkpoint?.checkpoint_id && { parent: parent_checkpoint.checkpoint_id }),
    ...(run_id && { run: run_id }),
    ...(source && { source }),
    next: next ?? [],
  };
}

interface WireRun {
  run_id: string;
  status: string;
  metadata?: unknown;
}

const runSeen = ({ run_id, status, metadata }: WireRun): RunSeen => ({
  run: run_id,
  status,
  text: textsIn(JSON.stringify(metadata ?? {}))[0],
});

export async function readState({ world, client, place: { id } }: Step, thread = id): Promise<Of<"state">> {
  return world.recorder.record(client, "state", { thread }, async (operation) => {
    operation.state = stateSeen(await world.recorder.sdk.threads.getState(thread));
  });
}

export async function readHistory({ world, client, place }: Step, limit: number): Promise<void> {
  const given = { thread: place.id, states: [], complete: false };
  await world.recorder.record(client, "history", given, async (operation) => {
    const states = await world.recorder.sdk.threads.getHistory(place.id, { limit });
    Object.assign(operation, { states: states.map(stateSeen), complete: states.length < limit });
  });
}

export async function readThread({ world, client, place }: Step): Promise<Of<"thread">> {
  return world.recorder.record(client, "thread", { thread: place.id }, async (operation) => {
    const { status, values } = await world.recorder.sdk.threads.get(place.id);
    operation.seen = { thread: place.id, status, ...(values && { values: toShown(values) }) };
  });
}

/** Searches for the threads of the round. */
export async function search({ world, client }: Step): Promise<Of<"search">> {
  return world.recorder.record(client, "search", { thread: "", found: [] }, async (operation) => {
    const threads = await world.recorder.sdk.threads.search({ metadata: { mark: world.mark }, limit: 100 });
    operation.found = threads.map(({ thread_id, status, values }) => ({
      thread: thread_id,
      status,
      ...(values && { values: toShown(values) }),
    }));
  });
}

/** Reads one run. That there is none is an answer, too. */
export async function readRun({ world, client, place }: Step, { id }: KnownRun): Promise<void> {
  await world.recorder.record(client, "run", { thread: place.id, run: id }, async (operation) => {
    try {
      operation.seen = runSeen(await world.recorder.sdk.runs.get(place.id, id));
    } catch (error) {
      if (readStatus(error) !== 404) throw error;
    }
  });
}

/** Lists the runs of the thread: the newest ones, unless the list is complete. */
export async function listRuns({ world, client, place }: Step): Promise<Of<"runs">> {
  const limit = client === AUDITOR ? 1_000 : 100;
  return world.recorder.record(client, "runs", { thread: place.id, runs: [], complete: false }, async (operation) => {
    const runs = await world.recorder.sdk.runs.list(place.id, { limit });
    Object.assign(operation, { runs: runs.map(runSeen), complete: runs.length < limit });
  });
}

export async function joinRun({ world, client, place }: Step, { id }: KnownRun): Promise<void> {
  await world.recorder.record(client, "join", { thread: place.id, run: id }, async (operation) => {
    operation.values = toShown(await world.recorder.sdk.runs.join(place.id, id));
  });
}
