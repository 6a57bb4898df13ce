/** One button that pauses a workspace, an assistant or a thread, or resumes it. */
import { useMay } from "../../api/me.ts";
import { useAction } from "../../resources/action.ts";
import { Button } from "../../ui/Button.tsx";
import css from "../../resources/parts.module.css";
import { pause, pausesOn, resume, type Target } from "./pauses.ts";
import { useRules } from "./queries.ts";

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
