/** The log when there is nothing in it: not yet begun, still loading, or not available. */
import { useEffect, useState } from "react";
import { Button } from "../ui/Button.tsx";
import css from "./Notice.module.css";

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
  title = "The conversation could not be loaded.",
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
            Try again
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
