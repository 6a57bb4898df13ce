/** What a client gets that opens a thread: the conversation so far, and the events of a run that is at work. */
import { requireAssistant, type Caller } from "../threads/api/access.ts";
import { threadStub } from "../threads/remote.ts";
import { deriveThreadId } from "../threads/types.ts";
import type { Thread } from "../threads/types.ts";
import { EventReducer, METHODS } from "../protocols/agui/events.ts";
import type { RunAgentInput } from "../protocols/agui/schema.ts";
import type { AguiEvent } from "../protocols/agui/speech.ts";
import { visibleThread } from "../protocols/agui/start.ts";

export interface Connection {
  reducer: EventReducer;
  begin: AguiEvent[];
  /** The events of the run that is at work; undefined when `begin` is all. */
  events?: ReadableStream<Uint8Array>;
}

/** Reads the thread of a request, and starts nothing. A thread that does not exist has an empty conversation. */
export async function connect(by: Caller, assistantId: string, input: RunAgentInput): Promise<Connection> {
  const { env, principal } = by;
  await requireAssistant(env, principal, assistantId);
  const threadId = deriveThreadId(input.threadId, principal.user?.identity);
  const thread = threadStub(env, principal.workspaceId, threadId);
  const found = await visibleThread(by, threadId, thread);
  const reducer = new EventReducer({ threadId: input.threadId, runId: input.runId });
  const [run] = found ? await thread.openRuns(1) : [];
  if (run?.status !== "running") return { reducer, begin: reducer.resting(found && readConversation(found)) };
  const events = await thread.follow({ after: 0, runId: run.run_id, methods: METHODS });
  return { reducer, begin: reducer.joined(), events };
}

function readConversation({ values, interrupts, status }: Thread) {
  const asked = Object.values(interrupts)
    .flat()
    .map(({ id = "", value }) => ({ interrupt_id: id, payload: value }));
  return { values: values ?? {}, asked, stopped: status === "interrupted" };
}
