/** A run as the actions of rules get it: the platform's own shape, with its payloads. */
import { openBlobs } from "../access/encryption/blobs.ts";
import { payloadText } from "../traces/query/responses.ts";
import { readContext } from "../traces/query/row.ts";
import { runV1 } from "../traces/query/row.ts";
import type { QueriedRun } from "../traces/types.ts";

/** A larger payload is left out, bytes: an evaluation holds several runs at a time. */
const PAYLOAD_BYTES = 1024 * 1024;

const FIELDS = ["inputs", "outputs", "extra", "events"] as const;

export interface RuleRun extends Record<string, unknown> {
  id: string;
  trace_id: string;
  session_id: string;
  name: string;
  inputs: unknown;
  outputs: unknown;
  error: string | null;
}

export async function ruleRun(env: Env, run: QueriedRun): Promise<RuleRun> {
  const payloads: Partial<QueriedRun> = { error: run.previews?.error ?? run.error };
  for (const field of FIELDS) {
    const text = run[field] && (await payloadText(openBlobs(env), run[field], PAYLOAD_BYTES));
    payloads[field] = text ?? null;
  }
  const origin = env.PUBLIC_URL?.split(",")[0]?.trim() ?? "";
  const whole = { ...run, ...payloads, serialized: null };
  const context = await readContext(env, origin, run.tenant_id, [whole]);
  return runV1(whole, undefined, context) as RuleRun;
}

/** The value at a path such as `output.messages`; undefined when there is none. */
export function valueAt(run: RuleRun, path: string): unknown {
  const [first = "", ...rest] = path.split(".");
  const member = { input: "inputs", output: "outputs" }[first] ?? first;
  return rest.reduce<unknown>((at, name) => (at as Record<string, unknown> | null | undefined)?.[name], run[member]);
}

/** A value in a prompt. */
export const asText = (value: unknown): string =>
  typeof value === "string" ? value : value === undefined || value === null ? "" : JSON.stringify(value);
