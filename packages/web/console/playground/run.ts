/** Runs one column: a model, or an assistant without a thread. */
import { authFetch, call } from "../../api/http.ts";
import { readFrames } from "../../api/frames.ts";
import { readRole } from "../../../../src/agents/prompts/role.ts";
import { readText } from "../../chat/turn/messages.ts";
import { afterEvent, type Result, START } from "./result.ts";

type OnResult = (result: Result) => void;

/** Runs to the end of the answer, or until `signal` stops it. Never throws. */
async function follow(signal: AbortSignal, onResult: OnResult, work: (show: OnResult) => Promise<void>): Promise<void> {
  let last = START;
  const show = (result: Result) => onResult((last = result));
  show(START);
  const began = performance.now();
  try {
    await work(show);
    if (last.state === "running") show({ ...last, state: "failed", trouble: "The answer ended before its end." });
  } catch (error) {
    const seconds = (performance.now() - began) / 1000;
    if (signal.aborted) return show({ ...last, state: "stopped", seconds });
    const trouble = error instanceof Error ? error.message : "The call failed.";
    show({ ...last, state: "failed", trouble, seconds });
  }
}

async function openStream(path: string, body: object, signal: AbortSignal) {
  const answer = await authFetch(path, {
    method: "POST",
    signal,
    headers: { "content-type": "application/json", accept: "text/event-stream" },
    body: JSON.stringify(body),
  });
  if (answer.ok && answer.body) return readFrames(answer.body);
  const { detail } = (await answer.json().catch(() => ({}))) as { detail?: string };
  throw new Error(detail ?? `The server answered ${answer.status}.`);
}

export function runModel(body: () => object, signal: AbortSignal, onResult: OnResult): Promise<void> {
  return follow(signal, onResult, async (show) => {
    let result = START;
    for await (const { event, data } of await openStream("/api/v1/playground/stream", body(), signal))
      show((result = afterEvent(result, event, JSON.parse(data))));
  });
}

interface StateMessage {
  id?: string;
  type: string;
  content: unknown;
  tool_calls?: { id?: string; name: string; args: unknown }[];
  usage_metadata?: { input_tokens: number; output_tokens: number };
}

/** The input's messages in the state are not those that the run said. */
export function runAssistant(
  assistant: string,
  input: () => { messages: object[] },
  signal: AbortSignal,
  onResult: OnResult,
): Promise<void> {
  const began = performance.now();
  const since = () => (performance.now() - began) / 1000;
  return follow(signal, onResult, async (show) => {
    const given = input();
    const body = {
      assistant_id: assistant,
      input: given,
      stream_mode: ["messages-tuple", "values"],
      on_disconnect: "cancel",
    };
    let result = START;
    let saying: string | undefined;
    let trouble: string | undefined;
    for await (const { event, data } of await openStream("/runs/stream", body, signal)) {
      const value = JSON.parse(data) as unknown;
      if (event === "metadata") result = { ...result, run: (value as { run_id: string }).run_id };
      if (event === "messages") {
        const [chunk] = value as [StateMessage];
        if (readRole(chunk.type) !== "ai") continue;
        const text = readText({ content: chunk.content });
        if (text !== "") result = { ...result, firstSeconds: result.firstSeconds ?? since() };
        result = { ...result, text: chunk.id === saying ? result.text + text : text };
        saying = chunk.id;
      }
      if (event === "values") result = { ...result, ...readState(value, given.messages.length) };
      if (event === "error") trouble = (value as { message?: string }).message ?? "The run failed.";
      show(result);
    }
    show({
      ...result,
      seconds: since(),
      ...(trouble === undefined ? { state: "done" } : { state: "failed", trouble }),
    });
  });
}

/** Results in the state: the last completion, the tokens of all completions, and whether the run waits for a person. */
function readState(state: unknown, given: number): Partial<Result> {
  const { messages, __interrupt__: asked } = state as { messages?: StateMessage[]; __interrupt__?: unknown[] };
  const said = Array.isArray(messages) ? messages.slice(given).filter(({ type }) => readRole(type) === "ai") : [];
  const sum = (pick: (usage: NonNullable<StateMessage["usage_metadata"]>) => number) =>
    said.reduce((total, { usage_metadata }) => total + (usage_metadata ? pick(usage_metadata) : 0), 0);
  const last = said.at(-1);
  const tokens = { input: sum((usage) => usage.input_tokens), output: sum((usage) => usage.output_tokens) };
  const calls = last?.tool_calls ?? [];
  return {
    ...(last && { text: readText({ content: last.content }) }),
    ...(tokens.input + tokens.output > 0 && { tokens }),
    calls: calls.map(({ id = "", name, args }) => ({ id, name, args: JSON.stringify(args, null, 2) })),
    ...(asked && asked.length > 0 && { trouble: "The run waits for a person. Continue it in the chat." }),
  };
}

/** The cost of a run of an assistant: its trace comes some seconds after its end. */
export async function costOfRun(run: string): Promise<number | undefined> {
  for (let attempt = 0; attempt < 3; attempt++) {
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    const trace = await call<{ end_time: string | null; total_cost: string | null }>(
      "GET",
      `/api/v1/runs/${run}`,
    ).catch(() => undefined);
    if (trace?.end_time) return trace.total_cost === null ? undefined : Number(trace.total_cost);
  }
  return undefined;
}
