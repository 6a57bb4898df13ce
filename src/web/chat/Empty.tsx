/** The log when there is nothing in it: not yet begun, still loading, or not to be had. */
import { useEffect, useState } from "react";
import type { Assistant } from "../api/types.ts";
import { Button } from "../ui/Button.tsx";
import css from "./Empty.module.css";

export function Empty({
  assistant,
  others,
  known,
  onExample,
  onAssistant,
}: {
  assistant: Assistant;
  /** Who else could be talked to; none on a thread that is there already. */
  others: Assistant[];
  known: boolean;
  onExample: (text: string) => void;
  onAssistant: (assistant: Assistant) => void;
}) {
  const examples = assistant.metadata?.examples;
  const texts = Array.isArray(examples) ? examples.filter((one) => typeof one === "string").slice(0, 4) : [];
  return (
    <div className={css.empty}>
      <div className={css.inner}>
        <h2>{assistant.name}</h2>
        <p>
          {assistant.description ??
            (known ? "Nothing has been said on this thread yet." : `Runs the graph ${assistant.graph_id}.`)}
        </p>
        {texts.length > 0 && (
          <ul>
            {texts.map((text) => (
              <li key={text}>
                <button type="button" onClick={() => onExample(text)}>
                  {text}
                </button>
              </li>
            ))}
          </ul>
        )}
        {others.length > 0 && (
          <div className={css.others}>
            <span>Or talk to</span>
            {others.slice(0, 6).map((one) => (
              <Button key={one.assistant_id} look="quiet" onClick={() => onAssistant(one)}>
                {one.name}
              </Button>
            ))}
          </div>
        )}
      </div>
    </div>
  );
}

/** Grey lines where the turns will be; not before 200 ms, most threads are there by then. */
export function LoadingTurns() {
  const [late, setLate] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setLate(true), 200);
    return () => clearTimeout(timer);
  }, []);
  return (
    <div className={css.loading} role="status" aria-label="Loading the conversation">
      {late && (
        <div className={css.inner} aria-hidden>
          <i style={{ height: 44, width: "100%" }} />
          <i style={{ width: "94%" }} />
          <i style={{ width: "88%" }} />
          <i style={{ width: "61%" }} />
          <i style={{ height: 44, width: "100%", marginTop: 20 }} />
          <i style={{ width: "90%" }} />
          <i style={{ width: "47%" }} />
        </div>
      )}
    </div>
  );
}

export function LoadFailed({
  title = "The conversation did not load.",
  error,
  onRetry,
}: {
  title?: string;
  error: string;
  onRetry: () => void;
}) {
  return (
    <div className={css.empty} role="alert">
      <div className={css.inner}>
        <h2>{title}</h2>
        <p>{error}</p>
        <div>
          <Button look="filled" onClick={onRetry}>
            Load again
          </Button>
        </div>
      </div>
    </div>
  );
}

export function Notice({ title, text, children }: { title: string; text: string; children?: React.ReactNode }) {
  return (
    <div className={css.empty}>
      <div className={css.inner}>
        <h2>{title}</h2>
        <p>{text}</p>
        {children}
      </div>
    </div>
  );
}
