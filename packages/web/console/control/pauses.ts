/** Pauses: rules that do nothing but hold back the runs of a workspace, an assistant or a thread. */
import { deleteRules, putRule } from "./queries.ts";
import type { Match, Rule } from "./types.ts";

/** What is paused; without members the workspace. */
export type Target = Pick<Match, "assistant" | "thread">;

const OTHER_LIMITS = [
  "concurrency",
  "starts_per_minute",
  "tokens_per_minute",
  "singleton",
  "debounce_seconds",
] as const;

/** The rules that pause exactly this, and do nothing else. */
export function pausesOn(rules: Rule[], { assistant, thread }: Target): Rule[] {
  return rules.filter((rule) => {
    const { match = {}, paused } = rule;
    const only = match.user === undefined && match.model === undefined && match.metadata === undefined;
    const pauses = paused === true && only && rule.key === "workspace" && !OTHER_LIMITS.some((name) => rule[name]);
    return pauses && match.assistant === assistant && match.thread === thread;
  });
}

export async function pause({ assistant, thread }: Target): Promise<void> {
  const match = { ...(assistant !== undefined && { assistant }), ...(thread !== undefined && { thread }) };
  await putRule(`pause-${crypto.randomUUID()}`, { match, paused: true });
}

export async function resume(pauses: Rule[]): Promise<void> {
  await deleteRules(pauses.filter(({ source }) => source === "workspace").map(({ id }) => id));
}
