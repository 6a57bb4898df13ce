import { Ellipsis } from "lucide-react";
import { DropdownMenu } from "radix-ui";
import { useEffect, useRef, useState } from "react";
import { Link, useLocation } from "wouter";
import { deleteThread, renameThread } from "../api/queries.ts";
import type { ThreadRow } from "../api/types.ts";
import controls from "../ui/controls.module.css";
import menu from "../ui/menu.module.css";
import { shortTime } from "../ui/time.ts";
import { DeleteThread } from "./DeleteThread.tsx";
import { titleOf, waits } from "./groups.ts";
import css from "./Sidebar.module.css";

const WORDS = { interrupted: "waiting for you", busy: "running", error: "failed", idle: "" };

/** One thread of the list. Its state is shown by shape, colour and text. */
export function ThreadLink({ thread, current }: { thread: ThreadRow; current: boolean }) {
  const [renaming, setRenaming] = useState(false);
  const [deleting, setDeleting] = useState(false);
  const [, navigate] = useLocation();
  const title = titleOf(thread);
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
        <span className={css.title} title={title}>
          {title}
        </span>
        {state !== "idle" && <span className="visually-hidden">, {WORDS[state]}</span>}
        <time className={css.time} dateTime={thread.updated_at}>
          {shortTime(thread.updated_at)}
        </time>
      </Link>
      <DropdownMenu.Root modal={false}>
        <DropdownMenu.Trigger className={`${controls.icon} ${css.menu}`} aria-label={`More about ${title}`}>
          <Ellipsis size={16} aria-hidden />
        </DropdownMenu.Trigger>
        <DropdownMenu.Portal>
          <DropdownMenu.Content
            className={menu.menu}
            align="end"
            collisionPadding={8}
            onCloseAutoFocus={(event) => renaming && event.preventDefault()}
          >
            <DropdownMenu.Item className={menu.item} onSelect={() => setTimeout(() => setRenaming(true))}>
              Rename
            </DropdownMenu.Item>
            <DropdownMenu.Item
              className={menu.item}
              onSelect={() => void navigator.clipboard.writeText(thread.thread_id).catch(() => undefined)}
            >
              Copy thread id
            </DropdownMenu.Item>
            <DropdownMenu.Separator className={menu.rule} />
            <DropdownMenu.Item className={menu.item} data-danger onSelect={() => setDeleting(true)}>
              Delete…
            </DropdownMenu.Item>
          </DropdownMenu.Content>
        </DropdownMenu.Portal>
      </DropdownMenu.Root>
      <DeleteThread
        open={deleting}
        onOpen={setDeleting}
        title={title}
        onDelete={async () => {
          await deleteThread(thread.thread_id);
          if (current) navigate("/chat");
        }}
      />
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
