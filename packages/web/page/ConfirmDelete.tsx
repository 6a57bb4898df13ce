/** Asks before what a page shows is deleted, and then goes back to the list that it was in. */
import { useLocation } from "wouter";
import { Confirm } from "../ui/Confirm.tsx";

export function ConfirmDelete({
  title,
  text,
  what,
  list,
  onDelete,
  onClose,
}: {
  title: string;
  text: string;
  /** The kind of it: what the button names. */
  what: string;
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
      onAct={async () => {
        await onDelete();
        navigate(list);
      }}
      onClose={onClose}
    />
  );
}
