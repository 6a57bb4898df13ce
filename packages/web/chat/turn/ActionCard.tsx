/** One action that requires a decision: its arguments as a list, and a button for each answer that it allows. */
import { Check, X } from "lucide-react";
import { useEffect, useId, useRef, useState } from "react";
import { Button } from "../../ui/Button.tsx";
import { FieldInput } from "../../ui/FieldInput.tsx";
import type { Action, Decision as Answer } from "./decisions.ts";
import css from "./Decision.module.css";
import { fieldOfValue, fromText, toText } from "../../ui/fields.ts";
import { describeDecision } from "./past.ts";

type Mode = "choose" | "edit" | "reject" | "respond";

export function ActionCard({
  action,
  position,
  decision,
  sending,
  onDecide,
}: {
  action: Action;
  position: string | undefined;
  decision: Answer | undefined;
  sending: boolean;
  onDecide: (decision: Answer | undefined) => void;
}) {
  const [mode, setMode] = useState<Mode>("choose");
  const id = useId();
  const card = useRef<HTMLDivElement>(null);
  const shown = decision ? "answered" : mode;
  const before = useRef<Mode | "answered">("choose");
  useEffect(() => {
    // The focused element was removed: the focus moves to the first opened field, or back to the button that opened it.
    const was = before.current;
    before.current = shown;
    if (was === shown || shown === "answered") return;
    const back = card.current?.querySelector<HTMLElement>(`[data-opens="${was}"]`);
    const first = card.current?.querySelector<HTMLElement>(shown === "choose" ? "button" : "input, textarea, select");
    (shown === "choose" ? (back ?? first) : first)?.focus();
  }, [shown]);
  if (decision) {
    const { words, refused } = describeDecision(decision, action.name);
    return (
      <div className={css.answered}>
        {refused ? <X size={14} aria-hidden /> : <Check size={14} aria-hidden />}
        <span className="text">{words}</span>
        <Button look="quiet" onClick={() => onDecide(undefined)} disabled={sending}>
          Change
        </Button>
      </div>
    );
  }
  return (
    <div
      ref={card}
      className={css.action}
      role="group"
      aria-labelledby={id}
      onKeyDown={(event) => {
        const approves = event.key === "Enter" && (event.metaKey || event.ctrlKey) && mode === "choose";
        if (approves && action.allowed.includes("approve") && !sending) onDecide({ type: "approve" });
      }}
    >
      <div className={css.head}>
        <h3 id={id}>
          Approve <code>{action.name}</code>?
        </h3>
        {position && <span className={css.place}>{position}</span>}
      </div>
      {action.description && <p className={css.description}>{action.description}</p>}
      {mode === "edit" ? (
        <EditArguments action={action} sending={sending} onDecide={onDecide} onLeave={() => setMode("choose")} />
      ) : (
        <Arguments args={action.args} />
      )}
      {mode === "choose" && (
        <div className={css.buttons} data-dock>
          {action.allowed.includes("approve") && (
            <Button
              look={position ? "plain" : "brass"}
              disabled={sending}
              onClick={() => onDecide({ type: "approve" })}
            >
              Approve<span className="visually-hidden"> {action.name}</span>
            </Button>
          )}
          {action.allowed.includes("edit") && (
            <Button disabled={sending} data-opens="edit" onClick={() => setMode("edit")}>
              Edit
            </Button>
          )}
          {action.allowed.includes("reject") && (
            <Button disabled={sending} data-opens="reject" onClick={() => setMode("reject")}>
              Reject…
            </Button>
          )}
          {action.allowed.includes("respond") && (
            <Button disabled={sending} data-opens="respond" onClick={() => setMode("respond")}>
              Respond…
            </Button>
          )}
        </div>
      )}
      {(mode === "reject" || mode === "respond") && (
        <Words mode={mode} name={action.name} sending={sending} onDecide={onDecide} onLeave={() => setMode("choose")} />
      )}
    </div>
  );
}

function Arguments({ args }: { args: Record<string, unknown> }) {
  const entries = Object.entries(args);
  if (entries.length === 0) return <p className={css.description}>No arguments.</p>;
  return (
    <dl className={css.args}>
      {entries.map(([name, value]) => {
        const { kind } = fieldOfValue(name, value);
        return (
          <div key={name}>
            <dt>{name}</dt>
            <dd dir={kind === "json" ? "ltr" : undefined}>{toText(value, kind)}</dd>
          </div>
        );
      })}
    </dl>
  );
}

function EditArguments({
  action,
  sending,
  onDecide,
  onLeave,
}: {
  action: Action;
  sending: boolean;
  onDecide: (decision: Answer) => void;
  onLeave: () => void;
}) {
  const id = useId();
  const fields = Object.entries(action.args).map(([name, value]) => fieldOfValue(name, value));
  const original = Object.fromEntries(fields.map((field) => [field.name, toText(action.args[field.name], field.kind)]));
  const [texts, setTexts] = useState<Record<string, string>>(original);
  const read = fields.map((field) => ({ field, ...fromText(texts[field.name] ?? "", field.kind) }));
  const wrong = read.some((one) => one.error !== undefined);
  return (
    <form
      className={css.form}
      onSubmit={(event) => {
        event.preventDefault();
        const args = Object.fromEntries(read.map((one) => [one.field.name, one.value ?? null]));
        if (!wrong) onDecide({ type: "edit", edited_action: { name: action.name, args } });
      }}
    >
      {read.map(({ field, error }) => (
        <FieldInput
          key={field.name}
          id={`${id}-${field.name}`}
          field={field}
          text={texts[field.name] ?? ""}
          error={error}
          changed={texts[field.name] !== original[field.name]}
          onText={(text) => setTexts({ ...texts, [field.name]: text })}
        />
      ))}
      <div className={css.buttons}>
        <Button look="brass" type="submit" disabled={wrong || sending}>
          Approve with edits
        </Button>
        <Button onClick={() => setTexts(original)}>Reset</Button>
        <Button look="quiet" onClick={onLeave}>
          Cancel
        </Button>
      </div>
    </form>
  );
}

function Words({
  mode,
  name,
  sending,
  onDecide,
  onLeave,
}: {
  mode: "reject" | "respond";
  name: string;
  sending: boolean;
  onDecide: (decision: Answer) => void;
  onLeave: () => void;
}) {
  const id = useId();
  const [text, setText] = useState("");
  const reject = mode === "reject";
  return (
    <form
      className={css.form}
      onSubmit={(event) => {
        event.preventDefault();
        if (reject) onDecide({ type: "reject", ...(text.trim() === "" ? {} : { message: text }) });
        else onDecide({ type: "respond", message: text });
      }}
    >
      <FieldInput
        id={id}
        field={{ name: mode, label: reject ? "Why not? (optional)" : "What the agent should know", kind: "long" }}
        text={text}
        onText={setText}
      />
      <div className={css.buttons}>
        <Button look="brass" type="submit" disabled={sending || (!reject && text.trim() === "")}>
          {reject ? `Reject ${name}` : "Send answer"}
        </Button>
        <Button look="quiet" onClick={onLeave}>
          Cancel
        </Button>
      </div>
    </form>
  );
}
