/** Tools of the tree: find, the next error, open and close all, zoom. */
import { ChevronDown, ChevronUp, ChevronsDownUp, ChevronsUpDown, Minus, Plus, Scan } from "lucide-react";
import { Button, IconButton } from "../../ui/Button.tsx";
import controls from "../../ui/controls.module.css";
import { countText, durationText } from "../../ui/format.ts";
import css from "./trace.module.css";
import type { Time } from "./tree.ts";

interface Zoom {
  whole: Time;
  time: Time;
  onZoom: (zoom: { from: number; to: number } | undefined) => void;
}

export function Toolbar({
  count,
  seconds,
  find,
  onFind,
  matches,
  place,
  onMatch,
  failures,
  onFailure,
  onOpen,
  zoom,
}: {
  /** Undefined while the runs load. */
  count: number | undefined;
  seconds: number;
  find: string;
  onFind: (text: string) => void;
  matches: number;
  /** The position of the chosen run among the matches; below 0 if it is not a match. */
  place: number;
  onMatch: (by: 1 | -1) => void;
  failures: number;
  onFailure: () => void;
  onOpen: (open: boolean) => void;
  zoom: Zoom | undefined;
}) {
  return (
    <div className={css.bar}>
      <span className={css.facts}>
        {count === 1 ? "1 run" : `${count === undefined ? "…" : countText(count)} runs`} · {durationText(seconds)}
      </span>
      <div className={css.find}>
        <input
          type="search"
          className={controls.field}
          placeholder="Find a run"
          aria-label="Find a run"
          value={find}
          onChange={(event) => onFind(event.target.value)}
          onKeyDown={(event) => {
            if (event.key === "Enter") onMatch(event.shiftKey ? -1 : 1);
            if (event.key === "Escape") onFind("");
          }}
        />
        {find.trim() !== "" && (
          <span className={css.matches} role="status">
            {matches === 0
              ? "none"
              : place < 0
                ? countText(matches)
                : `${countText(place + 1)} of ${countText(matches)}`}
          </span>
        )}
        <IconButton label="Previous match" disabled={matches === 0} onClick={() => onMatch(-1)}>
          <ChevronUp size={16} aria-hidden />
        </IconButton>
        <IconButton label="Next match" disabled={matches === 0} onClick={() => onMatch(1)}>
          <ChevronDown size={16} aria-hidden />
        </IconButton>
      </div>
      {failures > 0 && (
        <Button look="quiet" className={css.next ?? ""} title="Shift E" onClick={onFailure}>
          Next error ({countText(failures)})
        </Button>
      )}
      <span className={css.tools}>
        <IconButton label="Expand all" onClick={() => onOpen(true)}>
          <ChevronsUpDown size={16} aria-hidden />
        </IconButton>
        <IconButton label="Collapse all" onClick={() => onOpen(false)}>
          <ChevronsDownUp size={16} aria-hidden />
        </IconButton>
        {zoom && <ZoomTools {...zoom} />}
      </span>
    </div>
  );
}

function ZoomTools({ whole, time, onZoom }: Zoom) {
  const by = (factor: number) => {
    const half = ((time.to - time.from) * factor) / 2;
    const middle = (time.from + time.to) / 2;
    const from = Math.max(whole.from, middle - half);
    const to = Math.min(whole.to, middle + half);
    onZoom(from <= whole.from && to >= whole.to ? undefined : { from, to: Math.max(to, from + 1) });
  };
  return (
    <>
      <IconButton label="Zoom in" onClick={() => by(0.5)}>
        <Plus size={16} aria-hidden />
      </IconButton>
      <IconButton label="Zoom out" onClick={() => by(2)}>
        <Minus size={16} aria-hidden />
      </IconButton>
      <IconButton label="Show the whole time" onClick={() => onZoom(undefined)}>
        <Scan size={16} aria-hidden />
      </IconButton>
    </>
  );
}
