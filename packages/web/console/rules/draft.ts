/** A rule as the form holds it, and the body that the API takes. */
import { readPairs, writePairs } from "../../ui/fields.ts";
import { type JudgeDraft, newJudge, readJudge, writeJudge } from "./judge.ts";
import type { Rule } from "./types.ts";
import { isExtending } from "./labels.ts";

export interface HookDraft {
  /** For React. */
  reactKey: string;
  url: string;
  /** A name and a value in each line. */
  headers: string;
}

export interface Draft {
  name: string;
  project: string;
  filter: string;
  traceFilter: string;
  treeFilter: string;
  /** The sampling rate, in percent. */
  percent: string;
  /** Whether the traces are kept for longer than their project does. */
  extend: boolean;
  /** Ids. Empty: the run is not added. */
  queue: string;
  dataset: string;
  /** Names of functions, separated by commas. */
  code: string;
  judges: JudgeDraft[];
  webhooks: HookDraft[];
}

export const newHook = (): HookDraft => ({ reactKey: crypto.randomUUID(), url: "", headers: "" });

const EMPTY: Omit<Draft, "project"> = {
  name: "",
  filter: "eq(is_root, true)",
  traceFilter: "",
  treeFilter: "",
  percent: "100",
  extend: false,
  queue: "",
  dataset: "",
  code: "",
  judges: [],
  webhooks: [],
};

/** Rules to begin with, by their names in the address: `?example=helpful`. */
export const EXAMPLES: Record<string, { title: string; text: string; draft: () => Partial<Draft> }> = {
  helpful: {
    title: "Judge whether answers help",
    text: "A model scores a tenth of the traces.",
    draft: () => ({ name: "Is the answer helpful?", percent: "10", judges: [newJudge()] }),
  },
  failed: {
    title: "Review runs that failed",
    text: "Each failed trace goes to an annotation queue.",
    draft: () => ({ name: "Failed traces to review", filter: 'and(eq(is_root, true), eq(status, "error"))' }),
  },
};

export const newDraft = (project: string, example: string | null): Draft => ({
  ...EMPTY,
  project,
  ...EXAMPLES[example ?? ""]?.draft(),
});

/** 7.000000000000001 is 7. */
const toPercent = (share: number) => String(Number((share * 100).toPrecision(12)));

export const toDraft = (rule: Rule): Draft => ({
  name: rule.display_name,
  project: rule.session_id,
  filter: rule.filter ?? "",
  traceFilter: rule.trace_filter ?? "",
  treeFilter: rule.tree_filter ?? "",
  percent: toPercent(rule.sampling_rate),
  extend: isExtending(rule),
  queue: rule.add_to_annotation_queue_id ?? "",
  dataset: rule.add_to_dataset_id ?? "",
  code: (rule.code_evaluators ?? []).map(({ code }) => code).join(", "),
  judges: (rule.evaluators ?? []).map(({ structured }) => readJudge(structured)),
  webhooks: (rule.webhooks ?? []).map(({ url, headers }) => ({ ...newHook(), url, headers: writePairs(headers) })),
});

/** @throws Error whose message names the wrong field */
export function toBody(draft: Draft, isEnabled: boolean): Record<string, unknown> {
  const percent = Number(draft.percent);
  if (draft.name.trim() === "") throw new Error("Write a name.");
  if (draft.project === "") throw new Error("Choose a project.");
  if (draft.percent.trim() === "" || !(percent >= 0 && percent <= 100))
    throw new Error("The sampling rate is a number from 0 to 100.");
  const code = draft.code.split(",").flatMap((name) => (name.trim() === "" ? [] : [name.trim()]));
  const scores = code.length + draft.judges.length > 0;
  const isAlone = draft.queue === "" && draft.dataset === "" && !scores && draft.webhooks.length === 0;
  if (isAlone && !draft.extend) throw new Error("Choose at least one action.");
  return {
    display_name: draft.name.trim(),
    session_id: draft.project,
    is_enabled: isEnabled,
    sampling_rate: percent / 100,
    ...given("filter", draft.filter),
    ...given("trace_filter", draft.traceFilter),
    ...given("tree_filter", draft.treeFilter),
    ...(draft.extend && {
      extend_only: isAlone,
      extend_evaluator_trace_retention: scores,
      extend_dataset_trace_retention: draft.dataset !== "",
      extend_annotation_queue_trace_retention: draft.queue !== "",
      extend_webhook_trace_retention: draft.webhooks.length > 0,
    }),
    ...given("add_to_annotation_queue_id", draft.queue),
    ...given("add_to_dataset_id", draft.dataset),
    ...(code.length > 0 && { code_evaluators: code.map((name) => ({ code: name, language: "javascript" })) }),
    ...(draft.judges.length > 0 && { evaluators: draft.judges.map((judge) => ({ structured: writeJudge(judge) })) }),
    ...(draft.webhooks.length > 0 && {
      webhooks: draft.webhooks.map(({ url, headers }) => {
        if (url.trim() === "") throw new Error("Write the address of each webhook.");
        return { url: url.trim(), headers: readPairs(headers, "Headers") };
      }),
    }),
  };
}

const given = (name: string, text: string) => (text.trim() === "" ? {} : { [name]: text.trim() });
