/** Keyboard shortcuts of the conversation. Single letters work on a focused turn only (WCAG 2.1.4). */
import { useEffect, useRef } from "react";
import { type KeybindingsMap, tinykeys } from "tinykeys";

interface Keys {
  stop: () => void;
  composer: () => void;
  decision: () => void;
  /** The turns on the page, in order. */
  turns: () => HTMLElement[];
}

export const KEY_LIST: [keys: string, what: string][] = [
  ["Ctrl K", "Go to a page, thread or id"],
  ["Ctrl Shift O", "New thread"],
  ["Ctrl B", "Show or hide threads or navigation"],
  ["Shift Esc", "Go to the message box"],
  ["Ctrl .", "Stop the run"],
  ["Ctrl Shift U", "Go to the next decision"],
  ["Alt ↑, Alt ↓", "Go to the previous or next turn"],
  ["[ and ]", "On a turn: previous or next branch"],
  ["e, c, r", "On a turn: edit, copy, regenerate"],
  ["Ctrl Enter", "Send a decision or an edit, run the playground"],
  ["j, k", "In the traces: show the next or previous one beside the list"],
  ["↑, ↓, ←, →", "In a trace: move, open, close"],
  ["Shift E", "In a trace: go to the next error"],
  ["1 to 9, Enter, s", "In a queue: score, go to the next run, skip"],
  ["?", "Show this list"],
];

/**
 * Binds shortcuts that work everywhere on the page, also while the focus is in a text field: by default `tinykeys` ignores
 * keys that are pressed there. Use it only for combinations that type nothing. Returns the function that removes them.
 */
export const bindShortcuts = (shortcuts: KeybindingsMap): (() => void) =>
  tinykeys(window, shortcuts, { ignore: () => false });

const TURN_KEYS: Record<string, string> = {
  e: '[aria-label="Edit message"]',
  c: '[aria-label="Copy answer"], [aria-label="Copy message"]',
  r: '[aria-label^="Regenerate"]',
  "[": '[aria-label^="Previous branch"]',
  "]": '[aria-label^="Next branch"]',
};

export function useKeys(keys: Keys): void {
  const now = useRef(keys);
  useEffect(() => {
    now.current = keys;
  });
  useEffect(() => {
    const step = (by: number) => (event: KeyboardEvent) => {
      event.preventDefault();
      const turns = now.current.turns();
      const at = turns.findIndex((turn) => turn.contains(document.activeElement));
      const next = at < 0 ? turns.at(-1) : turns[Math.min(turns.length - 1, Math.max(0, at + by))];
      // Chromium shows no focus ring after a key with Alt unless the page requests it.
      next?.focus({ focusVisible: true });
    };
    const prevented = (run: () => void) => (event: KeyboardEvent) => {
      event.preventDefault();
      run();
    };
    const onTurn = (event: KeyboardEvent) => {
      const turn = event.target;
      if (!(turn instanceof HTMLElement) || !turn.matches("[data-turn]")) return;
      const selector = TURN_KEYS[event.key];
      if (selector === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
      const found = [...turn.querySelectorAll<HTMLElement>(selector)].at(-1);
      if (!found) return;
      event.preventDefault();
      found.click();
    };
    const off = bindShortcuts({
      "$mod+Period": prevented(() => now.current.stop()),
      "Shift+Escape": prevented(() => now.current.composer()),
      "$mod+Shift+U": prevented(() => now.current.decision()),
      "Alt+ArrowUp": step(-1),
      "Alt+ArrowDown": step(1),
    });
    addEventListener("keydown", onTurn);
    return () => {
      off();
      removeEventListener("keydown", onTurn);
    };
  }, []);
}
