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

/** The decisions of rules on a run. */
export interface RunFlow {
  /** The first rule that has one decides. */
  priority?: number;
  needs: SlotNeed[];
  /** Runs of the same turn follow each other; turns share what they compete for. */
  turn?: string;
}

/** The part of a claim that comes from its run. The rules of the workspace are read by the limiter, as they are. */
export interface FlowClaim {
  /** The decisions of the rules of langgraph.json, with their limits. */
  flow: RunFlow;
  facts: FlowRunFacts;
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

/** Whether rules limit the run: then it claims its slots before it begins. */
export const isLimited = (deployed: FlowRule[], own: FlowRule[], facts: FlowRunFacts): boolean =>
  flowBy(mergeRules(deployed, own), facts).needs.length > 0;

/** The decisions of these rules on a run. Each slot has the limits of its rule. */
export function flowBy(rules: FlowRule[], facts: FlowRunFacts): RunFlow {
  const applying = rules.flatMap((rule) => {
    const key = applies(rule, facts) ? keyIn(rule.key, facts) : undefined;
    return key === undefined ? [] : [{ rule, key }];
  });
  const needs = applying.flatMap(({ rule, key }): SlotNeed[] => {
    const limits = limitsIn(rule);
    return Object.keys(limits).length === 0 ? [] : [{ rule: rule.id, key, limits }];
  });
  const priority = applying.find(({ rule }) => rule.priority !== undefined)?.rule.priority;
  const turns = applying.flatMap(({ rule }) => (rule.fair_by ? [keyIn(rule.fair_by, facts) ?? ""] : []));
  return { priority, needs, ...(turns.length > 0 && { turn: turns.join("\n") }) };
}

/** The needs of a claim: by the rules of langgraph.json when it was made, and by the workspace's rules as they are. */
export function readClaim(
  { flow: { priority, needs, turn }, facts }: FlowClaim,
  own: FlowRule[],
): RunFlow & { priority: number } {
  const decided = flowBy(own, facts);
  const turns = [turn, decided.turn].filter((one) => one !== undefined);
  return {
    priority: priority ?? decided.priority ?? USUAL_PRIORITY,
    needs: [...needs, ...decided.needs.map(({ rule, key }) => ({ rule, key }))],
    turn: turns.length > 0 ? turns.join("\n") : undefined,
  };
}

/** Characters of the metadata that a claim keeps, as JSON. */
const MAX_METADATA_KEPT = 2_000;

/**
 * What a claim keeps of its run, for rules that change while it waits. Long texts are kept as their hash. Of metadata the members that
 * `rules` name come first, then others, up to a size.
 */
export function pickFacts({ metadata, user, model, ...facts }: FlowRunFacts, rules: FlowRule[]): FlowRunFacts {
  const named = new Set(
    rules.flatMap(({ match, key, fair_by = "" }) => [
      ...Object.keys(match?.metadata ?? {}),
      ...[key, fair_by].map((one) => one.replace(/^metadata\./, "")),
    ]),
  );
  let size = 0;
  const kept = Object.entries(metadata)
    .toSorted(([a], [b]) => Number(named.has(b)) - Number(named.has(a)))
    .map(([name, value]) => [name, boundValue(value)] as const)
    .filter(([name, value]) => {
      const characters = name.length + (JSON.stringify(value) ?? "").length;
      if ((typeof value === "object" && value !== null) || size + characters > MAX_METADATA_KEPT) return false;
      size += characters;
      return true;
    });
  return { ...facts, user: boundKey(user), model: boundKey(model), metadata: Object.fromEntries(kept) };
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
    Object.entries(match.metadata ?? {}).every(([name, value]) => boundValue(metadata[name]) === boundValue(value))
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

const boundValue = (value: unknown): unknown => {
  if (isExactNumber(value)) return value.rawJSON;
  return typeof value === "string" ? boundKey(value) : value;
};
