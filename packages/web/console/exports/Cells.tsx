/** The cells of one project, one for each day, by month. */
import type { KeyboardEvent } from "react";
import { monthText } from "../../ui/days.ts";
import { type Group, isEmpty, runText } from "./days.ts";
import own from "./exports.module.css";

export function Cells({
  group: { months },
  name,
  chosen,
  open,
  onChoose,
}: {
  group: Group;
  name: string | undefined;
  /** The cell that the tab key reaches. */
  chosen: string | undefined;
  open: string | undefined;
  onChoose: (id: string) => void;
}) {
  return (
    <div>
      {name !== undefined && <h3 className={own.project}>{name}</h3>}
      <div className={own.months}>
        {months.map(({ month, runs }) => (
          <div key={month} className={own.month}>
            <span>{monthText(month)}</span>
            <div>
              {runs.map((run) => (
                <button
                  key={run.id}
                  type="button"
                  className={own.cell}
                  data-cell
                  data-status={run.status}
                  data-retried={run.retry_number > 0 || undefined}
                  data-empty={isEmpty(run) || undefined}
                  aria-label={runText(run)}
                  aria-pressed={run.id === open}
                  title={runText(run)}
                  tabIndex={run.id === chosen ? 0 : -1}
                  onClick={() => onChoose(run.id)}
                >
                  {Number(run.start_time.slice(8, 10))}
                </button>
              ))}
            </div>
          </div>
        ))}
      </div>
    </div>
  );
}

/** Moves the focus between the cells: left and right in their order, up and down to the nearest of the next line. */
export function move(event: KeyboardEvent<HTMLElement>): void {
  const cells = [...event.currentTarget.querySelectorAll<HTMLElement>("[data-cell]")];
  const at = cells.findIndex((cell) => cell === document.activeElement);
  const from = cells[at];
  if (!from) return;
  const vertical = (ahead: HTMLElement[]) => {
    const { left, top } = from.getBoundingClientRect();
    const places = ahead.map((cell) => ({ cell, rect: cell.getBoundingClientRect() }));
    const line = places.find(({ rect }) => rect.top !== top)?.rect.top;
    const distance = (rect: DOMRect) => Math.abs(rect.left - left);
    const nearest = places.filter(({ rect }) => rect.top === line);
    return nearest.sort((a, b) => distance(a.rect) - distance(b.rect))[0]?.cell;
  };
  const targets: Record<string, () => HTMLElement | undefined> = {
    ArrowRight: () => cells[at + 1],
    ArrowLeft: () => cells[at - 1],
    ArrowDown: () => vertical(cells.slice(at + 1)),
    ArrowUp: () => vertical(cells.slice(0, at).toReversed()),
    Home: () => cells[0],
    End: () => cells.at(-1),
  };
  const target = targets[event.key]?.();
  if (!target) return;
  event.preventDefault();
  target.focus();
}
