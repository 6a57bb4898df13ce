import { Pencil, Trash2 } from "lucide-react";
import { IconButton } from "../../ui/IconButton.tsx";
import css from "./control.module.css";

/** The buttons of a row of a list that a workspace changes. */
export function EditActs({ id, onEdit, onDelete }: { id: string; onEdit: () => void; onDelete: () => void }) {
  return (
    <span className={css.acts}>
      <IconButton label={`Edit ${id}`} onClick={onEdit}>
        <Pencil size={16} aria-hidden />
      </IconButton>
      <IconButton label={`Delete ${id}`} onClick={onDelete}>
        <Trash2 size={16} aria-hidden />
      </IconButton>
    </span>
  );
}
