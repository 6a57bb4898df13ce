/** What an evaluator answers, as feedback. */
import { isObject } from "../../lib/json.ts";
import { openSealedBlobs } from "../../access/encryption/blobs.ts";
import { payloadText } from "../../traces/query/responses.ts";
import { readContext, runV1 } from "../../traces/query/row.ts";
import type { QueriedRun, PartitionLocation } from "../../traces/types.ts";
import type { ReceiverSecrets } from "../../deliveries/receiver.ts";
import { deriveUuid } from "../../lib/uuid.ts";
import type { Caller } from "../../http/loopback.ts";
import type { RuleRow } from "./store.ts";

// Failures of an action.

/** A failure that another attempt does not change. */
export class FinalFailure extends Error {}

/** A complete answer that has no scores, or a run that has failed. The same request gives the same answer. */
export class UnusableResponse extends Error {}

/** Statuses of 4xx that say nothing against the request: it came too late, too early or too often. */
const PASSING = [408, 409, 429];

/** Whether a status refuses a request that is refused again when it is repeated. */
export const isRefusal = (status: number): boolean => status >= 400 && status < 500 && !PASSING.includes(status);

export interface RuleScore {
  key: string;
  score?: number | boolean;
  value?: string | number | boolean | Record<string, unknown>;
  comment?: string;
}

/** The most keys of one answer. */
const MAX_SCORES = 20;
const MAX_COMMENT = 100_000;
/** Members that explain the others. */
const COMMENTS = ["comment", "reasoning", "explanation"];

/**
 * The scores of an answer: `{key, score, value?, comment?}`, a list of such objects (also as `results`), or an object whose members
 * are keys with their scores, beside `comment`.
 */
export function parseScores(answer: unknown): RuleScore[] {
  const scores = read(answer);
  if (scores.length > MAX_SCORES) throw new FinalFailure(`The evaluator answered more than ${MAX_SCORES} scores.`);
  return scores;
}

function read(answer: unknown): RuleScore[] {
  if (answer === undefined || answer === null) return [];
  if (Array.isArray(answer)) return answer.flatMap(read);
  if (!isObject(answer)) throw new FinalFailure("The evaluator answered neither an object nor a list of objects.");
  if (Array.isArray(answer["results"])) return answer["results"].flatMap(read);
  const comment = COMMENTS.flatMap((name) => (typeof answer[name] === "string" ? [answer[name]] : []))[0];
  const said = comment === undefined ? {} : { comment: comment.slice(0, MAX_COMMENT) };
  const { key, score, value } = answer;
  if (typeof key === "string") {
    return [{ key: toFeedbackKey(key), ...parseScore(key, score), ...parseValue(value), ...said }];
  }
  return Object.entries(answer)
    .filter(([name]) => !COMMENTS.includes(name))
    .map(([name, value]) => ({ key: toFeedbackKey(name), ...parseFigure(name, value), ...said }));
}

function toFeedbackKey(name: string): string {
  if (name.length >= 1 && name.length <= 180) return name;
  throw new FinalFailure("A key of feedback has 1 to 180 characters.");
}

function parseScore(key: string, score: unknown): Pick<RuleScore, "score"> {
  if (score === undefined || score === null) return {};
  if (typeof score === "boolean" || (typeof score === "number" && Number.isFinite(score))) return { score };
  throw new FinalFailure(`The score of ${key.slice(0, 80)} is neither a number nor true or false.`);
}

function parseValue(value: unknown): Pick<RuleScore, "value"> {
  if (value === undefined || value === null) return {};
  return { value: typeof value === "string" ? value.slice(0, MAX_COMMENT) : (value as RuleScore["value"]) };
}

/** A member of a judge's answer: a number or a boolean is a score, a text a value. */
function parseFigure(key: string, value: unknown): Pick<RuleScore, "score" | "value"> {
  return typeof value === "string" ? { value: value.slice(0, MAX_COMMENT) } : parseScore(key, value);
}

// A run as the actions of rules get it: the platform's own shape, with its payloads.

/** A larger payload is left out, bytes: an evaluation holds several runs at a time. */
const PAYLOAD_BYTES = 1024 * 1024;

const FIELDS = ["inputs", "outputs", "extra", "events"] as const;

export interface EvaluatedRun extends Record<string, unknown> {
  id: string;
  trace_id: string;
  session_id: string;
  name: string;
  inputs: unknown;
  outputs: unknown;
  error: string | null;
}

export async function toEvaluatedRun(env: Env, run: QueriedRun): Promise<EvaluatedRun> {
  const payloads: Partial<QueriedRun> = { error: run.previews?.error ?? run.error };
  for (const field of FIELDS) {
    const text = run[field] && (await payloadText(openSealedBlobs(env), run[field], PAYLOAD_BYTES));
    payloads[field] = text ?? null;
  }
  const origin = env.PUBLIC_URL?.split(",")[0]?.trim() ?? "";
  const whole = { ...run, ...payloads, serialized: null };
  const context = await readContext(env, origin, run.tenant_id, [whole]);
  return runV1(whole, undefined, context) as EvaluatedRun;
}

/** The value at a path such as `output.messages`; undefined when there is none. */
export function valueAt(run: EvaluatedRun, path: string): unknown {
  const [first = "", ...rest] = path.split(".");
  const member = { input: "inputs", output: "outputs" }[first] ?? first;
  return rest.reduce<unknown>((at, name) => (at as Record<string, unknown> | null | undefined)?.[name], run[member]);
}

/** A value in a prompt. */
export const asText = (value: unknown): string =>
  typeof value === "string" ? value : value === undefined || value === null ? "" : JSON.stringify(value);

// One evaluation: what its actions are given.

export interface RuleCall {
  env: Env;
  rule: RuleRow;
  /** Headers of webhooks and keys of models. */
  secrets: ReceiverSecrets;
  place: PartitionLocation;
  runId: string;
  /** How often the run was given, this time included. */
  attempt: number;
  /** The id of the action. */
  action: string;
  /** Who acts: the workspace. */
  behalf: Caller;
}

/** The same at every attempt of this action on this run. `part` tells apart what one action makes. */
export const evaluatorName = ({ rule, runId, action }: RuleCall, part = ""): string =>
  deriveUuid(["rule", rule.id, runId, action, part].join("\n"));
