import { Dialog } from "radix-ui";
import { X } from "lucide-react";
import dialog from "../ui/dialog.module.css";
import { IconButton } from "../ui/Button.tsx";
import { KEY_LIST } from "../ui/keys.ts";
import css from "./Shell.module.css";

export function KeySheet({ open, onOpen }: { open: boolean; onOpen: (open: boolean) => void }) {
  return (
    <Dialog.Root open={open} onOpenChange={onOpen}>
      <Dialog.Portal>
        <Dialog.Overlay className={dialog.overlay} />
        <Dialog.Content className={dialog.dialog} aria-describedby={undefined}>
          <div className={dialog.dialogHead}>
            <Dialog.Title className={dialog.dialogTitle}>Keyboard shortcuts</Dialog.Title>
            <Dialog.Close asChild>
              <IconButton label="Close">
                <X size={16} aria-hidden />
              </IconButton>
            </Dialog.Close>
          </div>
          <dl className={css.keys}>
            {KEY_LIST.map(([keys, what]) => (
              <div key={keys}>
                <dt>{keys}</dt>
                <dd>{what}</dd>
              </div>
            ))}
          </dl>
        </Dialog.Content>
      </Dialog.Portal>
    </Dialog.Root>
  );
}
