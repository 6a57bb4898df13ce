/** A list that is not there: still loading, empty, or failed. */
import type { UseQueryResult } from "@tanstack/react-query";
import { Fragment, type ReactNode } from "react";
import { ApiError } from "../api/http.ts";
import { Button, CopyButton } from "../ui/Button.tsx";
import css from "./states.module.css";

const WIDTHS = [72, 58, 66, 49, 70, 61, 54, 64];

/** Grey lines where rows of 32 px will be. They appear after 200 ms: most lists are there by then. */
export function Loading({ rows = 8 }: { rows?: number }) {
  return (
    <div className={css.loading} role="status" aria-label="Loading">
      {Array.from({ length: rows }, (_, i) => (
        <i key={i} style={{ width: `${WIDTHS[i % WIDTHS.length]}%` }} />
      ))}
    </div>
  );
}

/** A list with nothing in it says how to put something there. */
export function Empty({
  title,
  text,
  command,
  children,
}: {
  title: string;
  text: string;
  /** Lines to copy into a shell or a file. */
  command?: string;
  children?: ReactNode;
}) {
  return (
    <div className={css.state} data-empty>
      <h2>{title}</h2>
      <p>{text}</p>
      {command !== undefined && <Command text={command} />}
      {children}
    </div>
  );
}

/** Where a line may end within an address: after a slash of its path. */
const AFTER_SLASH = /(?<=https?:\/\/\S*[^/]\/)(?=[^/\s])/;

/** Text to copy into a shell, an editor or a query. */
export function Command({ text, label = "Copy the command" }: { text: string; label?: string }) {
  return (
    <div className={css.command}>
      <pre>
        {text.split(AFTER_SLASH).map((part, i) => (
          <Fragment key={i}>
            {i > 0 && <wbr />}
            {part}
          </Fragment>
        ))}
      </pre>
      <CopyButton text={text} label={label} />
    </div>
  );
}

/** The remedy of an error response, by its status. */
function describeRemedy(error: Error): string {
  const status = error instanceof ApiError ? error.status : undefined;
  if (status === 0) return "Check your connection, or whether the server runs.";
  if (status === 401) return "Sign in again.";
  if (status === 403) return "Use a key or an account that has the scope named above.";
  if (status === 404) return "It may have been deleted.";
  if (status === 429) return "Wait a minute, then load again.";
  return "Load again. If it fails again, check the log of the server.";
}

export function Failed({ title, error, onRetry }: { title: string; error: Error; onRetry: () => void }) {
  return (
    <div className={css.state} role="alert">
      <h2>{title}</h2>
      <p>{error.message}</p>
      <p className={css.remedy}>{describeRemedy(error)}</p>
      <div>
        <Button onClick={onRetry}>Load again</Button>
      </div>
    </div>
  );
}

type Query<T> = Pick<UseQueryResult<T>, "data" | "error" | "isPlaceholderData"> & { refetch: () => Promise<unknown> };

/**
 * What a query found, or its state. Data that could not be loaded again stays in view, dimmed, with the error above.
 *
 * @param what what is loaded, in the plural: "traces"
 */
export function Loaded<T>({
  query,
  what,
  rows,
  children,
}: {
  query: Query<T>;
  what: string;
  rows?: number;
  children: (data: T) => ReactNode;
}) {
  const { data, error, refetch } = query;
  const title = `The ${what} did not load.`;
  if (data === undefined)
    return error ? <Failed title={title} error={error} onRetry={() => void refetch()} /> : <Loading rows={rows ?? 8} />;
  return (
    <>
      {error && (
        <p className={css.stale} role="alert">
          {title} {error.message} What you see is older.{" "}
          <Button look="quiet" onClick={() => void refetch()}>
            Load again
          </Button>
        </p>
      )}
      <div className={css.loaded} data-old={error !== null || query.isPlaceholderData || undefined}>
        {children(data)}
      </div>
    </>
  );
}
