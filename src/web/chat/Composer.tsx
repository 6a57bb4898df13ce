/** Where one writes. Send and Stop are one button in one place; focus stays here. */
import { ArrowUp, Square } from "lucide-react";
import { type RefObject, useEffect, useState } from "react";
import css from "./Composer.module.css";
import { coarse } from "../frame/device.ts";
import { LinkButton } from "../ui/LinkButton.tsx";

export interface Queued {
  id: string;
  text: string;
}

const draftKey = (threadId: string | undefined) => `weir.draft.${threadId ?? "new"}`;

export function Composer({
  box,
  threadId,
  running,
  closed,
  hint,
  queued,
  onUnqueue,
  onSend,
  onStop,
  recall,
}: {
  box: RefObject<HTMLTextAreaElement | null>;
  threadId: string | undefined;
  running: boolean;
  /** Why nothing can be written now, or undefined. */
  closed: string | undefined;
  hint: string;
  queued: Queued[];
  onUnqueue: (id: string) => void;
  onSend: (text: string) => void;
  onStop: () => void;
  /** The last message sent, for the up arrow. */
  recall: string | undefined;
}) {
  const [text, setText] = useState(() => sessionStorage.getItem(draftKey(threadId)) ?? "");
  useEffect(() => {
    if (text === "") sessionStorage.removeItem(draftKey(threadId));
    else sessionStorage.setItem(draftKey(threadId), text);
  }, [text, threadId]);

  useEffect(() => {
    // On touch it would bring up the keyboard over an empty page.
    if (threadId === undefined && !coarse) box.current?.focus();
  }, [threadId, box]);

  const send = () => {
    const sent = text.trim();
    if (sent === "" || closed !== undefined) return;
    setText("");
    onSend(sent);
    if (!coarse) box.current?.focus();
  };
  const stops = running && text.trim() === "";
  return (
    <form
      className={css.composer}
      aria-label="Message"
      onSubmit={(event) => {
        event.preventDefault();
        send();
      }}
    >
      {queued.length > 0 && (
        <ul className={css.queue} aria-label="Queued in this tab">
          {queued.map((item) => (
            <li key={item.id}>
              <span className={css.queued}>{item.text}</span>
              <span className={css.note}>queued in this tab</span>
              <LinkButton
                onClick={() => {
                  onUnqueue(item.id);
                  setText((now) => (now === "" ? item.text : `${item.text}\n${now}`));
                  box.current?.focus();
                }}
              >
                Edit
              </LinkButton>
              <LinkButton onClick={() => onUnqueue(item.id)}>Remove</LinkButton>
            </li>
          ))}
        </ul>
      )}
      <div className={css.box}>
        <textarea
          ref={box}
          id="composer"
          rows={1}
          aria-label="Message"
          value={text}
          disabled={closed !== undefined}
          placeholder={closed ?? hint}
          enterKeyHint={coarse ? "enter" : "send"}
          onChange={(event) => setText(event.target.value)}
          onKeyDown={(event) => {
            if (event.nativeEvent.isComposing) return;
            if (event.key === "ArrowUp" && text === "" && recall) {
              event.preventDefault();
              setText(recall);
            }
            // On touch, Enter breaks the line: there is no Shift at hand.
            if (event.key === "Enter" && !event.shiftKey && (!coarse || event.ctrlKey || event.metaKey)) {
              event.preventDefault();
              send();
            }
          }}
        />
        {stops ? (
          <button type="button" className={css.send} aria-label="Stop" title="Stop (Ctrl .)" onClick={onStop}>
            <Square size={14} fill="currentColor" aria-hidden />
          </button>
        ) : (
          <button
            type="submit"
            className={css.send}
            aria-label={running ? "Queue message" : "Send message"}
            title={running ? "Queue message (Enter)" : "Send message (Enter)"}
            disabled={text.trim() === "" || closed !== undefined}
          >
            <ArrowUp size={18} aria-hidden />
          </button>
        )}
      </div>
    </form>
  );
}
