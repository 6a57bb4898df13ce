/** The menu of a thread, once it was opened, and the dialog that deletes the thread. */
import { DropdownMenu, AlertDialog } from "radix-ui";
import { type ReactNode, useRef, useState } from "react";
import { useLocation } from "wouter";
import { useRefusal } from "../../api/me.ts";
import { deleteThread } from "../../api/queries.ts";
import menu from "../../ui/menu.module.css";
import { Button } from "../../ui/Button.tsx";
import dialog from "../../ui/dialog.module.css";
import css from "./Sidebar.module.css";

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

export function DeleteThread({
  open,
  onOpen,
  title,
  onDelete,
}: {
  open: boolean;
  onOpen: (open: boolean) => void;
  title: string;
  onDelete: () => Promise<void>;
}) {
  const [trouble, setTrouble] = useState("");
  return (
    <AlertDialog.Root open={open} onOpenChange={onOpen}>
      <AlertDialog.Portal>
        <AlertDialog.Overlay className={dialog.overlay} />
        <AlertDialog.Content className={dialog.dialog}>
          <AlertDialog.Title className={dialog.dialogTitle}>Delete “{title}”?</AlertDialog.Title>
          <AlertDialog.Description className={css.describe}>
            Its messages, runs and checkpoints go with it. This cannot be undone.
          </AlertDialog.Description>
          {trouble !== "" && (
            <p className={css.trouble} role="alert">
              {trouble}
            </p>
          )}
          <div className={css.choices}>
            <AlertDialog.Cancel asChild>
              <Button>Cancel</Button>
            </AlertDialog.Cancel>
            <Button
              look="danger"
              onClick={() => {
                onDelete().then(
                  () => onOpen(false),
                  (error: unknown) => setTrouble(error instanceof Error ? error.message : "It was not deleted."),
                );
              }}
            >
              Delete thread
            </Button>
          </div>
        </AlertDialog.Content>
      </AlertDialog.Portal>
    </AlertDialog.Root>
  );
}
