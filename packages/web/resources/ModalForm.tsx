/** A dialog with a form. The server's refusal stands above its buttons. */
import type { ReactNode } from "react";
import type { Permission } from "../../../src/http/principal.ts";
import { useAction } from "../api/me.ts";
import { Button } from "../ui/Button.tsx";
import { Modal } from "../ui/Modal.tsx";
import css from "../ui/modal.module.css";

export function ModalForm({
  title,
  text,
  submit,
  needs,
  disabled = false,
  onSubmit,
  onClose,
  extra,
  children,
}: {
  title: string;
  text?: string;
  /** On the button: verb and object. */
  submit: string;
  /** The permission that the server requires for it. */
  needs: Permission;
  disabled?: boolean;
  /** The dialog closes after it, and stays when it throws. */
  onSubmit: () => Promise<void>;
  onClose: () => void;
  /** Other buttons, before those of the form. */
  extra?: ReactNode;
  children: ReactNode;
}) {
  const action = useAction(needs);
  return (
    <Modal title={title} {...(text !== undefined && { text })} onClose={onClose}>
      <form
        className={css.form}
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          // React sends the event on to the form of a page that the dialog was opened from.
          event.stopPropagation();
          void action.run(async () => {
            await onSubmit();
            onClose();
          });
        }}
      >
        {children}
        {action.trouble !== "" && (
          <p className={css.trouble} role="alert">
            {action.trouble}
          </p>
        )}
        <div className={css.choices}>
          {extra}
          <Button onClick={onClose}>Cancel</Button>
          <Button look="filled" type="submit" {...action.button} disabled={disabled || action.button.disabled}>
            {submit}
          </Button>
        </div>
      </form>
    </Modal>
  );
}
