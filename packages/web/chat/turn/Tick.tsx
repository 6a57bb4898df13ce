/** A mark of the gauge rail: one checkpoint. A press shows when it was written and offers to continue from it. */
import type { ReactNode } from "react";
import { usePressed } from "../../ui/on-demand.ts";
import { exactTime } from "../../ui/time.ts";
import type { Checkpoint } from "../../api/checkpoints.ts";
import css from "./Log.module.css";

export type TickKind = "step" | "asked" | "decision" | "failed" | "now";

export function Tick({
  kind,
  checkpoint,
  parts,
  stop,
  onRerun,
}: {
  kind: TickKind;
  checkpoint?: Checkpoint | undefined;
  /** Other branches begin here. */
  parts?: boolean;
  /** A stop for the tab key: the ticks of the current turn only. */
  stop?: boolean;
  onRerun?: ((checkpoint: string) => void) | undefined;
}) {
  const tick = <span className={css.tick} data-kind={kind} data-parts={parts || undefined} aria-hidden />;
  return checkpoint ? (
    <Button checkpoint={checkpoint} stop={stop} onRerun={onRerun}>
      {tick}
    </Button>
  ) : (
    tick
  );
}

const loadMenu = async () => (await import("./TickMenu.tsx")).default;

function Button({
  checkpoint: { id, at },
  stop,
  onRerun,
  children,
}: {
  checkpoint: Checkpoint;
  stop: boolean | undefined;
  onRerun: ((checkpoint: string) => void) | undefined;
  children: ReactNode;
}) {
  const { Opened, button } = usePressed(loadMenu);
  const time = at ? exactTime(at) : "time unknown";
  const trigger = (
    <button
      {...button}
      className={css.tickButton}
      tabIndex={stop ? 0 : -1}
      aria-label={`Checkpoint, ${time}`}
      title={time}
    >
      {children}
    </button>
  );
  return Opened ? <Opened trigger={trigger} time={time} checkpoint={id} onRerun={onRerun} /> : trigger;
}
