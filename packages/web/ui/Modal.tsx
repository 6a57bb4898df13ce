/** A dialog over the page. The focus goes back to what opened it, or to the content if that is gone. */
import { X } from "lucide-react";
import { Dialog } from "radix-ui";
import { type ReactNode, useState } from "react";
import { coarse } from "./device.ts";
import dialog from "./dialog.module.css";
import { IconButton } from "./Button.tsx";
import css from "./modal.module.css";

export function Modal({
  title,
  text,
  locked = false,
  onClose,
  children,
}: {
  title: string;
  /** The purpose of the dialog, below the title. */
  text?: string;
  /** It holds something that is lost with it: only its own buttons close it. */
  locked?: boolean;
  onClose: () => void;
  children: ReactNode;
}) {
  const [back] = useState(opener);
  return (
    <Dialog.Root open onOpenChange={(open) => !open && onClose()}>
      <Dialog.Portal>
        <Dialog.Overlay className={dialog.overlay} />
        <Dialog.Content
          className={`${dialog.dialog} ${css.modal}`}
          {...(text === undefined && { "aria-describedby": undefined })}
          onEscapeKeyDown={(event) => locked && event.preventDefault()}
          onInteractOutside={(event) => locked && event.preventDefault()}
          onOpenAutoFocus={toFirstField}
          onCloseAutoFocus={back}
        >
          <div className={dialog.dialogHead}>
            <Dialog.Title className={dialog.dialogTitle}>{title}</Dialog.Title>
            {!locked && (
              <Dialog.Close asChild>
                <IconButton label="Close">
                  <X size={16} aria-hidden />
                </IconButton>
              </Dialog.Close>
            )}
          </div>
          {text !== undefined && <Dialog.Description className={css.text}>{text}</Dialog.Description>}
          {children}
        </Dialog.Content>
      </Dialog.Portal>
    </Dialog.Root>
  );
}

/** The first field of a form, or the dialog itself. A touch keyboard stays away until a field is touched. */
function toFirstField(event: Event): void {
  event.preventDefault();
  const dialog = event.target as HTMLElement;
  const field = coarse ? null : dialog.querySelector<HTMLElement>("form :is(input, select, textarea)");
  (field ?? dialog).focus();
}

/** Gives the focus back to what has it now. For `onCloseAutoFocus` of a dialog without a trigger. */
export function opener(): (event: Event) => void {
  const from = document.activeElement;
  return (event) => {
    event.preventDefault();
    const target = from instanceof HTMLElement && from.isConnected && from !== document.body ? from : undefined;
    (target ?? document.getElementById("content"))?.focus();
  };
}
