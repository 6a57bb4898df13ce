/** A judge as the form holds it. */
import { readPairs, writePairs } from "../../ui/fields.ts";
import type { Judge, Model } from "./types.ts";

export interface Line {
  /** For React. */
  reactKey: string;
  role: string;
  text: string;
}

export type Scoring = "score" | "yes-no" | "schema";

export interface JudgeDraft {
  reactKey: string;
  lines: Line[];
  format: Judge["template_format"];
  /** A name and a path in each line. */
  variables: string;
  scoring: Scoring;
  /** The key of the feedback, unless there is a schema. */
  key: string;
  /** As JSON. */
  schema: string;
  provider: Model["provider"];
  model: string;
  address: string;
  apiKey: string;
  temperature: string;
  assistant: string;
}

/** The server's own, when a request names none (docs/rules.md). */
export const WORKERS_MODEL = "@cf/meta/llama-3.3-70b-instruct-fp8-fast";

export const newLine = (role: string, text = ""): Line => ({ reactKey: crypto.randomUUID(), role, text });

export const newJudge = (): JudgeDraft => ({
  reactKey: crypto.randomUUID(),
  lines: [
    newLine(
      "system",
      "You judge the answers of an agent. An answer is helpful when it resolves the request and all of its statements are right.",
    ),
    newLine("human", "Question: {input}\n\nAnswer: {output}"),
  ],
  format: "f-string",
  variables: "",
  scoring: "score",
  key: "helpful",
  schema: JSON.stringify(simpleSchema("score", "helpful"), null, 2),
  provider: "workers-ai",
  model: WORKERS_MODEL,
  address: "",
  apiKey: "",
  temperature: "",
  assistant: "",
});

function simpleSchema(scoring: "score" | "yes-no", key: string): object {
  const figure = scoring === "score" ? { type: "number", minimum: 0, maximum: 1 } : { type: "boolean" };
  return { type: "object", properties: { [key]: figure, comment: { type: "string" } }, required: [key] };
}

export function readJudge({ prompt, template_format, variable_mapping, schema, model }: Judge): JudgeDraft {
  return {
    ...newJudge(),
    lines: prompt.map(([role, text]) => newLine(role, text)),
    format: template_format,
    variables: writePairs(variable_mapping),
    schema: JSON.stringify(schema, null, 2),
    ...readScoring(schema),
    ...readModel(model),
  };
}

function readScoring(schema: object): Pick<JudgeDraft, "scoring" | "key"> {
  const [key = ""] = (schema as { required?: string[] }).required ?? [];
  const text = JSON.stringify(schema);
  const scoring = (["score", "yes-no"] as const).find((one) => JSON.stringify(simpleSchema(one, key)) === text);
  return { scoring: scoring ?? "schema", key };
}

function readModel(model: Model): Partial<JudgeDraft> {
  if (model.provider === "assistant") return { provider: "assistant", assistant: model.assistant_id };
  return {
    provider: model.provider,
    model: model.model,
    temperature: model.temperature === undefined ? "" : String(model.temperature),
    ...(model.provider === "openai" && { address: model.base_url ?? "", apiKey: model.api_key ?? "" }),
  };
}

/** @throws Error whose message names the wrong field */
export function writeJudge(draft: JudgeDraft): Judge {
  const prompt = draft.lines.flatMap(({ role, text }): Judge["prompt"] => (text.trim() === "" ? [] : [[role, text]]));
  if (prompt.length === 0) throw new Error("Write the prompt of each judge.");
  return {
    prompt,
    template_format: draft.format,
    variable_mapping: readPairs(draft.variables, "Variables"),
    schema: writeSchema(draft),
    model: writeModel(draft),
  };
}

function writeSchema({ scoring, key, schema }: JudgeDraft): object {
  if (scoring !== "schema") {
    if (key.trim() === "") throw new Error("Write the key of the judge’s feedback.");
    return simpleSchema(scoring, key.trim());
  }
  try {
    return JSON.parse(schema) as object;
  } catch (error) {
    throw new Error(`The schema is no JSON: ${error instanceof Error ? error.message : ""}`, { cause: error });
  }
}

function writeModel({ provider, model, address, apiKey, temperature, assistant }: JudgeDraft): Model {
  if (provider === "assistant") {
    if (assistant === "") throw new Error("Choose the assistant that judges.");
    return { provider, assistant_id: assistant };
  }
  if (model.trim() === "") throw new Error("Write the name of the judge’s model.");
  const shared = { model: model.trim(), ...(temperature.trim() !== "" && { temperature: Number(temperature) }) };
  if (provider === "workers-ai") return { provider, ...shared };
  return {
    provider,
    ...shared,
    ...(address.trim() !== "" && { base_url: address.trim() }),
    ...(apiKey.trim() !== "" && { api_key: apiKey.trim() }),
  };
}
