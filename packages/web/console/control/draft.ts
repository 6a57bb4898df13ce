/** The forms of rules and budgets: their fields as texts, and the bodies that are sent. */
import type { Budget, Match, Rule } from "./types.ts";

/** Fields by their names. An empty text is not set. */
export type Draft = Record<string, string>;

const MATCHED = ["assistant", "thread", "user", "model"] as const;
const COUNTS = ["concurrency", "starts_per_minute", "tokens_per_minute", "debounce_seconds", "priority"] as const;
const WORDS = ["key", "singleton", "fair_by"] as const;

export function draftOfRule(rule: Rule | undefined): Draft {
  const draft: Draft = { id: rule?.id ?? "", paused: rule?.paused ? "true" : "", ...draftOfMatch(rule?.match) };
  for (const name of [...COUNTS, ...WORDS]) draft[name] = rule?.[name] === undefined ? "" : String(rule[name]);
  return draft;
}

/** Throws what is no number or no JSON. The server checks the rest. */
export function ruleBody(given: Draft): object {
  const draft = trimmed(given);
  const body: Record<string, unknown> = { ...matchBody(draft), ...(draft.paused === "true" && { paused: true }) };
  for (const name of COUNTS) if (draft[name]) body[name] = numberIn(name, draft[name]);
  for (const name of WORDS) if (draft[name]) body[name] = draft[name];
  return body;
}

export function draftOfBudget(budget: Budget | undefined): Draft {
  const { id = "", per = "day", key = "", at_limit = "ask", webhook = "", tokens, dollars } = budget ?? {};
  const unit = tokens === undefined ? "dollars" : "tokens";
  return {
    id,
    per,
    key,
    at_limit,
    webhook,
    unit,
    limit: String(tokens ?? dollars ?? ""),
    ...draftOfMatch(budget?.match),
  };
}

export function budgetBody(given: Draft): object {
  const draft = trimmed(given);
  const { per, key, at_limit, webhook, unit = "dollars", limit = "" } = draft;
  return {
    ...matchBody(draft),
    per,
    at_limit,
    ...(limit !== "" && { [unit]: numberIn("limit", limit) }),
    ...(key && per === "day" && { key }),
    ...(webhook && { webhook }),
  };
}

/** The id that the form names. */
export function idIn({ id = "" }: Draft): string {
  if (id.trim() === "") throw new Error("Enter an ID.");
  return id.trim();
}

const trimmed = (draft: Draft): Draft =>
  Object.fromEntries(Object.entries(draft).map(([name, text]) => [name, text.trim()]));

function draftOfMatch(match: Match = {}): Draft {
  const texts = MATCHED.map((name) => [name, match[name] ?? ""] as const);
  return { ...Object.fromEntries(texts), metadata: match.metadata ? JSON.stringify(match.metadata) : "" };
}

function matchBody(draft: Draft): { match?: object } {
  const match: Record<string, unknown> = {};
  for (const name of MATCHED) if (draft[name]) match[name] = draft[name];
  if (draft.metadata) match.metadata = objectIn(draft.metadata);
  return Object.keys(match).length > 0 ? { match } : {};
}

function numberIn(name: string, text: string): number {
  const value = Number(text);
  if (!Number.isFinite(value)) throw new Error(`${name.replaceAll("_", " ")}: "${text}" is not a number.`);
  return value;
}

function objectIn(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new Error('Metadata is not JSON. Write it as {"plan": "free"}.');
  }
}
