/** The buttons of a cron, a rule or an alert: pause or resume, edit, delete. */
import { Button } from "../ui/Button.tsx";
import work from "./work.module.css";

interface Props {
  enabled: boolean;
  /** A change of `enabled` is on its way. */
  busy?: boolean;
  editing: boolean;
  onToggle: () => void;
  onEdit: () => void;
  onDelete: () => void;
}

export function ItemActions({ enabled, busy = false, editing, onToggle, onEdit, onDelete }: Props) {
  return (
    <div className={work.acts}>
      <Button disabled={busy} onClick={onToggle}>
        {enabled ? "Pause" : "Resume"}
      </Button>
      <Button aria-pressed={editing} onClick={onEdit}>
        Edit
      </Button>
      <Button look="danger" onClick={onDelete}>
        Delete
      </Button>
    </div>
  );
}
