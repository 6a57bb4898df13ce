/** Asks before something is lost. The dialog stays open with the reason when the server refuses. */
import { AlertDialog } from "radix-ui";
import { useState } from "react";
import frame from "../frame/Shell.module.css";
import { Button } from "../ui/Button.tsx";
import css from "./confirm.module.css";

export function Confirm({
  title,
  text,
  action,
  keep = "Cancel",
  onConfirm,
  onClose,
}: {
  title: string;
  /** What is lost. */
  text: string;
  /** The words of the button that does it. */
  action: string;
  /** The words of the button that does not. */
  keep?: string;
  onConfirm: () => Promise<void>;
  onClose: () => void;
}) {
  const [trouble, setTrouble] = useState("");
  const [busy, setBusy] = useState(false);
  const confirm = async () => {
    setBusy(true);
    try {
      await onConfirm();
      onClose();
    } catch (error) {
      setTrouble(error instanceof Error ? error.message : "The server did not do it.");
      setBusy(false);
    }
  };
  return (
    <AlertDialog.Root open onOpenChange={(open) => !open && onClose()}>
      <AlertDialog.Portal>
        <AlertDialog.Overlay className={frame.overlay} />
        <AlertDialog.Content className={frame.dialog}>
          <AlertDialog.Title className={frame.dialogTitle}>{title}</AlertDialog.Title>
          <AlertDialog.Description className={css.text}>{text}</AlertDialog.Description>
          {trouble !== "" && (
            <p className={css.trouble} role="alert">
              {trouble}
            </p>
          )}
          <div className={css.choices}>
            <AlertDialog.Cancel asChild>
              <Button>{keep}</Button>
            </AlertDialog.Cancel>
            <Button look="danger" disabled={busy} onClick={() => void confirm()}>
              {action}
            </Button>
          </div>
        </AlertDialog.Content>
      </AlertDialog.Portal>
    </AlertDialog.Root>
  );
}
