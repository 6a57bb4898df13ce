/** The tags and the metadata of a run: what a person set, and below it, folded, what LangGraph and the server add to each run. */
import { useMemo } from "react";
import css from "./details.module.css";
import { splitMetadata } from "./metadata.ts";
import type { RunDetails } from "../types.ts";

export function Noted({ data: { extra, tags } }: { data: RunDetails }) {
  const { own, platform } = useMemo(() => splitMetadata(extra.metadata ?? {}), [extra.metadata]);
  return (
    <>
      {tags && tags.length > 0 && (
        <section aria-label="Tags">
          <h3>Tags</h3>
          <ul className={css.tags}>
            {tags.map((tag) => (
              <li key={tag}>{tag}</li>
            ))}
          </ul>
        </section>
      )}
      {own.length + platform.length > 0 && (
        <section aria-label="Metadata">
          {own.length > 0 && (
            <>
              <h3>Metadata</h3>
              <Entries entries={own} />
            </>
          )}
          {platform.length > 0 && (
            <details className={css.platform}>
              <summary>Metadata of the platform ({platform.length})</summary>
              <Entries entries={platform} />
            </details>
          )}
        </section>
      )}
    </>
  );
}

const Entries = ({ entries }: { entries: [key: string, text: string][] }) => (
  <dl className={css.noted}>
    {entries.map(([key, text]) => (
      <div key={key}>
        <dt>{key}</dt>
        <dd>{text}</dd>
      </div>
    ))}
  </dl>
);
