/** Elements that the user opened stay open: by id, until the page is closed, also when the run changes. */
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
