import { useEffect } from "react";

/** Sets the title of the tab while a view is open. */
export function useTitle(title: string): void {
  useEffect(() => {
    document.title = `${title} · Weir`;
    return () => {
      document.title = "Weir";
    };
  }, [title]);
}
