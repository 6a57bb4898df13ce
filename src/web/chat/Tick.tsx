/** A mark of the gauge rail: one checkpoint. A press shows when it was written and offers to continue from it. */
import { DropdownMenu } from "radix-ui";
import menu from "../ui/menu.module.css";
import { exactTime } from "../ui/time.ts";
import type { Checkpoint } from "../api/steps.ts";
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
  if (!checkpoint) return <span className={css.tick} data-kind={kind} data-parts={parts || undefined} aria-hidden />;
  const time = checkpoint.at ? exactTime(checkpoint.at) : "time unknown";
  return (
    <DropdownMenu.Root modal={false}>
      <DropdownMenu.Trigger
        className={css.tickButton}
        tabIndex={stop ? 0 : -1}
        aria-label={`Checkpoint, ${time}`}
        title={time}
      >
        <span className={css.tick} data-kind={kind} data-parts={parts || undefined} aria-hidden />
      </DropdownMenu.Trigger>
      <DropdownMenu.Portal>
        <DropdownMenu.Content className={menu.menu} align="start" sideOffset={4} collisionPadding={8}>
          <DropdownMenu.Label className={menu.label}>{time}</DropdownMenu.Label>
          {onRerun && (
            <DropdownMenu.Item className={menu.item} onSelect={() => onRerun(checkpoint.id)}>
              Run again from here
            </DropdownMenu.Item>
          )}
          <DropdownMenu.Item
            className={menu.item}
            onSelect={() => void navigator.clipboard.writeText(checkpoint.id).catch(() => undefined)}
          >
            Copy checkpoint id
          </DropdownMenu.Item>
        </DropdownMenu.Content>
      </DropdownMenu.Portal>
    </DropdownMenu.Root>
  );
}
