import { AlertDialog } from "radix-ui";
import { useState } from "react";
import { Button } from "../../ui/Button.tsx";
import dialog from "../../ui/dialog.module.css";
import css from "./Sidebar.module.css";

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
