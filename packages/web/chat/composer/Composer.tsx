/** The field for a message, with what is attached to it. Send and Stop are one button in one place; the focus stays here. */
import { ArrowUp, Paperclip, Square, FileText, Music, X } from "lucide-react";
import { type RefObject, useEffect, useRef, useState } from "react";
import { type Accepts, readFiles } from "./attach.ts";
import css from "./Composer.module.css";
import { coarse } from "../../ui/device.ts";
import { IconButton, LinkButton } from "../../ui/Button.tsx";
import { keepInTab } from "../../ui/storage.ts";
import type { Media } from "../turn/media.ts";
import type { Queued } from "./queue.ts";

const draftKey = (threadId: string | undefined) => `weir.draft.${threadId ?? "new"}`;

export function Composer({
  box,
  threadId,
  running,
  waitsFor,
  closed,
  hint,
  accepts,
  queued,
  onUnqueue,
  onSend,
  onStop,
  recall,
}: {
  box: RefObject<HTMLTextAreaElement | null>;
  threadId: string | undefined;
  running: boolean;
  /** The reason why the queued messages wait. */
  waitsFor: string;
  /** Why nothing can be written now, or undefined. */
  closed: string | undefined;
  hint: string;
  /** The files that the assistant takes. */
  accepts: Accepts;
  queued: Queued[];
  onUnqueue: (id: string) => void;
  onSend: (text: string, media: Media[]) => void;
  /** Undefined: the caller may not stop runs. */
  onStop: (() => void) | undefined;
  /** The last message sent, for the up arrow. */
  recall: string | undefined;
}) {
  const [text, setText] = useState(() => sessionStorage.getItem(draftKey(threadId)) ?? "");
  useEffect(() => {
    if (text === "") sessionStorage.removeItem(draftKey(threadId));
    else keepInTab(draftKey(threadId), text);
  }, [text, threadId]);

  useEffect(() => {
    // On touch the focus would bring up the keyboard.
    if (threadId === undefined && !coarse) box.current?.focus();
  }, [threadId, box]);

  const [media, setMedia] = useState<Media[]>([]);
  const [refused, setRefused] = useState("");
  const [dragged, setDragged] = useState(false);
  const picker = useRef<HTMLInputElement>(null);
  // Attached files count towards the limit before the next render, so files are read one choice after the other.
  const held = useRef<Media[]>([]);
  const hold = (next: Media[]) => {
    held.current = next;
    setMedia(next);
  };
  const reading = useRef(Promise.resolve());
  const attach = (files: Iterable<File>) => {
    const chosen = [...files];
    reading.current = reading.current.then(async () => {
      const read = await readFiles(chosen, accepts, held.current);
      hold([...held.current, ...read.media]);
      setRefused(read.refused);
      if (!coarse) box.current?.focus();
    });
  };
  const nothing = text.trim() === "" && media.length === 0;
  const send = () => {
    if (nothing || closed !== undefined) return;
    setText("");
    hold([]);
    setRefused("");
    onSend(text.trim(), media);
    if (!coarse) box.current?.focus();
  };
  return (
    <form
      className={css.composer}
      aria-label="Message"
      onSubmit={(event) => {
        event.preventDefault();
        send();
      }}
      onDragOver={(event) => {
        if (closed !== undefined || !event.dataTransfer.types.includes("Files")) return;
        event.preventDefault();
        setDragged(true);
      }}
      onDragLeave={() => setDragged(false)}
      onDrop={(event) => {
        if (closed !== undefined || event.dataTransfer.files.length === 0) return;
        event.preventDefault();
        setDragged(false);
        attach(event.dataTransfer.files);
      }}
    >
      {queued.length > 0 && (
        <ul className={css.queue} aria-label="Queued messages">
          {queued.map((item) => (
            <li key={item.id}>
              <span className={css.queued}>{item.text || item.media.map(({ name }) => name).join(", ")}</span>
              <span className={css.note}>Sent when {waitsFor}</span>
              <LinkButton
                onClick={() => {
                  onUnqueue(item.id);
                  setText((now) => [item.text, now].filter((part) => part !== "").join("\n"));
                  hold([...item.media, ...held.current]);
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
      <Attachments
        media={media}
        refused={refused}
        onRemove={(at) => {
          hold(held.current.filter((_, i) => i !== at));
          box.current?.focus();
        }}
      />
      <div className={css.box} data-dragged={dragged || undefined}>
        <input
          ref={picker}
          type="file"
          multiple
          hidden
          accept={accepts.list}
          onChange={(event) => {
            attach(event.target.files ?? []);
            event.target.value = "";
          }}
        />
        <IconButton
          label={`Attach ${accepts.words}`}
          className={css.attach}
          disabled={closed !== undefined}
          onClick={() => picker.current?.click()}
        >
          <Paperclip size={16} aria-hidden />
        </IconButton>
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
          onPaste={(event) => {
            const { files } = event.clipboardData;
            // Office programs add a picture of the text that they copy.
            if (files.length === 0 || event.clipboardData.getData("text/plain") !== "") return;
            event.preventDefault();
            attach(files);
          }}
          onKeyDown={(event) => {
            if (event.nativeEvent.isComposing) return;
            if (event.key === "ArrowUp" && text === "" && recall) {
              event.preventDefault();
              setText(recall);
            }
            // On touch, Enter breaks the line: there is no Shift key.
            if (event.key === "Enter" && !event.shiftKey && (!coarse || event.ctrlKey || event.metaKey)) {
              event.preventDefault();
              send();
            }
          }}
        />
        {(!running || !nothing) && (
          <button
            type="submit"
            className={css.send}
            data-look={running ? "plain" : undefined}
            aria-label={running ? "Queue message" : "Send message"}
            title={running ? "Queue message (Enter)" : "Send message (Enter)"}
            disabled={nothing || closed !== undefined}
          >
            <ArrowUp size={18} aria-hidden />
          </button>
        )}
        {running && onStop && (
          <button type="button" className={css.send} aria-label="Stop" title="Stop (Ctrl .)" onClick={onStop}>
            <Square size={14} fill="currentColor" aria-hidden />
          </button>
        )}
      </div>
    </form>
  );
}

/** The files that go with the message that is being written. */
function Attachments({
  media,
  refused,
  onRemove,
}: {
  media: Media[];
  refused: string;
  onRemove: (at: number) => void;
}) {
  return (
    <>
      {refused !== "" && (
        <p className={css.refused} role="alert">
          {refused}
        </p>
      )}
      {media.length > 0 && (
        <ul className={css.attached} aria-label="Attachments">
          {media.map((one, i) => (
            // A file may be attached twice.
            // oxlint-disable-next-line react/no-array-index-key
            <li key={i}>
              {one.kind === "image" ? (
                <img src={one.url} alt="" />
              ) : one.kind === "audio" ? (
                <Music size={16} aria-hidden />
              ) : (
                <FileText size={16} aria-hidden />
              )}
              <span title={one.name}>{one.name}</span>
              <IconButton label={`Remove ${one.name}`} onClick={() => onRemove(i)}>
                <X size={14} aria-hidden />
              </IconButton>
            </li>
          ))}
        </ul>
      )}
    </>
  );
}
