/** Changes from one value to another: from a checkpoint's previous state, or from another version. */
import { useMemo, useState } from "react";
import type { ReadMessage } from "../../traces/trace/messages.ts";
import { Messages } from "../../traces/trace/Value.tsx";
import { Button } from "../../ui/Button.tsx";
import { countText } from "../../ui/format.ts";
import { Payload } from "../../ui/Payload.tsx";
import { type Change, listChanges, readSaid, diffTexts, type Part } from "./changes.ts";
import css from "./changes.module.css";

const SHOWN = 50;
/** Characters of a value that is shown within its line, and of two that are shown one after the other. */
const SHORT = 80;
const SHORT_OF_TWO = 40;
const SIGNS = { added: "+", removed: "−", changed: "±" };

export function Changes({
  title = "Changes since the previous checkpoint",
  same = "The state is the same.",
  before,
  now,
}: {
  title?: string;
  /** Said when nothing changed. */
  same?: string;
  before: object | null | undefined;
  now: object;
}) {
  const changes = useMemo(() => (before ? listChanges(before, now) : []), [before, now]);
  const [all, setAll] = useState(false);
  if (!before) return null;
  return (
    <section aria-label={title}>
      <h2 className={css.head}>{title}</h2>
      {changes.length === 0 && <p className={css.none}>{same}</p>}
      <ul className={css.changes}>
        {changes.slice(0, all ? undefined : SHOWN).map((change) => (
          <li key={`${change.kind} ${change.path}`} data-kind={change.kind}>
            <span className={css.sign} aria-hidden>
              {SIGNS[change.kind]}
            </span>
            <code>{change.path}</code> <span className={css.kind}>{change.kind}</span>{" "}
            {change.kind === "changed" ? <Changed {...change} /> : <Whole {...change} />}
          </li>
        ))}
      </ul>
      {!all && changes.length > SHOWN && (
        <Button look="quiet" onClick={() => setAll(true)}>
          Show all {countText(changes.length)} changes
        </Button>
      )}
    </section>
  );
}

/** A value that was added or removed. */
function Whole({ path, kind, value }: Extract<Change, { value: unknown }>) {
  const said = readSaid(value);
  if (said) return <Messages said={[said]} />;
  const short = shortText(value, SHORT);
  if (short === undefined) return <Payload label={path} text={formatValue(value)} />;
  const Tag = kind === "added" ? "ins" : "del";
  return <Tag>{short}</Tag>;
}

function Changed({ before, now }: Extract<Change, { before: unknown }>) {
  const [said, saidNow] = [readSaid(before), readSaid(now)];
  if (said && saidNow) return <ChangedMessage before={said} now={saidNow} />;
  const quoted = typeof before !== typeof now;
  const [short, shortNow] = [shortText(before, SHORT_OF_TWO, quoted), shortText(now, SHORT_OF_TWO, quoted)];
  if (short === undefined || shortNow === undefined)
    return <TextDiff before={formatValue(before)} now={formatValue(now)} />;
  return <FromTo before={short} now={shortNow} />;
}

const FromTo = ({ before, now }: { before: string; now: string }) => (
  <>
    <del>{before}</del>{" "}
    <span className={css.arrow}>
      <span aria-hidden>→</span>
      <span className="visually-hidden">to</span>
    </span>{" "}
    <ins>{now}</ins>
  </>
);

function ChangedMessage({ before, now }: { before: ReadMessage; now: ReadMessage }) {
  const calls = Array.from({ length: Math.max(before.calls.length, now.calls.length) }, (_, i) => [
    formatCall(before.calls[i]),
    formatCall(now.calls[i]),
  ]);
  return (
    <div className={css.message}>
      <h4>{before.role === now.role ? now.role : <FromTo before={before.role} now={now.role} />}</h4>
      {(before.text !== "" || now.text !== "") && <TextDiff before={before.text} now={now.text} />}
      {calls.map(([was = "", is = ""], i) => (
        // A message does not change the order of its calls.
        // oxlint-disable-next-line react/no-array-index-key
        <TextDiff key={i} before={was} now={is} />
      ))}
    </div>
  );
}

const formatCall = (call: ReadMessage["calls"][number] | undefined): string =>
  call === undefined ? "" : `Calls ${call.name} ${call.args}`;

const formatValue = (value: unknown): string =>
  typeof value === "string" ? value : (JSON.stringify(value, null, 2) ?? "");

/** A value within a line; undefined where it has no room there. A blank text is quoted. */
function shortText(value: unknown, most: number, quoted = false): string | undefined {
  const text = typeof value === "string" && value.trim() !== "" && !quoted ? value : JSON.stringify(value);
  return text === undefined || text.length > most || text.includes("\n") ? undefined : text;
}

/** Characters of an unchanged part that are shown beside a change, and what a part must have more to be cut. */
const BESIDE = 120;
const CUT = 80;
/** Characters of a changed part that are shown at first. */
const FIRST = 2_000;

/** A text that changed, with what was removed and added in its place. */
function TextDiff({ before, now }: { before: string; now: string }) {
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
