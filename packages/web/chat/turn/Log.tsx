/** The conversation: turns beside the gauge rail. Nothing in it moves unless the reader is at its end. */
import { ArrowDown } from "lucide-react";
import { type MouseEvent, type ReactNode, startTransition, useEffect, useLayoutEffect, useRef, useState } from "react";
import { countText } from "../../ui/format.ts";
import type { Connected } from "../session/stream.ts";
import type { Follow } from "./follow.ts";
import css from "./Log.module.css";
import type { Checkpoint, Fork } from "../../api/checkpoints.ts";
import type { Subagent } from "./Subagents.tsx";
import { Turn, type TurnActions } from "./Turn.tsx";
import type { Turn as TurnShape } from "./turns.ts";

/** Turns that are mounted at first: a screen of them. */
const FIRST = 8;
/** Turns that follow once these are on the screen, and more at each press. */
const WINDOW = 60;

export function Log({
  follow,
  turns,
  connected,
  running,
  busy,
  editing,
  forks,
  checkpoints,
  subagents,
  opened,
  actions,
  failed,
  children,
}: {
  follow: Follow;
  turns: TurnShape[];
  connected: Connected | undefined;
  running: boolean;
  busy: boolean;
  editing: string | undefined;
  forks: ReadonlyMap<string, Fork>;
  checkpoints: ReadonlyMap<string, Checkpoint>;
  subagents: ReadonlyMap<string, Subagent>;
  opened: string | undefined;
  actions: TurnActions;
  /** Why the last run failed. */
  failed: string | undefined;
  /** The content at the end: decisions. */
  children?: ReactNode;
}) {
  const [most, setMost] = useState(FIRST);
  useEffect(() => {
    const timer = setTimeout(() => startTransition(() => setMost((now) => Math.max(now, WINDOW))), 100);
    return () => clearTimeout(timer);
  }, []);
  // A turn that is added above pushes nothing out of the reader's sight.
  const held = useRef<{ turn: HTMLElement; top: number }>(undefined);
  const showEarlier = ({ currentTarget }: MouseEvent<HTMLButtonElement>) => {
    const turn = currentTarget.nextElementSibling;
    if (turn instanceof HTMLElement) held.current = { turn, top: turn.getBoundingClientRect().top };
    setMost(most + WINDOW);
  };
  useLayoutEffect(() => {
    if (!held.current) return;
    const { turn, top } = held.current;
    held.current = undefined;
    const scroller = turn.closest('[role="log"]');
    if (scroller) scroller.scrollTop += turn.getBoundingClientRect().top - top;
    // The button is gone with the last of the earlier turns.
    if (document.activeElement === document.body) turn.focus({ preventScroll: true });
  }, [most]);
  const parts = turns.reduce((sum, turn) => sum + 1 + turn.parts.length, 0);
  const seen = useRef(parts);
  if (follow.following) seen.current = parts;
  const fresh = parts - seen.current;
  const first = Math.max(0, turns.length - most);
  return (
    <div className={css.frame}>
      <div
        ref={follow.scroller}
        className={css.scroller}
        role="log"
        aria-live="off"
        aria-busy={running}
        aria-label="Conversation"
        // A box that scrolls must be reachable by keyboard.
        // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex
        tabIndex={0}
      >
        <div ref={follow.content} className={css.content} data-running={running || undefined}>
          {first > 0 && most >= WINDOW && (
            <button type="button" className={css.earlier} onClick={showEarlier}>
              Show earlier messages ({countText(first)} turns)
            </button>
          )}
          {turns.slice(first).map((turn, i) => {
            const index = first + i;
            const last = index === turns.length - 1;
            return (
              <Turn
                key={turn.id}
                turn={turn}
                connected={connected}
                last={last}
                growing={last && running}
                editing={editing === turn.asked?.id && editing !== undefined}
                busy={busy}
                position={{ index: index + 1, of: turns.length }}
                forks={forks}
                checkpoints={checkpoints}
                subagents={subagents}
                opened={opened}
                actions={actions}
                failed={last ? failed : undefined}
              />
            );
          })}
          {children}
        </div>
      </div>
      {!follow.following && (
        <button type="button" className={css.down} onClick={follow.toEnd}>
          {fresh > 0 ? `${fresh} new` : "Jump to latest"} <ArrowDown size={14} aria-hidden />
        </button>
      )}
    </div>
  );
}
