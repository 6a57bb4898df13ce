import css from "./control.module.css";
import { Pencil, Trash2 } from "lucide-react";
import { IconButton } from "../../ui/Button.tsx";

/** Where a budget warns. */
const WARNS = 0.8;

/** How much of a limit is in use, with a mark at 80 %. */
export function Bar({ label, value, limit, text }: { label: string; value: number; limit: number; text: string }) {
  const share = limit > 0 ? Math.min(1, value / limit) : 1;
  return (
    <span className={css.use}>
      <span
        className={css.bar}
        role="meter"
        aria-label={label}
        aria-valuemin={0}
        aria-valuemax={limit}
        aria-valuenow={Math.min(value, limit)}
        aria-valuetext={text}
        data-look={share >= 1 ? "full" : share >= WARNS ? "near" : undefined}
      >
        <i style={{ width: `${share * 100}%` }} />
      </span>
      <span>{text}</span>
    </span>
  );
}

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
