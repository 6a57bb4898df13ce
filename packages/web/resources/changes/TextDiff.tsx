import { useMemo, useState } from "react";
import { Button } from "../../ui/Button.tsx";
import css from "./changes.module.css";
import { diffTexts, type Part } from "./text-diff.ts";

/** Characters of an unchanged part that are shown beside a change, and what a part must have more to be cut. */
const BESIDE = 120;
const CUT = 80;
/** Characters of a changed part that are shown at first. */
const FIRST = 2_000;

/** A text that changed, with what was removed and added in its place. */
export function TextDiff({ before, now }: { before: string; now: string }) {
  const [all, setAll] = useState(false);
  const parts = useMemo(() => diffTexts(before, now), [before, now]);
  const shown = all
    ? parts
    : parts.map((part, i) => ({ ...part, text: cutPart(part, i === 0, i === parts.length - 1) }));
  const isCut = shown.some(({ text }, i) => text !== parts[i]?.text);
  return (
    <>
      <p className={css.text}>
        {shown.map(({ kind, text }, i) => {
          const Tag = kind === "same" ? "span" : kind === "removed" ? "del" : "ins";
          // The parts of two texts do not change.
          // oxlint-disable-next-line react/no-array-index-key
          return <Tag key={i}>{text}</Tag>;
        })}
      </p>
      {isCut && (
        <div>
          <Button look="quiet" onClick={() => setAll(true)}>
            Show all
          </Button>
        </div>
      )}
    </>
  );
}

function cutPart({ kind, text }: Part, isFirst: boolean, isLast: boolean): string {
  if (kind !== "same") return text.length > FIRST ? `${text.slice(0, FIRST)}…` : text;
  const [head, tail] = [isFirst ? 0 : BESIDE, isLast ? 0 : BESIDE];
  if (text.length <= head + tail + CUT) return text;
  return `${text.slice(0, head)} … ${tail === 0 ? "" : text.slice(-tail)}`;
}
