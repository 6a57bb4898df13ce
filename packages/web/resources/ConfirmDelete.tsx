/** Asks before what a page shows is deleted, and then goes back to the list that it was in. */
import { useLocation } from "wouter";
import type { Permission } from "../../../src/http/principal.ts";
import { Confirm } from "./Confirm.tsx";

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
