import { Modal } from "../ui/Modal.tsx";

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
