/** The frame around a page, as the page sees it. */
import { createContext, useContext, useEffect } from "react";

interface Frame {
  /** Shows or hides the threads in the chat, and the navigation elsewhere. */
  toggle: () => void;
  /** The column that `toggle` controls is beside the page. */
  beside: boolean;
  /** The screen has no room for columns: the navigation is a sheet. */
  narrow: boolean;
}

export const FrameContext = createContext<Frame>({ toggle: () => undefined, beside: true, narrow: false });

export const useFrame = () => useContext(FrameContext);

/** The part of the address after the path of the view, if there is one. */
export interface ViewProps {
  id: string | undefined;
}

/** Sets the title of the tab while a view is open. */
export function useTitle(title: string): void {
  useEffect(() => {
    document.title = `${title} · Weir`;
    return () => {
      document.title = "Weir";
    };
  }, [title]);
}
