/**
 * A table of rows that open. Columns that do not fit its box are left out, the last of them first. On a phone the columns that are
 * facts are a second line of the row.
 */
import { useVirtualizer } from "@tanstack/react-virtual";
import { coarse } from "./device.ts";
import { type ReactNode, useLayoutEffect, useRef, useState } from "react";
import { fitting } from "./fitting.ts";
import css from "./table.module.css";

export interface Column<T> {
  id: string;
  name: string;
  /** `isPhone`: only the columns that are kept have their place, and facts a second line. */
  cell: (row: T, isPhone: boolean) => ReactNode;
  /** The narrowest that the column may be, in pixels. */
  width: number;
  /** Takes the room that is left. */
  grows?: boolean;
  /** Numbers and times: at the right, in figures of one width. */
  end?: boolean;
  /** Never left out. */
  kept?: boolean;
  /** On a phone it is in the second line of the row. */
  detail?: boolean;
  /** The head of the column sorts. */
  sort?: boolean;
}

/** The column that rows are sorted by. */
export interface Sort {
  id: string;
  order: "asc" | "desc";
}

/** Above this many rows only those in view are in the document. */
const VIRTUAL = 100;
const ORDER = { asc: "ascending", desc: "descending" } as const;
const ROW = 32;
const ROW_COARSE = 44;
const ROW_DETAILS = 56;
/** Boxes narrower than this, in pixels, are those of phones. */
const PHONE = 480;

export function Table<T>({
  label,
  columns,
  rows,
  rowKey,
  onOpen,
  openKey,
  sort,
  onSort,
}: {
  label: string;
  columns: Column<T>[];
  rows: T[];
  rowKey: (row: T) => string;
  /** A press on a row, or Enter. The first column should hold a link or a button for it as well. */
  onOpen?: (row: T) => void;
  /** The row that is open. */
  openKey?: string | undefined;
  /** How the rows given are sorted. */
  sort?: Sort;
  /** A press on the head of a column that sorts. */
  onSort?: (sort: Sort) => void;
}) {
  const box = useRef<HTMLDivElement>(null);
  const width = useWidth(box);
  const isPhone = width < PHONE && columns.some(({ detail }) => detail);
  const details = isPhone ? columns.filter(({ detail, kept }) => detail && !kept) : [];
  const shown = isPhone ? columns.filter(({ kept }) => kept) : fitting(columns, width);
  // Without a column that takes the room that is left, the last that is kept does.
  const grower = shown.find(({ grows }) => grows) ?? shown.findLast(({ kept }) => kept);
  const virtual = rows.length > VIRTUAL;
  const height = details.length > 0 ? ROW_DETAILS : coarse ? ROW_COARSE : ROW;
  const virtualizer = useVirtualizer({
    count: rows.length,
    enabled: virtual,
    getScrollElement: () => box.current?.closest<HTMLElement>("#content, [data-scroller]") ?? null,
    estimateSize: () => height,
    overscan: 20,
    scrollMargin: box.current?.offsetTop ?? 0,
  });
  useLayoutEffect(() => {
    if (virtual) virtualizer.measure();
  }, [virtual, virtualizer, height]);
  const items = virtual ? virtualizer.getVirtualItems() : undefined;
  const margin = box.current?.offsetTop ?? 0;
  const before = items?.[0] ? items[0].start - margin : 0;
  const after = items?.length ? virtualizer.getTotalSize() + margin - (items.at(-1)?.end ?? 0) : 0;
  const drawn = items ? items.map(({ index }) => index) : rows.map((_, i) => i);
  return (
    <div ref={box} className={css.box}>
      <table className={css.table} aria-label={label} aria-rowcount={virtual ? rows.length + 1 : undefined}>
        <colgroup>
          {shown.map((column) => (
            <col key={column.id} style={column === grower ? undefined : { width: column.width }} />
          ))}
        </colgroup>
        <thead>
          <tr>
            {shown.map(({ id, name, end, sort: sorts }) => {
              const order = sort?.id === id ? sort.order : undefined;
              return (
                <th key={id} scope="col" data-end={end} aria-sort={order && ORDER[order]}>
                  {sorts && onSort ? (
                    <button type="button" onClick={() => onSort({ id, order: order === "desc" ? "asc" : "desc" })}>
                      {name}
                      <span aria-hidden>{order === undefined ? "" : order === "desc" ? " ↓" : " ↑"}</span>
                    </button>
                  ) : (
                    name
                  )}
                </th>
              );
            })}
          </tr>
        </thead>
        <tbody>
          {before > 0 && (
            <tr aria-hidden style={{ height: before }}>
              <td colSpan={shown.length} />
            </tr>
          )}
          {drawn.map((index) => {
            const row = rows[index] as T;
            const key = rowKey(row);
            return (
              <tr
                key={key}
                data-key={key}
                data-open={key === openKey || undefined}
                data-opens={onOpen ? true : undefined}
                aria-rowindex={virtual ? index + 2 : undefined}
                onClick={(event) => {
                  // A link or a button in the row does its own work.
                  if (event.target instanceof Element && event.target.closest("a, button, input")) return;
                  onOpen?.(row);
                }}
              >
                {shown.map((column) => (
                  <td key={column.id} data-end={column.end}>
                    {column.cell(row, isPhone)}
                    {column === grower && details.length > 0 && <Details row={row} details={details} />}
                  </td>
                ))}
              </tr>
            );
          })}
          {after > 0 && (
            <tr aria-hidden style={{ height: after }}>
              <td colSpan={shown.length} />
            </tr>
          )}
        </tbody>
      </table>
    </div>
  );
}

function Details<T>({ row, details }: { row: T; details: Column<T>[] }) {
  const known = details.map(({ id, name, cell }) => ({ id, name, said: cell(row, true) }));
  return (
    <div className={css.facts}>
      {known.map(
        ({ id, name, said: content }) =>
          (content || content === 0) && (
            <span key={id}>
              <span className="visually-hidden">{name}: </span>
              {content}
            </span>
          ),
      )}
    </div>
  );
}

function useWidth(box: React.RefObject<HTMLElement | null>): number {
  const [width, setWidth] = useState(1_000);
  // Before the first frame: the columns that fit are known in it.
  useLayoutEffect(() => {
    const element = box.current;
    if (!element) return;
    setWidth(element.clientWidth);
    const observer = new ResizeObserver(([entry]) => entry && setWidth(entry.contentRect.width));
    observer.observe(element);
    return () => observer.disconnect();
  }, [box]);
  return width;
}
