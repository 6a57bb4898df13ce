/** A secret that the server shows once. The dialog stays until the person says that it is stored. */
import { Button } from "../ui/Button.tsx";
import { Modal } from "../ui/Modal.tsx";
import css from "./parts.module.css";
import { Command } from "./states.tsx";

export function Secret({
  title,
  text,
  secret,
  onDone,
}: {
  title: string;
  text: string;
  secret: string;
  onDone: () => void;
}) {
  return (
    <Modal title={title} text={text} locked onClose={onDone}>
      <Command text={secret} label="Copy" />
      <div className={css.acts}>
        <Button look="filled" onClick={onDone}>
          I have stored it
        </Button>
      </div>
    </Modal>
  );
}

/** An address names one thing of a list, and the list does not have it. */
export function Missing({
  what,
  text = "It may have been deleted, or it belongs to another workspace.",
  onClose,
}: {
  what: string;
  text?: string;
  onClose: () => void;
}) {
  return (
    <Modal title={`No ${what} with this id`} text={text} onClose={onClose}>
      {null}
    </Modal>
  );
}
