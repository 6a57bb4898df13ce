/** The frame: threads on the left (a sheet on a phone), the page on the right. */
import { Dialog } from "radix-ui";
import { createContext, type ReactNode, useContext, useEffect, useMemo, useState } from "react";
import { useLocation } from "wouter";
import { Sidebar } from "../sidebar/Sidebar.tsx";
import { KeySheet } from "./KeySheet.tsx";
import { bindShortcuts } from "./keys.ts";
import css from "./Shell.module.css";

interface Frame {
  /** Shows or hides the threads. */
  toggle: () => void;
  /** The list stands beside the page. */
  beside: boolean;
}

const FrameContext = createContext<Frame>({ toggle: () => undefined, beside: true });

export const useFrame = () => useContext(FrameContext);

const NARROW = matchMedia("(width < 900px)");

export function Shell({ children }: { children: ReactNode }) {
  const [narrow, setNarrow] = useState(NARROW.matches);
  const [folded, setFolded] = useState(() => localStorage.getItem("weir.folded") === "1");
  const [sheet, setSheet] = useState(false);
  const [keys, setKeys] = useState(false);
  const [path, navigate] = useLocation();

  useEffect(() => {
    const listen = () => setNarrow(NARROW.matches);
    NARROW.addEventListener("change", listen);
    return () => NARROW.removeEventListener("change", listen);
  }, []);
  useEffect(() => setSheet(false), [path]);

  const frame = useMemo<Frame>(
    () => ({
      beside: !narrow && !folded,
      toggle: () => {
        if (narrow) setSheet((open) => !open);
        else
          setFolded((now) => {
            localStorage.setItem("weir.folded", now ? "0" : "1");
            return !now;
          });
      },
    }),
    [narrow, folded],
  );
  useEffect(() => {
    const typing = (event: KeyboardEvent) =>
      event.target instanceof HTMLElement && event.target.matches("input, textarea, select, [contenteditable]");
    return bindShortcuts({
      "$mod+Shift+O": (event) => {
        event.preventDefault();
        navigate("/");
      },
      "$mod+B": (event) => {
        event.preventDefault();
        frame.toggle();
      },
      "Shift+?": (event) => {
        if (!typing(event)) setKeys(true);
      },
    });
  }, [frame, navigate]);

  return (
    <FrameContext value={frame}>
      {path.startsWith("/traces") ? (
        <a className={css.skip} href="#traces">
          To the traces
        </a>
      ) : (
        <a className={css.skip} href="#composer">
          To the composer
        </a>
      )}
      <div className={css.shell} data-folded={!frame.beside || undefined}>
        {frame.beside && (
          <nav className={css.side} aria-label="Threads">
            <Sidebar onKeys={() => setKeys(true)} />
          </nav>
        )}
        <div className={css.page}>{children}</div>
      </div>
      <Dialog.Root open={narrow && sheet} onOpenChange={setSheet}>
        <Dialog.Portal>
          <Dialog.Overlay className={css.overlay} />
          <Dialog.Content className={css.sheet} aria-describedby={undefined}>
            <Dialog.Title className="visually-hidden">Threads</Dialog.Title>
            <Sidebar onKeys={() => setKeys(true)} onClose={() => setSheet(false)} />
          </Dialog.Content>
        </Dialog.Portal>
      </Dialog.Root>
      <KeySheet open={keys} onOpen={setKeys} />
    </FrameContext>
  );
}
