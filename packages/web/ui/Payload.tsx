/** A text that may be large: its beginning, then all of it, and past what a page can hold as a file. */
import { type ReactNode, useState } from "react";
import { CopyButton } from "./Button.tsx";
import css from "./payload.module.css";
import { bytesText, countText } from "./format.ts";

const LINES = 12;
const JSON_START = /^\s*[[{]/;
/** Characters: of the beginning, and of what the page shows at most. */
const FIRST = 4_000;
const MOST = 300_000;

/** The part of a text to show, and the buttons for the rest of it. */
export function useCut(text: string, name: string, lines = LINES): [shown: string, rest: ReactNode] {
  const [all, setAll] = useState(false);
  const end = Math.min(findLineEnd(text, lines), FIRST);
  const cut = !all && end < text.length;
  const rest = (
    <>
      {cut && (
        <button type="button" className={css.more} onClick={() => setAll(true)}>
          {text.length > MOST ? "Show more" : `Show all ${countText(text.split("\n").length)} lines`}
        </button>
      )}
      {text.length > MOST && (
        <button type="button" className={css.more} onClick={() => download(text, `${name.toLowerCase()}.txt`)}>
          Download all of it, {bytesText(text.length)}
        </button>
      )}
    </>
  );
  return [cut ? text.slice(0, end) : text.slice(0, MOST), rest];
}

export function Payload({ label, text, lines }: { label: string; text: string; lines?: number }) {
  const [shown, rest] = useCut(text, label, lines);
  return (
    <section className={css.payload} aria-label={label}>
      <div className={css.head}>
        <span>{label}</span>
        <CopyButton text={text} label={`Copy ${label.toLowerCase()}`} />
      </div>
      {/* A box that scrolls must be reachable by keyboard. */}
      {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex */}
      <pre
        className="text"
        dir={JSON_START.test(text) ? "ltr" : undefined}
        tabIndex={0}
        role="region"
        aria-label={label}
      >
        {shown}
      </pre>
      {rest}
    </section>
  );
}

/** Where the first lines of a text end. */
function findLineEnd(text: string, lines: number): number {
  let end = -1;
  for (let i = 0; i < lines; i++) {
    end = text.indexOf("\n", end + 1);
    if (end < 0) return text.length;
  }
  return end;
}

function download(text: string, name: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type: "text/plain" }));
  link.download = name;
  link.click();
  URL.revokeObjectURL(link.href);
}
