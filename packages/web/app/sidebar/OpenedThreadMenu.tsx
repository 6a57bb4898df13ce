/** The menu of a thread, once it was opened, and the dialog that deletes the thread. */
import { DropdownMenu } from "radix-ui";
import { type ReactNode, useRef, useState } from "react";
import { useLocation } from "wouter";
import { useRefusal } from "../../api/me.ts";
import { deleteThread } from "../../api/queries.ts";
import menu from "../../ui/menu.module.css";
import { DeleteThread } from "./DeleteThread.tsx";

export interface Props {
  threadId: string;
  title: string;
  /** The thread is in view. */
  current: boolean;
  onRename: () => void;
}

export default function OpenedThreadMenu({
  trigger,
  threadId,
  title,
  current,
  onRename,
}: Props & { trigger: ReactNode }) {
  const refusal = useRefusal("threads.write");
  const item = { disabled: refusal !== undefined, title: refusal };
  const [deleting, setDeleting] = useState(false);
  const [, navigate] = useLocation();
  const renaming = useRef(false);
  return (
    <>
      <DropdownMenu.Root modal={false} defaultOpen>
        <DropdownMenu.Trigger asChild>{trigger}</DropdownMenu.Trigger>
        <DropdownMenu.Portal>
          <DropdownMenu.Content
            className={menu.menu}
            align="end"
            collisionPadding={8}
            onCloseAutoFocus={(event) => renaming.current && event.preventDefault()}
          >
            <DropdownMenu.Item
              className={menu.item}
              {...item}
              onSelect={() => {
                renaming.current = true;
                setTimeout(onRename);
              }}
            >
              Rename
            </DropdownMenu.Item>
            <DropdownMenu.Item
              className={menu.item}
              onSelect={() => void navigator.clipboard.writeText(threadId).catch(() => undefined)}
            >
              Copy thread id
            </DropdownMenu.Item>
            <DropdownMenu.Separator className={menu.rule} />
            <DropdownMenu.Item className={menu.item} {...item} data-danger onSelect={() => setDeleting(true)}>
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
          await deleteThread(threadId);
          if (current) navigate("/chat");
        }}
      />
    </>
  );
}
