/** What a run needs before it begins: a slot of each rule that applies to it. */
import { isExactNumber, type Json, isObject } from "../../lib/json.ts";
import { deriveUuid } from "../../lib/uuid.ts";
import { type FlowRule, mergeRules } from "./rule.ts";

/** What rules limit. */
export interface FlowLimits {
  paused?: true;
  concurrency?: number;
  starts_per_minute?: number;
  tokens_per_minute?: number;
  singleton?: "first" | "last";
  debounce_seconds?: number;
}

/** A slot of one rule, of one key. */
export interface SlotNeed {
  rule: string;
  key: string;
  /** Those of a rule of langgraph.json. Without them the rule is the workspace's, and the limiter knows its limits. */
  limits?: FlowLimits;
}

/** What travels with a run's request. A run to which no limit applies has none. */
export interface RunFlow {
  priority: number;
  needs: SlotNeed[];
  /** Runs of the same turn follow each other; turns share what they compete for. */
  turn?: string;
}

/** What rules read of a run. */
export interface FlowRunFacts {
  threadId: string;
  assistantId: string;
  graphId: string;
  user?: string;
  model?: string;
  metadata: Json;
}

/** The priority of a run for which no rule sets one. */
export const USUAL_PRIORITY = 5;

/** Characters of a key. A longer one is replaced by its hash. */
const MAX_KEY_LENGTH = 200;

/** What the run must claim by the rules: of langgraph.json first, then of the workspace. Undefined when it need not wait. */
export function flowFor(deployed: FlowRule[], own: FlowRule[], facts: FlowRunFacts): RunFlow | undefined {
  if (deployed.length === 0 && own.length === 0) return undefined;
  const applying = mergeRules(deployed, own).flatMap((rule) => {
    const key = applies(rule, facts) ? keyIn(rule.key, facts) : undefined;
    return key === undefined ? [] : [{ rule, key }];
  });
  const needs = applying.flatMap(({ rule, key }): SlotNeed[] => {
    const limits = limitsIn(rule);
    if (Object.keys(limits).length === 0) return [];
    return [{ rule: rule.id, key, ...(deployed.includes(rule) && { limits }) }];
  });
  if (needs.length === 0) return undefined;
  const priority = applying.find(({ rule }) => rule.priority !== undefined)?.rule.priority ?? USUAL_PRIORITY;
  const turns = applying.flatMap(({ rule }) => (rule.fair_by ? [keyIn(rule.fair_by, facts) ?? ""] : []));
  return { priority, needs, ...(turns.length > 0 && { turn: turns.join("\n") }) };
}

/** Characters of the metadata that a claim keeps, as JSON, and of one member. */
const MAX_METADATA_KEPT = { metadata: 2_000, member: 200 };

/** The slots of the workspace's paused rules that apply to the run. */
export function pausesFor(own: Iterable<FlowRule>, facts: FlowRunFacts): SlotNeed[] {
  return [...own].flatMap((rule) => {
    const key = rule.paused && applies(rule, facts) ? keyIn(rule.key, facts) : undefined;
    return key === undefined ? [] : [{ rule: rule.id, key }];
  });
}

/** What a claim keeps of its run, for rules that pause it later: of metadata only what a rule may match, up to a size. */
export function pickFacts({ metadata, ...facts }: FlowRunFacts): FlowRunFacts {
  let size = 0;
  const texts = Object.entries(metadata).map(
    ([name, value]) => [name, isExactNumber(value) ? value.rawJSON : value] as const,
  );
  const kept = texts.filter(([name, value]) => {
    const characters = name.length + (JSON.stringify(value) ?? "").length;
    if (
      typeof value === "object" ||
      characters > MAX_METADATA_KEPT.member ||
      size + characters > MAX_METADATA_KEPT.metadata
    )
      return false;
    size += characters;
    return true;
  });
  return { ...facts, metadata: Object.fromEntries(kept) };
}

/** The model of a run: the first that is named, of its own settings and then of its assistant's. */
export function modelIn(settings: unknown[]): string | undefined {
  const named = settings.map((values) => (isObject(values) ? values.model : undefined));
  return named.find((model) => typeof model === "string");
}

/** The members of a rule that limit. */
export function limitsIn(rule: FlowLimits): FlowLimits {
  const { paused, concurrency, starts_per_minute, tokens_per_minute, singleton, debounce_seconds } = rule;
  return {
    ...(paused && { paused }),
    ...(concurrency !== undefined && { concurrency }),
    ...(starts_per_minute !== undefined && { starts_per_minute }),
    ...(tokens_per_minute !== undefined && { tokens_per_minute }),
    ...(singleton !== undefined && { singleton }),
    ...(debounce_seconds !== undefined && { debounce_seconds }),
  };
}

export function applies(
  { match = {} }: Pick<FlowRule, "match">,
  { threadId, assistantId, graphId, user, model, metadata }: FlowRunFacts,
): boolean {
  const named = match.assistant === undefined || [assistantId, graphId].includes(match.assistant);
  return (
    named &&
    (match.thread === undefined || match.thread === threadId) &&
    (match.user === undefined || match.user === user) &&
    (match.model === undefined || match.model === model) &&
    Object.entries(match.metadata ?? {}).every(([name, value]) => metadata[name] === value)
  );
}

/** The value of a rule's key. A run that has none is not counted by the rule. */
export function keyIn(key: string, { assistantId, user, model, metadata }: FlowRunFacts): string | undefined {
  if (key === "workspace") return "";
  if (key === "assistant") return assistantId;
  if (key === "user") return boundKey(user);
  if (key === "model") return boundKey(model);
  const value = metadata[key.slice("metadata.".length)];
  if (isExactNumber(value)) return boundKey(value.rawJSON);
  return ["string", "number", "boolean"].includes(typeof value) ? boundKey(String(value)) : undefined;
}

const boundKey = (key: string | undefined): string | undefined =>
  key !== undefined && key.length > MAX_KEY_LENGTH ? deriveUuid(`flow key ${key}`) : key;
