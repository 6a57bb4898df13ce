/** One button that pauses a workspace, an assistant or a thread, or resumes it. */
import { useMay, useAction } from "../../api/me.ts";
import { Button } from "../../ui/Button.tsx";
import css from "../../resources/parts.module.css";
import { useRules, deleteRules, putRule } from "./queries.ts";
import type { Match, Rule } from "./types.ts";

export function PauseButton({ target, what }: { target: Target; what: string }) {
  const may = useMay();
  const rules = useRules(may("flow.read"));
  const action = useAction("flow.manage");
  if (!may("flow.read") || !rules.data) return null;
  const pauses = pausesOn(rules.data, target);
  const paused = pauses.length > 0;
  const deployed = pauses.some(({ source }) => source === "deployment");
  if (!paused && !may("flow.manage")) return null;
  return (
    <>
      {action.trouble !== "" && (
        <span className={css.trouble} role="alert">
          {action.trouble}
        </span>
      )}
      <Button
        disabled={action.busy || deployed || !may("flow.manage")}
        title={deployed ? "langgraph.json has this pause. Change it there and deploy." : undefined}
        onClick={() => void action.run(() => (paused ? resume(pauses) : pause(target)))}
      >
        {paused ? "Resume" : "Pause"} {what}
      </Button>
    </>
  );
}

// Pauses: rules that do nothing but hold back the runs of a workspace, an assistant or a thread.

/** The target of a pause; without members the workspace. */
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

async function pause({ assistant, thread }: Target): Promise<void> {
  const match = { ...(assistant !== undefined && { assistant }), ...(thread !== undefined && { thread }) };
  await putRule(`pause-${crypto.randomUUID()}`, { match, paused: true });
}

async function resume(pauses: Rule[]): Promise<void> {
  await deleteRules(pauses.filter(({ source }) => source === "workspace").map(({ id }) => id));
}
