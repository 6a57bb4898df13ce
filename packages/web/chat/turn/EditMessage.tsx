import { useEffect, useRef, useState } from "react";
import { Button } from "../../ui/Button.tsx";
import css from "./Log.module.css";

/** A message being changed in its place. What it was stays, on a branch of its own. */
export function EditMessage({
  text,
  onSend,
  onLeave,
}: {
  text: string;
  onSend: (text: string) => void;
  onLeave: () => void;
}) {
  const [changed, setChanged] = useState(text);
  const box = useRef<HTMLTextAreaElement>(null);
  useEffect(() => {
    box.current?.focus();
    box.current?.setSelectionRange(box.current.value.length, box.current.value.length);
  }, []);
  return (
    <form
      className={css.edit}
      onSubmit={(event) => {
        event.preventDefault();
        if (changed.trim() !== "") onSend(changed.trim());
      }}
      onKeyDown={(event) => {
        if (event.key === "Escape") onLeave();
        if (event.key === "Enter" && (event.metaKey || event.ctrlKey) && changed.trim() !== "") onSend(changed.trim());
      }}
    >
      <textarea
        ref={box}
        aria-label="Edit message"
        value={changed}
        onChange={(event) => setChanged(event.target.value)}
      />
      <div>
        <Button look="filled" type="submit" disabled={changed.trim() === ""}>
          Send as new branch
        </Button>
        <Button look="quiet" onClick={onLeave}>
          Cancel
        </Button>
      </div>
    </form>
  );
}
