/** Asks before something that cannot be undone. The button says what is done. */
import { AlertDialog } from "radix-ui";
import { type ReactNode, useState } from "react";
import type { Permission } from "../../../src/http/principal.ts";
import { useAction } from "../api/me.ts";
import { Button } from "../ui/Button.tsx";
import dialog from "../ui/dialog.module.css";
import { opener } from "../ui/Modal.tsx";
import css from "../ui/modal.module.css";
import { useLocation } from "wouter";

export function Confirm({
  title,
  text,
  act,
  needs,
  onAct,
  onClose,
}: {
  title: string;
  text: ReactNode;
  /** On the button: verb and object. */
  act: string;
  /** The permission that the server requires for it. */
  needs: Permission;
  /** An error is shown in the dialog, which then stays. */
  onAct: () => Promise<void>;
  onClose: () => void;
}) {
  const [back] = useState(opener);
  const action = useAction(needs);
  return (
    <AlertDialog.Root open onOpenChange={(open) => !open && onClose()}>
      <AlertDialog.Portal>
        <AlertDialog.Overlay className={dialog.overlay} />
        <AlertDialog.Content className={dialog.dialog} onCloseAutoFocus={back}>
          <AlertDialog.Title className={dialog.dialogTitle}>{title}</AlertDialog.Title>
          <AlertDialog.Description className={css.text}>{text}</AlertDialog.Description>
          {action.trouble !== "" && (
            <p className={css.trouble} role="alert">
              {action.trouble}
            </p>
          )}
          <div className={css.choices}>
            <AlertDialog.Cancel asChild>
              <Button>Go back</Button>
            </AlertDialog.Cancel>
            <Button
              look="danger"
              {...action.button}
              onClick={() =>
                void action.run(async () => {
                  await onAct();
                  onClose();
                })
              }
            >
              {act}
            </Button>
          </div>
        </AlertDialog.Content>
      </AlertDialog.Portal>
    </AlertDialog.Root>
  );
}

/** Asks before what a page shows is deleted, and then goes back to the list that it was in. */
export function ConfirmDelete({
  title,
  text,
  what,
  needs,
  list,
  onDelete,
  onClose,
}: {
  title: string;
  text: string;
  /** The kind of it: what the button names. */
  what: string;
  needs: Permission;
  list: string;
  onDelete: () => Promise<void>;
  onClose: () => void;
}) {
  const [, navigate] = useLocation();
  return (
    <Confirm
      title={title}
      text={text}
      act={`Delete ${what}`}
      needs={needs}
      onAct={async () => {
        await onDelete();
        navigate(list);
      }}
      onClose={onClose}
    />
  );
}
