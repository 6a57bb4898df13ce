/** What the reader opened stays open: by id, for the life of the page, whatever the run does. */
import { useCallback, useState } from "react";

const open = new Set<string>();

export function useFold(id: string): [boolean, () => void] {
  const [, redraw] = useState(0);
  const toggle = useCallback(() => {
    if (!open.delete(id)) open.add(id);
    redraw((count) => count + 1);
  }, [id]);
  return [open.has(id), toggle];
}
