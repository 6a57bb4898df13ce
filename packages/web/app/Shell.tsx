/** The frame: the navigation, the threads beside the chat, and the page. On a narrow screen both columns are sheets. */
import { lazy, type ReactNode, Suspense, useCallback, useEffect, useMemo, useState, useSyncExternalStore } from "react";
import { useLocation, useSearch } from "wouter";
import { FrameContext } from "./view-props.ts";
import { bindShortcuts } from "../ui/keys.ts";
import { useLoaded } from "../ui/on-demand.ts";
import { Nav } from "./Nav.tsx";
import css from "./Shell.module.css";
import { keepRange } from "../resources/range.ts";
import { viewAt } from "./routes.ts";

const loadKeySheet = async () => (await import("./KeySheet.tsx")).KeySheet;
const loadPalette = async () => (await import("./Palette.tsx")).default;
const loadSheet = async () => (await import("./Sheet.tsx")).Sheet;
const Sidebar = lazy(async () => ({ default: (await import("./sidebar/Sidebar.tsx")).Sidebar }));

const NARROW = matchMedia("(width < 900px)");
/** Beside the threads there is no room for the names of the views. */
const TIGHT = matchMedia("(width < 1240px)");

export function Shell({ children }: { children: ReactNode }) {
  const [narrow, tight] = [useMatches(NARROW), useMatches(TIGHT)];
  const [path, navigate] = useLocation();
  const chat = path === "/chat" || path.startsWith("/chat/");
  const [noThreads, foldThreads] = useFolded("weir.folded");
  const [wideRail, foldWide] = useFolded("weir.rail");
  // Beside the threads the navigation is a rail, so that their titles have room, until it is expanded.
  const [chatRail, foldChat] = useFolded("weir.rail.chat", true);
  const [folded, foldNav] = chat ? [chatRail, foldChat] : [wideRail, foldWide];
  const isForced = tight && chat && !noThreads;
  const rail = isForced || folded;
  const [sheet, setSheet] = useState(false);
  const { Loaded: Sheet } = useLoaded(loadSheet, narrow && sheet, () => setSheet(false));
  const [keys, setKeys] = useState(false);
  const { Loaded: KeySheet } = useLoaded(loadKeySheet, keys, () => setKeys(false));
  const [palette, setPalette] = useState(false);
  const { Loaded: Palette } = useLoaded(loadPalette, palette, () => setPalette(false));

  useEffect(() => setSheet(false), [path]);

  const range = useKeptRange();
  const frame = useMemo(
    () => ({
      narrow,
      beside: !narrow && !(chat ? noThreads : rail),
      toggle: () => {
        if (narrow) setSheet((open) => !open);
        else if (chat) foldThreads();
        else foldNav();
      },
    }),
    [narrow, chat, noThreads, rail, foldThreads, foldNav],
  );
  useEffect(() => {
    const typing = (event: KeyboardEvent) =>
      event.target instanceof HTMLElement && event.target.matches("input, textarea, select, [contenteditable]");
    const prevented = (run: () => void) => (event: KeyboardEvent) => {
      event.preventDefault();
      run();
    };
    return bindShortcuts({
      "$mod+Shift+O": prevented(() => navigate("/chat")),
      "$mod+B": prevented(frame.toggle),
      "$mod+K": prevented(() => setPalette(true)),
      "Shift+?": (event) => {
        if (!typing(event)) setKeys(true);
      },
    });
  }, [frame, navigate]);

  const tools = { range, onKeys: () => setKeys(true), onPalette: () => setPalette(true) };
  return (
    <FrameContext value={frame}>
      <a className={css.skip} href={chat ? "#composer" : "#content"}>
        {chat ? "To the composer" : "To the content"}
      </a>
      <div className={css.shell} data-rail={(!narrow && rail) || undefined} data-chat={chat || undefined}>
        {!narrow && (
          <nav className={css.nav} aria-label="Pages">
            <Nav {...tools} rail={rail} onRail={isForced ? undefined : foldNav} />
          </nav>
        )}
        {chat && frame.beside && (
          <nav className={css.threads} aria-label="Threads">
            <Suspense>
              <Sidebar />
            </Suspense>
          </nav>
        )}
        <div className={css.page}>{children}</div>
      </div>
      {Sheet && (
        <Sheet
          open={narrow && sheet}
          onOpen={setSheet}
          threads={
            chat && (
              <Suspense>
                <Sidebar onClose={() => setSheet(false)} />
              </Suspense>
            )
          }
          pages={<Nav {...tools} onClose={() => setSheet(false)} />}
        />
      )}
      {KeySheet && <KeySheet open={keys} onOpen={setKeys} />}
      {palette && Palette && <Palette range={range} onClose={() => setPalette(false)} onKeys={() => setKeys(true)} />}
    </FrameContext>
  );
}

function useMatches(media: MediaQueryList): boolean {
  const listen = useCallback(
    (changed: () => void) => {
      media.addEventListener("change", changed);
      return () => media.removeEventListener("change", changed);
    },
    [media],
  );
  return useSyncExternalStore(listen, () => media.matches);
}

/** A column that stays folded over visits. */
function useFolded(key: string, first = false): [folded: boolean, toggle: () => void] {
  const [folded, setFolded] = useState(() => (localStorage.getItem(key) ?? (first ? "1" : "0")) === "1");
  const toggle = useMemo(
    () => () =>
      setFolded((now) => {
        localStorage.setItem(key, now ? "0" : "1");
        return !now;
      }),
    [key],
  );
  return [folded, toggle];
}

/** The range of the last view that has one. */
let last = "";

/** The part of an address that the next view with a time range takes along, over views without one. */
function useKeptRange(): string {
  const [path] = useLocation();
  const own = keepRange(useSearch());
  const view = viewAt(path);
  // An item of a list may be opened without the range of the list.
  const isShown = view?.ranged === true && (own !== "" || path === view.path);
  useEffect(() => {
    if (isShown) last = own;
  }, [isShown, own]);
  return isShown ? own : last;
}
