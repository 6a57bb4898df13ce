import { useEffect } from "react";

/** The tab's title while a trace view is open. */
export function useTitle(title: string): void {
  useEffect(() => {
    document.title = `${title} · Weir`;
    return () => {
      document.title = "Weir";
    };
  }, [title]);
}
