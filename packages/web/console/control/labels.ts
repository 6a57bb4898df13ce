/** Rules and budgets in words. */
import { costText, countText, secondsText, tokensText } from "../../ui/format.ts";
import type { Match, Rule } from "./types.ts";
import { useAssistants } from "../../api/queries.ts";

/** Which runs a rule or a budget is for. `nameAssistant`: the name of an assistant. */
export function matchText(match: Match | undefined, nameAssistant: (assistant: string) => string): string {
  const { assistant, thread, user, model, metadata } = match ?? {};
  const parts = [
    assistant !== undefined && nameAssistant(assistant),
    thread !== undefined && `thread ${thread.slice(0, 8)}`,
    user !== undefined && `user ${user}`,
    model !== undefined && model,
    ...Object.entries(metadata ?? {}).map(([name, value]) => `${name} = ${value}`),
  ];
  return parts.filter((part) => part !== false).join(", ") || "all runs";
}

export function limitsText(rule: Rule): string {
  const { concurrency, starts_per_minute, tokens_per_minute, singleton, debounce_seconds, priority } = rule;
  const parts = [
    rule.paused === true && "paused",
    concurrency !== undefined && `${countText(concurrency)} at once`,
    starts_per_minute !== undefined && `${countText(starts_per_minute)} starts a minute`,
    tokens_per_minute !== undefined && `${tokensText(tokens_per_minute)} a minute`,
    singleton !== undefined && `one run, the ${singleton} counts`,
    debounce_seconds !== undefined && `debounce of ${secondsText(debounce_seconds)}`,
    priority !== undefined && `priority ${priority}`,
  ];
  return parts.filter((part) => part !== false).join(", ");
}

export const amountText = (amount: number, unit: "dollars" | "tokens"): string =>
  unit === "dollars" ? costText(amount) : tokensText(amount);

/** The name of an assistant by its id; the start of the id while that is unknown. A graph is named by its own id. */
export function useAssistantNames(): (assistant: string) => string {
  const { data } = useAssistants();
  return (assistant) =>
    data?.find(({ assistant_id }) => assistant_id === assistant)?.name ??
    (assistant.length === 36 ? assistant.slice(0, 8) : assistant);
}
