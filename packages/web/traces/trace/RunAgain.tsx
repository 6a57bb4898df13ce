/** Runs the graph of a trace again with the same input, on a new thread. Only for runs of this server's graphs. */
import { Play } from "lucide-react";
import { useLocation } from "wouter";
import { call } from "../../api/http.ts";
import { useAction } from "../../resources/action.ts";
import { Button } from "../../ui/Button.tsx";
import { useRun } from "../queries.ts";
import css from "./trace.module.css";
import type { Span } from "../types.ts";

export function RunAgain({ root }: { root: Span }) {
  const run = useRun(root);
  const [, navigate] = useLocation();
  const { button, trouble, run: act } = useAction("threads.write", "runs.create");
  const assistant = run.data?.extra.metadata?.assistant_id;
  if (!run.data || typeof assistant !== "string") return null;
  const start = async () => {
    const { thread_id } = await call<{ thread_id: string }>("POST", "/threads", {});
    await call("POST", `/threads/${thread_id}/runs`, { assistant_id: assistant, input: run.data.inputs });
    navigate(`/chat/${thread_id}`);
  };
  return (
    <>
      {trouble !== "" && (
        <span className={css.trouble} role="alert">
          {trouble}
        </span>
      )}
      <Button
        disabled={button.disabled}
        title={button.title ?? "With the same input, on a new thread"}
        onClick={() => void act(start)}
      >
        <Play size={14} aria-hidden /> Run again
      </Button>
    </>
  );
}
