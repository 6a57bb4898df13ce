/** The answer of a column, as it comes. */

export interface Result {
  state: "running" | "done" | "failed" | "stopped";
  text: string;
  reasoning: string;
  calls: { id: string; name: string; args: string }[];
  tokens?: { input: number; output: number };
  /** US dollars; undefined where the model has no price. */
  cost?: number | undefined;
  seconds?: number;
  firstSeconds?: number | undefined;
  /** The id of its trace. */
  run?: string;
  trouble?: string;
}

export const START: Result = { state: "running", text: "", reasoning: "", calls: [] };

interface Delta {
  content?: string;
  reasoning?: string;
  tool_calls?: { index: number; id?: string; name?: string; args?: string }[];
}

interface CompletionMetrics {
  usage: { input_tokens: number; output_tokens: number } | null;
  cost: number | null;
  seconds: number;
  first_token_seconds?: number | undefined;
}

interface End extends CompletionMetrics {
  message: { tool_calls: { id: string; name: string; args: object }[] };
}

/** The result after an event of `/playground/stream`. */
export function afterEvent(result: Result, event: string, data: unknown): Result {
  if (event === "run") return { ...result, run: (data as { run_id: string }).run_id };
  if (event === "delta") return afterDelta(result, data as Delta);
  if (event === "end") {
    const { message, ...figures } = data as End;
    const calls = message.tool_calls.map(({ id, name, args }) => ({ id, name, args: JSON.stringify(args, null, 2) }));
    return { ...result, ...inWords(figures), calls, state: "done" };
  }
  if (event !== "error") return result;
  const { message, ...figures } = data as CompletionMetrics & { message: string };
  return { ...result, ...inWords(figures), state: "failed", trouble: message };
}

function afterDelta(result: Result, { content = "", reasoning = "", tool_calls = [] }: Delta): Result {
  const calls = [...result.calls];
  for (const { index, id = "", name = "", args = "" } of tool_calls) {
    const known = calls[index] ?? { id: "", name: "", args: "" };
    calls[index] = { id: known.id || id, name: known.name + name, args: known.args + args };
  }
  return { ...result, text: result.text + content, reasoning: result.reasoning + reasoning, calls };
}

function inWords({ usage, cost, seconds, first_token_seconds: firstSeconds }: CompletionMetrics): Partial<Result> {
  return {
    seconds,
    firstSeconds,
    ...(usage && { tokens: { input: usage.input_tokens, output: usage.output_tokens } }),
    cost: cost ?? undefined,
  };
}
