/** A model or an assistant that judges a run. */
import type { RuleJudge, RuleJudgeModel } from "./table.ts";
import {
  asText,
  type EvaluatedRun,
  valueAt,
  FinalFailure,
  isRefusal,
  UnusableResponse,
  type RuleScore,
  parseScores,
  evaluatorName,
  type RuleCall,
} from "./evaluation.ts";
import { knownBudgets } from "../../limits/budgets/rpc.ts";
import { addressFault } from "../../http/addresses.ts";
import { readWithin } from "../../lib/bytes.ts";
import { isObject, tryParseExact } from "../../lib/json.ts";
import { callOwn } from "../../http/loopback.ts";
import { workersAi } from "../../agents/models/workers-ai.ts";
import { addCost, priceTable } from "../../limits/prices/prices.ts";
import { WorkBudget } from "../../lib/work-budget.ts";

// The prompt of a judge, filled with a run.

/** What a prompt can name without a mapping. */
const USUAL = ["input", "inputs", "output", "outputs", "error", "name"];

/** The most characters of a value in a prompt. */
const MAX_TEXT = 100_000;

const ROLES: Record<string, string> = { human: "user", user: "user", ai: "assistant", assistant: "assistant" };

const NAMES = {
  "f-string": /\{\{|\}\}|\{([\w.]{1,100})\}/g,
  mustache: /\{\{\{?\s*([\w.]{1,100})\s*\}?\}\}/g,
};

export interface ChatMessage {
  role: string;
  content: string;
}

export function renderMessages({ prompt, format, variables }: RuleJudge, run: EvaluatedRun): ChatMessage[] {
  const budget = new WorkBudget("The judge's prompt", "Name long values of the run less often.");
  const values = new Map<string, string | undefined>();
  const value = (name: string): string | undefined => {
    const path = variables[name] ?? (USUAL.includes(name.split(".")[0] ?? "") ? name : undefined);
    return path === undefined ? undefined : asText(valueAt(run, path)).slice(0, MAX_TEXT);
  };
  const filled = (text: string) => {
    budget.write(text.length);
    return text.replaceAll(NAMES[format], (all: string, name: string | undefined) => {
      if (name === undefined) return all.slice(1);
      if (!values.has(name)) values.set(name, value(name));
      const found = values.get(name) ?? all;
      budget.write(found.length);
      return found;
    });
  };
  return prompt.map(([role, text]) => ({ role: ROLES[role] ?? "system", content: filled(text) }));
}

export const MODEL_MS = 60_000;
export const ASSISTANT_MS = 600_000;
const OPENAI = "https://api.openai.com/v1";
/** A longer answer is no answer to the schema. */
const ANSWER_BYTES = 256 * 1024;

export interface JudgeResult {
  scores: RuleScore[];
  /** US dollars; 0 when the model has no price. */
  cost: number;
}

export async function judge(
  call: RuleCall,
  one: RuleJudge,
  key: string | undefined,
  run: EvaluatedRun,
): Promise<JudgeResult> {
  const messages = renderMessages(one, run);
  if (one.model.provider === "assistant") {
    return { scores: await askAssistant(call, one, one.model.assistant_id, messages), cost: 0 };
  }
  const answer = await askModel(call, one, one.model, key, messages);
  return { scores: inSchema(one, tryParseExact(jsonIn(answer.text))), cost: answer.cost };
}

/** The scores of the members that the schema has. */
function inSchema({ schema }: RuleJudge, answer: unknown): RuleScore[] {
  if (!isObject(answer)) throw new UnusableResponse("The judge did not answer with a JSON object.");
  const members = isObject(schema["properties"]) ? Object.keys(schema["properties"]) : [];
  const missing = (Array.isArray(schema["required"]) ? schema["required"] : []).find(
    (name) => typeof name === "string" && !(name in answer),
  );
  if (missing !== undefined) throw new UnusableResponse(`The judge's answer lacks ${String(missing).slice(0, 80)}.`);
  return parseScores(Object.fromEntries(Object.entries(answer).filter(([name]) => members.includes(name))));
}

/** The object in an answer that has text around it, as models without a JSON mode give. */
function jsonIn(text: string): string {
  return text.slice(Math.max(0, text.indexOf("{")), text.lastIndexOf("}") + 1);
}

async function askModel(
  { env, rule }: RuleCall,
  { schema }: RuleJudge,
  model: Exclude<RuleJudgeModel, { provider: "assistant" }>,
  key: string | undefined,
  messages: ChatMessage[],
): Promise<{ text: string; cost: number }> {
  const isOpenAi = model.provider === "openai";
  const base = (isOpenAi && model.base_url) || env.OPENAI_BASE_URL || OPENAI;
  // The deployment's own address is its operator's choice.
  const fault = isOpenAi && model.base_url ? addressFault(base, env.ALLOW_PRIVATE_ADDRESSES === "true") : undefined;
  if (fault) throw new FinalFailure(`The address of the model ${fault}.`);
  if (!isOpenAi && !env.AI)
    throw new FinalFailure("The deployment has no binding AI for Workers AI. docs/workers-ai.md says how to add it.");
  const send = !isOpenAi && env.AI ? workersAi(env.AI) : fetch;
  const signal = AbortSignal.timeout(MODEL_MS);
  const response = await send(`${base.replace(/\/+$/, "")}/chat/completions`, {
    method: "POST",
    redirect: "manual",
    signal,
    headers: { "content-type": "application/json", ...(key && { authorization: `Bearer ${key}` }) },
    body: JSON.stringify({
      model: model.model,
      messages,
      ...(model.temperature !== undefined && { temperature: model.temperature }),
      response_format: {
        type: "json_schema",
        json_schema: isOpenAi ? { name: "evaluation", schema } : schema,
      },
    }),
  });
  const bytes = await readWithin(response, ANSWER_BYTES, signal);
  if (!bytes) throw new FinalFailure("The answer of the judge is too large.");
  if (!response.ok) throw failure(response.status, `The model answered ${response.status}.`);
  const answer = tryParseExact(new TextDecoder().decode(bytes));
  const content = isObject(answer) ? readContent(answer) : undefined;
  if (content === undefined) throw new Error("The model did not answer as OpenAI's chat completions do.");
  const { prices } = await knownBudgets(env, rule.workspaceId);
  const priced = addCost(
    readUsage(answer),
    { ls_model_name: model.model, ls_provider: model.provider },
    priceTable(env.TRACE_PRICES, prices),
  );
  return { text: content, cost: priced.total_cost ?? 0 };
}

/** The failure that an answer's status says. */
function failure(status: number, text: string): Error {
  return isRefusal(status) ? new FinalFailure(text) : new Error(text);
}

function readContent(answer: Record<string, unknown>): string | undefined {
  const [choice] = Array.isArray(answer["choices"]) ? (answer["choices"] as unknown[]) : [];
  const message = isObject(choice) && isObject(choice["message"]) ? choice["message"] : {};
  const { content } = message;
  return typeof content === "string" ? content : isObject(content) ? JSON.stringify(content) : undefined;
}

function readUsage(answer: unknown) {
  const usage = isObject(answer) && isObject(answer["usage"]) ? answer["usage"] : {};
  const count = (name: string) => (typeof usage[name] === "number" ? usage[name] : 0);
  const [prompt_tokens, completion_tokens] = [count("prompt_tokens"), count("completion_tokens")];
  return { prompt_tokens, completion_tokens, total_tokens: prompt_tokens + completion_tokens };
}

/**
 * The scores of an assistant that is given the prompt as messages. Each attempt has an idempotency key of its own, and reads the runs
 * of the attempts before it first: a run that a killed worker has begun is not repeated, and one without scores is followed by a new
 * run. A changed prompt has other keys.
 */
async function askAssistant(
  call: RuleCall,
  one: RuleJudge,
  assistant_id: string,
  messages: ChatMessage[],
): Promise<RuleScore[]> {
  const body = JSON.stringify({
    assistant_id,
    input: { messages },
    // No rule takes the traces of these runs.
    metadata: { weir_rule_id: call.rule.id },
    config: { metadata: { weir_rule_id: call.rule.id } },
  });
  const signal = AbortSignal.timeout(ASSISTANT_MS);
  for (let attempt = 1; ; attempt++) {
    const key = `rule-${evaluatorName(call, [attempt, body].join("\n"))}`;
    try {
      return inSchema(one, await waitForRun(call, key, body, signal));
    } catch (error) {
      if (!(error instanceof UnusableResponse) || attempt >= call.attempt) throw error;
    }
  }
}

/** The answer of the run of this key. @throws Unusable when the run has failed or has no answer */
async function waitForRun(call: RuleCall, key: string, body: string, signal: AbortSignal): Promise<unknown> {
  const headers = { "content-type": "application/json", "idempotency-key": key };
  const response = await callOwn(call.behalf, "/runs/wait", { method: "POST", headers, signal, body });
  const text = await response.text();
  if (!response.ok)
    throw failure(response.status, `The run of the judge was answered with ${response.status}: ${text.slice(0, 300)}`);
  const state = tryParseExact(text);
  if (!isObject(state)) throw new UnusableResponse("The judge answered no state.");
  if (isObject(state["__error__"]))
    throw new UnusableResponse(`The run of the judge failed: ${String(state["__error__"]["message"]).slice(0, 300)}`);
  if (isObject(state["structuredResponse"])) return state["structuredResponse"];
  const last = Array.isArray(state["messages"]) ? (state["messages"].at(-1) as unknown) : undefined;
  const content = isObject(last) ? last["content"] : undefined;
  return typeof content === "string" ? tryParseExact(jsonIn(content)) : state;
}
