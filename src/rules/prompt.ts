/** The prompt of a judge, filled with a run. */
import type { Judge } from "../automation/rules/table.ts";
import { asText, type RuleRun, valueAt } from "./run.ts";

/** What a prompt can name without a mapping. */
const USUAL = ["input", "inputs", "output", "outputs", "error", "name"];

/** The most characters of a value in a prompt. */
const MOST_TEXT = 100_000;

const ROLES: Record<string, string> = { human: "user", user: "user", ai: "assistant", assistant: "assistant" };

const NAMES = {
  "f-string": /\{\{|\}\}|\{([\w.]{1,100})\}/g,
  mustache: /\{\{\{?\s*([\w.]{1,100})\s*\}?\}\}/g,
};

export interface ChatMessage {
  role: string;
  content: string;
}

export function renderMessages({ prompt, format, variables }: Judge, run: RuleRun): ChatMessage[] {
  const value = (name: string): string | undefined => {
    const path = variables[name] ?? (USUAL.includes(name.split(".")[0] ?? "") ? name : undefined);
    return path === undefined ? undefined : asText(valueAt(run, path)).slice(0, MOST_TEXT);
  };
  const filled = (text: string) =>
    text.replaceAll(NAMES[format], (all: string, name: string | undefined) =>
      name === undefined ? all.slice(1) : (value(name) ?? all),
    );
  return prompt.map(([role, text]) => ({ role: ROLES[role] ?? "system", content: filled(text) }));
}
