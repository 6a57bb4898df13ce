/** Reads the messages of runs, traces and threads from their inputs and outputs. */
import { parseJson } from "../../lib/json.ts";
import { openBlobs } from "../../access/encryption/blobs.ts";
import { Problem } from "../../lib/problem.ts";
import type { RunSelection } from "../rpc.ts";
import type { LargeField, QueriedRun, RunPosition } from "../types.ts";
import { payloadText } from "./responses.ts";
import { findRuns } from "./find.ts";
import { append, joinCall, type Message, messagesIn } from "./messages/said.ts";

const FIELDS: LargeField[] = ["inputs", "outputs"];
/** The most characters of inputs and outputs that are read for one answer. */
const MOST = 16 * 1024 * 1024;
/** Runs of one page. */
const PAGE = 100;
/** The most runs whose messages are read for one answer. */
const MOST_RUNS = 1_000;

export interface Whose {
  workspaceId: string;
  projectIds: string[];
  selection: RunSelection;
}

/** The messages of one run; undefined when there is no such run. */
export async function messagesOfRun(env: Env, whose: Whose): Promise<Message[] | undefined> {
  const room = { left: MOST };
  for await (const run of readRuns(env, whose)) {
    const own = await readMessages(env, run, room);
    // A chain without messages of its own has those of the models that it calls.
    return own.length > 0 ? own : gatherMessages(env, { ...whose, selection: modelsBelow(run) }, room);
  }
  return undefined;
}

/** The messages of a thread, turn by turn; undefined when it has no turn. */
export async function messagesOfThread(env: Env, whose: Whose): Promise<Message[] | undefined> {
  const room = { left: MOST };
  let messages: Message[] | undefined;
  for await (const run of readRuns(env, whose)) {
    const own = await readMessages(env, run, room);
    const turn = own.length > 0 ? own : await gatherMessages(env, { ...whose, selection: modelsBelow(run) }, room);
    messages = append(messages ?? [], turn);
  }
  return messages;
}

const modelsBelow = ({ trace_id, id, is_root }: QueriedRun): RunSelection => ({
  traceId: trace_id,
  runType: "llm",
  ...(is_root ? {} : { parentRunId: id }),
});

async function gatherMessages(env: Env, whose: Whose, room: Room): Promise<Message[]> {
  let messages: Message[] = [];
  for await (const run of readRuns(env, whose)) messages = append(messages, await readMessages(env, run, room));
  return messages;
}

interface Room {
  left: number;
}

async function readMessages(env: Env, run: QueriedRun, room: Room): Promise<Message[]> {
  const [asked, said] = [await read(env, run.inputs, room), await read(env, run.outputs, room)];
  return joinCall(messagesIn(asked), messagesIn(said));
}

async function read(env: Env, payload: string | null, room: Room): Promise<unknown> {
  if (payload === null) return undefined;
  const text = await payloadText(openBlobs(env), payload, room.left);
  if (text === undefined || text.length > room.left) {
    throw new Problem(413, `The messages are in more than ${MOST} characters of inputs and outputs. Read the runs.`);
  }
  room.left -= text.length;
  return parseJson(text);
}

/** Oldest first. */
async function* readRuns(
  env: Env,
  { workspaceId, projectIds, selection }: Whose,
): AsyncGenerator<QueriedRun, void, void> {
  let after: RunPosition | null = null;
  let count = 0;
  do {
    const find = { projectIds, selection, order: "asc" as const, after, limit: PAGE, payloads: FIELDS };
    const page = await findRuns(env, workspaceId, find);
    for (const run of page.runs) {
      if (++count > MOST_RUNS)
        throw new Problem(413, `The messages are in more than ${MOST_RUNS} runs. Read the runs.`);
      yield run;
    }
    after = page.next;
  } while (after);
}
