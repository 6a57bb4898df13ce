/** A run that waits for a person: its proposed actions, and the answers that it allows. Brass, and never collapsed. */
import { Check, X } from "lucide-react";
import { useEffect, useId, useRef, useState } from "react";
import type { Interrupt } from "../../api/types.ts";
import { Button } from "../../ui/Button.tsx";
import { ActionCard } from "./ActionCard.tsx";
import { type Action, type Decision as Answer, parseInterrupt } from "./decisions.ts";
import css from "./Decision.module.css";
import { resultText } from "./messages.ts";
import { describeDecision } from "./past.ts";
import { createInterruptLink, type InterruptLink } from "../../api/queries.ts";
import { useAction } from "../../api/me.ts";
import { soonTime } from "../../ui/time.ts";

export interface Reply {
  value: unknown;
  /** "approved issue_refund", for each answer: what stays in the conversation. */
  said: { words: string; refused: boolean }[];
}

export function Decision({
  threadId,
  interrupt,
  position,
  reply,
  sending,
  onReply,
  onChange,
}: {
  threadId: string | undefined;
  interrupt: Interrupt;
  /** "1 of 2", when more than one waits: then they are sent together, and not from here. */
  position: string | undefined;
  /** The answer that waits for the others. */
  reply: Reply | undefined;
  sending: boolean;
  onReply: (reply: Reply) => void;
  onChange: () => void;
}) {
  const parsed = parseInterrupt(interrupt.value);
  const card = useRef<HTMLElement>(null);
  const answered = useRef(false);
  useEffect(() => {
    // "Change" is removed when it is pressed: the focus moves to the opened element.
    if (answered.current && !reply) card.current?.querySelector<HTMLElement>("textarea, button")?.focus();
    answered.current = reply !== undefined;
  }, [reply]);
  return (
    <section
      ref={card}
      className={css.card}
      aria-label={position ? `Waiting for you, ${position}` : "Waiting for you"}
      data-decision
      data-decided={reply && true}
      tabIndex={-1}
    >
      {position && <p className={css.place}>{position}</p>}
      {reply && parsed.kind === "text" && <p className={`text ${css.question}`}>{parsed.text}</p>}
      {reply && (
        <div className={css.answered}>
          {reply.said.every((one) => one.refused) ? <X size={14} aria-hidden /> : <Check size={14} aria-hidden />}
          <span className="text">
            {typeof reply.value === "string" ? reply.value : reply.said.map((one) => one.words).join(", ")}
          </span>
          <Button look="quiet" onClick={onChange} disabled={sending}>
            Change
          </Button>
        </div>
      )}
      {/* A written text stays, for a change of mind. */}
      <div className={css.body} hidden={reply !== undefined}>
        {parsed.kind === "actions" ? (
          <Actions actions={parsed.actions} together={position !== undefined} sending={sending} onReply={onReply} />
        ) : (
          <FreeReply
            text={parsed.kind === "text" ? parsed.text : undefined}
            value={parsed.kind === "value" ? parsed.value : undefined}
            together={position !== undefined}
            sending={sending}
            onReply={onReply}
          />
        )}
        {threadId !== undefined && <CopyLink threadId={threadId} interruptId={interrupt.id} />}
      </div>
    </section>
  );
}

function Actions({
  actions,
  together,
  sending,
  onReply,
}: {
  actions: Action[];
  together: boolean;
  sending: boolean;
  onReply: (reply: Reply) => void;
}) {
  const [decisions, setDecisions] = useState<Record<number, Answer>>({});
  const several = actions.length > 1;
  const made = Object.keys(decisions).length;
  const send = (all: Answer[]) =>
    onReply({
      value: { decisions: all },
      said: all.map((decision, i) => describeDecision(decision, actions[i]!.name)),
    });
  return (
    <>
      {several && <p className={css.several}>{actions.length} actions wait for you</p>}
      {actions.map((action, i) => (
        <ActionCard
          // The order of the actions is the order of the answers.
          // oxlint-disable-next-line react/no-array-index-key
          key={i}
          action={action}
          position={several ? `${i + 1} of ${actions.length}` : undefined}
          decision={decisions[i]}
          sending={sending}
          onDecide={(decision) => {
            if (!several && decision) send([decision]);
            else if (decision) setDecisions({ ...decisions, [i]: decision });
            else setDecisions(Object.fromEntries(Object.entries(decisions).filter(([key]) => Number(key) !== i)));
          }}
        />
      ))}
      {several && (
        <div className={css.buttons}>
          <Button
            look="brass"
            disabled={made < actions.length || sending}
            onClick={() => send(actions.map((_, i) => decisions[i]!))}
          >
            {made < actions.length
              ? `${made} of ${actions.length} decided`
              : together
                ? "Done"
                : `Send ${made} decisions`}
          </Button>
          {made === 0 && actions.every((action) => action.allowed.includes("approve")) && (
            <Button disabled={sending} onClick={() => send(actions.map(() => ({ type: "approve" })))}>
              Approve all {actions.length}
            </Button>
          )}
        </div>
      )}
    </>
  );
}

function FreeReply({
  text,
  value,
  together,
  sending,
  onReply,
}: {
  text: string | undefined;
  value: unknown;
  together: boolean;
  sending: boolean;
  onReply: (reply: Reply) => void;
}) {
  const id = useId();
  const [reply, setReply] = useState("");
  const send = () => {
    if (reply.trim() !== "" && !sending) onReply({ value: reply, said: [describeDecision(reply, undefined)] });
  };
  return (
    <form
      className={css.free}
      onSubmit={(event) => {
        event.preventDefault();
        send();
      }}
    >
      <label htmlFor={id} className={`text ${css.question}`}>
        {text ?? "The agent is waiting for an answer."}
      </label>
      {text === undefined && <pre className={css.value}>{resultText(value)}</pre>}
      <textarea
        id={id}
        rows={2}
        className={css.reply}
        value={reply}
        placeholder="Your answer"
        onChange={(event) => setReply(event.target.value)}
        onKeyDown={(event) => {
          if (event.key === "Enter" && (event.metaKey || event.ctrlKey)) {
            event.preventDefault();
            send();
          }
        }}
      />
      <div className={css.buttons}>
        <Button look="brass" type="submit" disabled={reply.trim() === "" || sending}>
          {together ? "Done" : "Send answer"}
        </Button>
      </div>
    </form>
  );
}

/** Copies a link by which a person without an account answers the question. */
function CopyLink({ threadId, interruptId }: { threadId: string; interruptId: string }) {
  const [made, setMade] = useState<InterruptLink>();
  const [copied, setCopied] = useState(false);
  const { busy, trouble, run } = useAction("runs.create");
  const copy = () =>
    run(async () => {
      const link = made ?? (await createInterruptLink(threadId, interruptId));
      setMade(link);
      const taken = await navigator.clipboard.writeText(link.url).then(
        () => true,
        () => false,
      );
      setCopied(taken);
    });
  return (
    <div className={css.link}>
      <Button look="quiet" disabled={busy} onClick={() => void copy()}>
        Copy link to answer
      </Button>
      {made && !copied && !busy && (
        <input
          className={css.reply}
          readOnly
          value={made.url}
          aria-label="Link to answer"
          onFocus={(event) => event.target.select()}
        />
      )}
      <p role={trouble === "" ? "status" : "alert"} className={css.linked}>
        {trouble !== ""
          ? trouble
          : made && `${copied ? "Copied. " : ""}Who has the link can answer until ${soonTime(made.expires_at)}.`}
      </p>
    </div>
  );
}
