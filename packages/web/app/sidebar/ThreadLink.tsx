import { useEffect, useRef, useState } from "react";
import { Link } from "wouter";
import { renameThread } from "../../api/queries.ts";
import type { ThreadRow } from "../../api/types.ts";
import { threadTip, threadTitle, waits } from "../../chat/thread-row.ts";
import controls from "../../ui/controls.module.css";
import { shortTime } from "../../ui/time.ts";
import { useTimeText } from "../../ui/Time.tsx";
import css from "./Sidebar.module.css";
import { Ellipsis } from "lucide-react";
import { usePressed } from "../../ui/on-demand.ts";
import type { Props } from "./OpenedThreadMenu.tsx";

const WORDS = { interrupted: "waiting for you", busy: "running", error: "failed", idle: "" };

/** One thread of the list. Its state is shown by shape, colour and text. */
export function ThreadLink({ thread, current }: { thread: ThreadRow; current: boolean }) {
  const [renaming, setRenaming] = useState(false);
  const title = threadTitle(thread);
  const changed = useTimeText(() => shortTime(thread.updated_at));
  const state = thread.status === "interrupted" && !waits(thread) ? "idle" : thread.status;
  if (renaming)
    return (
      <li>
        <Rename
          title={title}
          onDone={(next) => {
            setRenaming(false);
            if (next !== "" && next !== title) void renameThread(thread.thread_id, next).catch(() => undefined);
          }}
        />
      </li>
    );
  return (
    <li className={css.item} data-current={current || undefined}>
      <Link href={`/chat/${thread.thread_id}`} className={css.link} aria-current={current ? "page" : undefined}>
        <span className={css.glyph} data-status={state} aria-hidden />
        <span className={css.title} title={threadTip(title, thread.thread_id)}>
          {title}
        </span>
        {state !== "idle" && <span className="visually-hidden">, {WORDS[state]}</span>}
        <time className={css.time} dateTime={thread.updated_at}>
          {changed}
        </time>
      </Link>
      <ThreadMenu threadId={thread.thread_id} title={title} current={current} onRename={() => setRenaming(true)} />
    </li>
  );
}

function Rename({ title, onDone }: { title: string; onDone: (title: string) => void }) {
  const box = useRef<HTMLInputElement>(null);
  const [text, setText] = useState(title);
  useEffect(() => box.current?.select(), []);
  return (
    <input
      ref={box}
      className={controls.field}
      aria-label="Title of the thread"
      value={text}
      onChange={(event) => setText(event.target.value)}
      onBlur={() => onDone(text.trim())}
      onKeyDown={(event) => {
        if (event.key === "Enter") onDone(text.trim());
        if (event.key === "Escape") onDone(title);
      }}
    />
  );
}

const loadMenu = async () => (await import("./OpenedThreadMenu.tsx")).default;

/** The menu of a thread of the list. */
function ThreadMenu(props: Props) {
  const { Opened, button } = usePressed(loadMenu);
  const trigger = (
    <button {...button} className={`${controls.icon} ${css.menu}`} aria-label={`More about ${props.title}`}>
      <Ellipsis size={16} aria-hidden />
    </button>
  );
  return Opened ? <Opened {...props} trigger={trigger} /> : trigger;
}
