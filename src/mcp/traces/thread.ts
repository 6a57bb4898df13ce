/** `read_thread`: the state of a thread, and its checkpoints. */
import * as v from "valibot";
import type { Api } from "../../protocols/mcp/traces/api.ts";
import { between, describe, part, Text, Uuid } from "./fields.ts";
import { cutValue, formatPart, joinLines, oneLine } from "./text.ts";
import { defineTool } from "../../protocols/mcp/traces/tool.ts";

export interface State {
  values: Record<string, unknown> | null;
  next: string[];
  checkpoint: { checkpoint_id?: string | null } | null;
  created_at: string | null;
  metadata: { step?: number; source?: string } | null;
  tasks: { name: string; error: string | null; interrupts: unknown[] }[];
}

interface Thread {
  status: string;
  metadata: object;
  interrupts: Record<string, unknown[]>;
  error?: { error: string; message: string };
}

const LISTED = ["checkpoint", "created_at", "next", "metadata", "tasks"];
/** The most characters of each member of a state. */
const MEMBER = 1_500;

export const readThread = defineTool({
  name: "read_thread",
  title: "Read a thread",
  description:
    "Reads a thread: its status, the members of its latest state (or of the state at checkpoint_id), each cut, and its checkpoints, newest first, from which rerun_from_checkpoint can fork. With key it reads one member of the state as JSON, part by part.",
  cost: "one call of the thread's object for each of record, state and history. No model is called.",
  permissions: ["threads.read"],
  input: v.object({
    thread_id: describe(Uuid, "The id of the thread."),
    checkpoint_id: v.optional(describe(Uuid, "The state to read; the latest if left out.")),
    key: v.optional(describe(Text, "One member of the state, such as messages.")),
    ...part,
    checkpoints: v.optional(describe(between(0, 50), "How many checkpoints to list."), 10),
    before: v.optional(describe(Uuid, "Lists checkpoints before this one.")),
  }),
  async run(api, { thread_id, checkpoint_id, key, offset, length, checkpoints, before }) {
    const path = `/threads/${thread_id}`;
    const at = checkpoint_id === undefined ? `${path}/state` : `${path}/state/${checkpoint_id}`;
    if (key !== undefined) {
      const { values } = await api.get<Pick<State, "values">>(at, { select: JSON.stringify([`values.${key}`]) });
      const text = JSON.stringify(values && Object.hasOwn(values, key) ? values[key] : null);
      return formatPart(text.slice(offset, offset + length), offset, text.length);
    }
    const [thread, state] = [await readRecord(api, thread_id), await api.get<State>(at)];
    const history = checkpoints > 0 ? await readHistory(api, path, checkpoints, before) : [];
    const waits = Object.values(thread.interrupts).flat();
    const lines = [
      `thread ${thread_id}: ${thread.status}`,
      `metadata: ${cutValue(thread.metadata, MEMBER)}`,
      thread.error ? `error: ${cutValue(`${thread.error.error}: ${thread.error.message}`, MEMBER)}` : "",
      waits.length > 0 ? `waits for an answer to: ${cutValue(waits, MEMBER)}` : "",
      `state at checkpoint ${state.checkpoint?.checkpoint_id ?? "none"}, next: ${state.next.join(", ") || "end"}`,
      ...formatValues(state.values),
      history.length > 0 ? "checkpoints:" : "",
      ...history.map(formatCheckpoint),
    ];
    return joinLines(lines.filter(Boolean), "Use key, or fewer checkpoints.");
  },
});

/** The thread without its state, which is read at a checkpoint. */
async function readRecord(api: Api, threadId: string): Promise<Thread> {
  const select = ["status", "metadata", "interrupts", "error"];
  const [found] = await api.query<Thread[]>("/threads/search", { ids: [threadId], limit: 1, select });
  // A thread that the search has not found yet, and the refusal of one that does not exist.
  return found ?? api.get<Thread>(`/threads/${threadId}`);
}

async function readHistory(api: Api, path: string, limit: number, before: string | undefined): Promise<State[]> {
  return api.query<State[]>(`${path}/history`, { limit, select: LISTED, ...(before !== undefined && { before }) });
}

/** The members of a state, each in one line. */
export function formatValues(values: Record<string, unknown> | null): string[] {
  return Object.entries(values ?? {}).map(([name, value]) => `  ${oneLine(name, 100)}: ${cutValue(value, MEMBER)}`);
}

function formatCheckpoint({ checkpoint, created_at, next, metadata, tasks }: State): string {
  const faults = tasks.flatMap(({ name, error }) => (error ? [`error in ${name}: ${oneLine(error, 120)}`] : []));
  const step = `step ${metadata?.step ?? "?"} (${metadata?.source ?? "?"}), next: ${next.join(", ") || "end"}`;
  return ["", checkpoint?.checkpoint_id ?? "none", created_at ?? "", step, ...faults].join("  ").trimEnd();
}
